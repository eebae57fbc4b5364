"""Assessments that an older proctor judged are judged again, and get the same verdicts: each by its frozen code.

``judged_before.tar.xz`` has ten plays of ten families, made and judged by commit b0600615, when rules read values in
another way: they took "3:20pm" for 20:00. For each there are the frozen scenario, the evidence, the admitted document,
and the verdicts. All players write times so; six of them forget or confuse something, too. They are archived here as
that proctor would have done it, as days whose truth isn't public, and judged by ``proctor judge again``.
"""

import json
import tarfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from proctor.activities.archive.assessments import _archived_scenario
from proctor.activities.scenario_code.evidence import JudgeRecord
from proctor.common.errors import ExitCode
from proctor.protocol.archive import (
    RESULT,
    STATES,
    TURNS,
    ArchiveEntry,
    StateRecord,
    TurnRecord,
    flatten_states,
    merge_patch,
)
from proctor.protocol.judgements import Judgement
from proctor.storage.archive import Archive
from proctor.storage.blobs import BlobStore
from purple_sdk.protocol.instances import Instance
from purple_sdk.protocol.results import CriterionResult, assessment_results
from tests.cli.commands import run_proctor
from tests.sentences import says

pytestmark = pytest.mark.usefixtures("quick_fork_servers")

_MORNING = "2026-03-02T09:00:00Z"
_HIDDEN = 4_711
_OF_THE_ATTEMPT = {"evaluator_hash", "usage", "description"}


@cache
def plays() -> dict[str, dict[str, bytes]]:
    """The files of each play, by its family and their names."""
    found: dict[str, dict[str, bytes]] = {}
    with tarfile.open(Path(__file__).with_name("judged_before.tar.xz")) as archive:
        for member in archive:
            family, _, name = member.name.partition("/")
            content = archive.extractfile(member)
            assert content is not None
            found.setdefault(family, {})[name] = content.read()
    return found


def write_entry(family: str, archive: Archive, store: BlobStore) -> ArchiveEntry:
    """Archive a play; its scenario without the answers, as archives have it."""
    play, day = plays()[family], Instance(family=family, difficulty=1, seed=_HIDDEN)
    record = JudgeRecord.model_validate_json(play["evidence.json"])
    before, after = flatten_states(record.initial_state), flatten_states(record.final_state)
    states = [StateRecord(turn=0), StateRecord(turn=1, patch=merge_patch(before, after))]
    turns = [TurnRecord(turn=turn, notes=notes) for turn, notes in record.turn_notes.items()]
    results = assessment_results(
        assessment_id=f"before-{family}",
        scenario_id=family,
        participant="p",
        status="completed",
        duration_seconds=1,
        turns_taken=1,
        offline=True,
        criteria_results=[CriterionResult.model_validate(verdict) for verdict in json.loads(play["verdicts.json"])],
        action_log=record.action_log,
    )
    entry = ArchiveEntry(
        id=results.assessment_id,
        status="completed",
        scenario_id=family,
        family=family,
        difficulty=1,
        instance_seed=_HIDDEN,
        seed=7,
        offline=True,
        participant="p",
        score=results.scores.overall.score,
        max_score=results.scores.overall.max_score,
        package=store.put_blocking(play["frozen.tar"]),
        started_at=_MORNING,
        ended_at=_MORNING,
    )
    files = {
        RESULT: results.model_dump_json().encode(),
        STATES: b"\n".join(state.model_dump_json().encode() for state in states),
        TURNS: b"\n".join(turn.model_dump_json().encode() for turn in turns),
    }
    scenario = _archived_scenario(play["scenario.json"], day)
    assert b'"params":{' not in scenario.replace(b" ", b""), "the answers stay with the evaluator"
    return archive.write(entry, files, {"scenario": scenario, "initial_state": json.dumps(before).encode()})


def again(folder: Path, *families: str, flags: Sequence[str] = ()) -> dict[str, Judgement]:
    """The judgements of plays by ``proctor judge again``, by family."""
    archive, store = Archive(str(folder / "archive")), BlobStore(str(folder / "store"))
    entries = {family: write_entry(family, archive, store) for family in families}
    places = ("--archive", archive.folder.root, "--storage", str(folder / "store"), "--state", str(folder))
    asked = [*(entry.id for entry in entries.values()), *places, *flags]
    assert run_proctor("judge", "again", *asked) is ExitCode.DONE
    found = {}
    for family, entry in entries.items():
        (found[family],) = archive.judgements(entry, Judgement)
    return found


def judged_then(family: str) -> list[dict[str, Any]]:
    verdicts: list[dict[str, Any]] = json.loads(plays()[family]["verdicts.json"])
    return [{name: value for name, value in verdict.items() if name not in _OF_THE_ATTEMPT} for verdict in verdicts]


def test_what_was_judged_before_is_judged_the_same(tmp_path: Path) -> None:
    judgements = again(tmp_path, *plays())
    assert len(judgements) == 10
    for family, judgement in judgements.items():
        now = [result.model_dump(mode="json", exclude=_OF_THE_ATTEMPT) for result in judgement.criteria_results]
        assert now == judged_then(family), family
        assert judgement.by.evaluators == "frozen"
        assert {result.evaluator_hash for result in judgement.criteria_results} == {judgement.by.code}


def test_the_code_of_today_judges_it_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So the test above fails where the frozen code is not what judges."""
    judgement = again(tmp_path, "broken_tools", flags=["--current"])["broken_tools"]
    assert judgement.scores.overall.score > sum(verdict["score"] for verdict in judged_then("broken_tools"))
    assert judgement.by.evaluators == "current kit"
    assert says().within(capsys.readouterr().out)
