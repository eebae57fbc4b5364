"""From entries to runs: what is the same scenario and the same agent, and which repeat a run is."""

from datetime import UTC, datetime, timedelta

from proctor.protocol.archive import ArchiveEntry, Content
from proctor.protocol.archived_runs import runs_of_entries
from purple_sdk.protocol.forks import ForkedFrom
from purple_sdk.protocol.statistics import Points

BEGAN = datetime(2026, 3, 10, 7, tzinfo=UTC)


def entry(number: int, **more: object) -> ArchiveEntry:
    about = {"id": str(number), "status": "completed", "scenario_id": "s", "seed": 1, "score": 1, "max_score": 2}
    about |= {"role": "mine", "participant": "card", "campaign": "c"}
    began = BEGAN + timedelta(minutes=number)
    return ArchiveEntry.model_validate({**about, "started_at": began, "ended_at": began, **more})


def test_repeats_are_counted_by_agent_and_by_what_was_played() -> None:
    changed = {"scenario": Content(sha256="0" * 64, size=1)}
    entries = [
        entry(1),
        entry(0, kind="campaign"),
        entry(3, contents=changed),
        entry(2),
        entry(4, noise=2),
        entry(5, forked_from=ForkedFrom(task_id="1", turn=3)),
        entry(6, campaign=None),
        entry(7, kind="trial", earned=None),
        entry(8, status="failed", max_score=0),
    ]
    runs = runs_of_entries(entries)
    assert [(run.run_id, run.agent, run.scenario, run.repeat) for run in runs] == [
        ("1", "mine", "s", 0),
        ("2", "mine", "s", 1),
        ("3", "mine", "s (version 2)", 0),
        ("4", "mine", "s · noise 2", 0),
        ("5", "mine", "s from turn 3", 0),
        ("6", "card", "s", 0),
        ("7", "mine", "s (version 3)", 0),
        ("8", "mine", "s", 2),
    ]
    assert [run.overall for run in runs[:1] + runs[-2:]] == [Points(score=1, max_score=2), None, None]
    known = {"2": runs[1].model_copy(update={"group_size": 3, "criteria": {"c": Points(score=1, max_score=1)}})}
    again = runs_of_entries(entries, known, {"2": "theirs"})[1]
    assert (again.agent, again.repeat, again.group_size, list(again.criteria)) == ("theirs", 0, 3, ["c"])
