"""``proctor judge again`` on archives that real assessments have left; ``tests/activities/test_judged_before.py`` has
those of an older proctor.
"""

import asyncio
import json
import os
import re
import shutil
import signal
import time
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from proctor.cli.main import app
from proctor.common.errors import CancelledError, CommandError, ExitCode, UsageError
from proctor.local.court import Court
from proctor.local.rehearsal import Rehearsal
from proctor.protocol.archive import RESULT, STATES, ArchiveEntry, Content, schemas
from proctor.protocol.judgements import Judgement, Shift
from proctor.storage.archive import Archive
from proctor.storage.blobs import get_blob_path
from proctor.viewer.pages import Pages
from purple_sdk.protocol.results import AssessmentResults, Scores
from tests.archived import Archived, archive_campaign, entries_in
from tests.assessments.packages import write_package
from tests.assessments.scripts import diligent, idle
from tests.cli.commands import run_proctor
from tests.openai_endpoint import OpenAIEndpoint
from tests.sentences import says
from tests.viewer.campaign_entries import write_trial

pytestmark = pytest.mark.usefixtures("quick_fork_servers")

CAMPAIGN = "campaign-9"
GENEROUS = """
from proctor.protocol.evaluation import EvalResult

async def asked(ctx, params): return EvalResult(1, 1, "well")
async def told(ctx, params): return EvalResult(min(1, len(await ctx.get_state("email"))), 1, "well")
"""

DIFFERING: dict[str, object] = {
    "seconds": re.compile(r"(?<=in )[\d.]+(?= s\b)"),
    "day": re.compile(r"20\d\d-\d\d-\d\d"),
    "version": version("proctor"),
}
"""What is said of a run that is other in the next one."""


@pytest.fixture(scope="module")
def played(quick_fork_servers: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state folder of an evaluator that has played a campaign of four: two agents, two scenarios."""
    folder = tmp_path_factory.mktemp("played")
    write_package(folder / "scenarios", "tiny")
    write_package(folder / "scenarios", "other")
    settings = {"state": str(folder), "archive_url": str(folder / "archive")}
    with closing(Rehearsal(folder / "storage", folder / "scenarios", **settings)) as rehearsal:

        async def play_all() -> list[AssessmentResults]:
            return [
                await Archived(rehearsal).play_and_archive(scenario, script, 7, campaign=CAMPAIGN, agent="clerk")
                for scenario in ("tiny", "other")
                for script in (diligent, idle)
            ]

        archive_campaign(rehearsal.config, CAMPAIGN, rehearsal.run(play_all()).result(), "clerk", failed=1)
    return folder


@pytest.fixture
def state(played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, and settings that lead there."""
    folder = tmp_path / "state"
    shutil.copytree(played, folder)
    monkeypatch.setenv("AGENTBEATS_GREEN_STATE", str(folder))
    monkeypatch.setenv("AGENTBEATS_GREEN_SCENARIOS_DIR", str(folder / "scenarios"))
    return folder


def again(*arguments: str) -> object:
    return run_proctor("judge", "again", *arguments)


def archive_in(state: Path) -> Archive:
    return Archive(str(state / "archive"))


def runs_in(state: Path) -> list[ArchiveEntry]:
    return [entry for entry in archive_in(state).entries() if entry.kind == "assessment"]


def shift_in(state: Path) -> Shift:
    archive = archive_in(state)
    return archive.judgements(archive.find(CAMPAIGN), Shift)[-1]


def test_frozen_evaluators_give_the_same_verdicts_and_a_second_run_has_nothing_to_do(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = entries_in(archive_in(state))
    assert again(CAMPAIGN) is ExitCode.DONE
    said = capsys.readouterr().out
    assert says(**DIFFERING).within(said)
    assert says().within(said)
    assert "none" in said
    assert entries_in(archive_in(state)) == before
    first, second = shift_in(state), CliRunner().invoke(app, ["judge", "again", CAMPAIGN, "--json"])
    assert (first.judged_now, first.equal, first.changed) == (4, 4, 0)
    assert second.exit_code == ExitCode.DONE
    assert (shift := json.loads(second.stdout))["judged_now"] == 0
    assert (shift["runs"], shift["equal"]) == (4, 4)
    next(path for path in (state / "archive").glob("*/*/judgements/*.json") if CAMPAIGN not in str(path)).write_text(
        "{"
    )
    assert again(CAMPAIGN) is ExitCode.DONE
    assert shift_in(state).judged_now == 1, "one that can't be read is made once more"
    for path in (state / "archive").glob("*/*/judgements/*.json"):
        kind = json.loads(path.read_text())
        jsonschema.validate(kind, schemas()["judgements/KEY.json"])


@pytest.mark.parametrize("update", [{"assessment_id": "another"}, {"first": None}])
def test_a_judgement_of_another_run_or_of_other_verdicts_is_made_anew(state: Path, update: dict[str, Any]) -> None:
    entry, archive = runs_in(state)[0], archive_in(state)
    assert again(entry.id) is ExitCode.DONE
    (own,) = archive.judgements(entry, Judgement)
    archive.keep_judgement(entry, own.model_copy(update=update | {"criteria_results": []}))
    assert archive.judgements(entry, Judgement) == []
    assert again(entry.id) is ExitCode.DONE
    (anew,) = archive.judgements(entry, Judgement)
    assert anew.model_copy(update={"judged_at": own.judged_at}) == own


def test_todays_evaluators_are_told_by_their_shift_and_the_first_verdicts_stay(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (state / "scenarios" / "tiny" / "evaluators.py").write_text(GENEROUS)
    results = [archive_in(state).results(entry) for entry in runs_in(state)]
    assert again(CAMPAIGN, "--current") is ExitCode.DONE
    said = capsys.readouterr().out
    assert says().within(said)
    shift = shift_in(state)
    (mean,) = shift.means
    moved = {
        criterion.criterion_id: (criterion.more, criterion.less)
        for criterion in shift.criteria
        if criterion.more or criterion.less
    }
    assert moved == {"asked": (1, 0), "told": (1, 0)}
    (run,) = shift.changed_runs
    assert (run.before, run.now) == (0, 88.89)
    assert mean.now is not None
    assert mean.before is not None
    assert mean.now - mean.before == pytest.approx(run.size / 4, abs=0.01), (
        "it is one of two runs of one of two scenarios"
    )
    assert f"{mean.before:.1f} %" in said
    assert [archive_in(state).results(entry) for entry in runs_in(state)] == results

    archive = archive_in(state)
    run_proctor("show", run.assessment_id)
    run_proctor("show", CAMPAIGN)
    said = capsys.readouterr().out
    assert says("16/18", **DIFFERING).within(said)
    assert says("16/18", **DIFFERING).within(Pages(archive).entry(archive.find(run.assessment_id)))
    assert says("1 of 4", **DIFFERING).within(Pages(archive).entry(archive.find(CAMPAIGN)))

    copy = state / "copy"
    run_proctor("export", CAMPAIGN, "--to", str(copy))
    run_proctor("import", str(copy), "--archive", str(copy / "there"))
    assert Archive(str(copy / "there")).judgements(archive.find(run.assessment_id), Judgement)


def test_a_scenario_with_other_data_is_not_judged_by_todays_checks(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (state / "scenarios" / "tiny").rename(state / "gone")
    path = state / "scenarios" / "other" / "initial_state.json"
    path.write_text(path.read_text().replace("ana@home.example", "ana@house.example"))
    with pytest.raises(CommandError, check=says()):
        again(*(entry.id for entry in runs_in(state) if entry.scenario_id == "other"), "--current")
    with pytest.raises(CommandError, check=says("tiny")):
        again(*(entry.id for entry in runs_in(state) if entry.scenario_id == "tiny"), "--current")
    assert again(CAMPAIGN) is ExitCode.DONE, "what is frozen judges as before"
    assert says().within(capsys.readouterr().out)


def test_an_evaluator_that_gives_no_verdict_is_named(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raising = GENEROUS.replace('return EvalResult(1, 1, "well")', "return 1 / 0")
    (state / "scenarios" / "tiny" / "evaluators.py").write_text(raising)
    asking = GENEROUS.replace('ctx.get_state("email")', "ctx.client.email.get_state()")
    (state / "scenarios" / "other" / "evaluators.py").write_text(asking)
    with pytest.raises(CommandError) as error:
        again(CAMPAIGN, "--current")
    for fact in ("evaluators.py line 4", "ZeroDivisionError", "GET /email/state", "--from-judging"):
        assert str(error.value).count(fact) == 2


def test_what_is_damaged_or_unknown_is_named_and_the_rest_goes_on(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = archive_in(state)
    no_states, changed, sound, _ = runs_in(state)
    folder = state / "archive"
    next(folder.glob(f"*/{no_states.id}.*/{STATES}")).unlink()
    next(folder.glob(f"*/{changed.id}.*/{RESULT}")).write_text("{}")
    pruned = {"id": "lost", "campaign": None, "package": Content(sha256="0" * 64, size=1)}
    lost = archive.write(sound.model_copy(update=pruned), *files_of(archive, sound))
    files, contents = files_of(archive, sound)
    files[STATES] = files[STATES].replace(b'"lacking":null', b'"lacking":"it was pruned"')
    pruned = {"id": "stateless", "campaign": None}
    stateless = archive.write(sound.model_copy(update=pruned), files, contents)
    write_trial(archive, "trial-1")
    assert again("nonesuch", "trial-1", lost.id, stateless.id, CAMPAIGN) is ExitCode.FAILED
    said = " ".join(capsys.readouterr().out.split())
    parts = re.split(" (?=not judged: )", said)
    fence = re.compile(r"(?<=\.)\d{10,}")
    for fact in ("2 runs of 6", "nonesuch", "trial-1", "stateless", "--current"):
        assert says(fact, folder=folder, **DIFFERING).within(parts)
    for damaged in (changed.id, no_states.id):
        assert says(damaged, folder=folder, damaged=damaged, fence=fence, **DIFFERING).within(parts)
    with pytest.raises(UsageError, check=says()):
        again("nonesuch")


def files_of(archive: Archive, entry: ArchiveEntry) -> tuple[dict[str, bytes], dict[str, bytes]]:
    return (
        {name: archive.read(entry, name) for name in entry.files},
        {name: archive.read_content(entry, name) for name in entry.contents},
    )


def test_ctrl_c_keeps_what_was_judged_and_the_same_command_goes_on(
    state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keep = Archive.keep_judgement

    def keep_and_interrupt(*given: Any) -> None:
        keep(*given)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    with monkeypatch.context() as patch:
        patch.setattr(Archive, "keep_judgement", keep_and_interrupt)
        assert again(CAMPAIGN) is ExitCode.CANCELLED
    assert says().within(capsys.readouterr().err)
    assert not archive_in(state).judgements(archive_in(state).find(CAMPAIGN), Shift)
    done = sum(bool(archive_in(state).judgements(entry, Judgement)) for entry in runs_in(state))
    assert 1 <= done < 4
    assert again(CAMPAIGN) is ExitCode.DONE
    assert shift_in(state).judged_now == 4 - done


def test_a_second_ctrl_c_does_not_wait_for_what_is_judged_just_now(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(*_given: Any) -> None:
        for seconds in (0.01, 0.1):
            asyncio.get_running_loop().call_later(seconds, os.kill, os.getpid(), signal.SIGINT)
        await asyncio.sleep(3600)

    monkeypatch.setattr(Court, "judge", hang)
    with pytest.raises(CancelledError, check=says()):
        again(runs_in(state)[0].id)


def judged_by_model(state: Path) -> ArchiveEntry:
    """An assessment whose criterion ``manners`` a model has judged."""
    archive = archive_in(state)
    entry = next(entry for entry in runs_in(state) if entry.scenario_id == "tiny" and entry.score)
    results = archive.results(entry)
    criteria = [
        result.model_copy(
            update={"judged_by": "model:old", "score": 0, "max_score": result.unscored_points, "unscored_points": 0}
        )
        if result.is_unscored
        else result
        for result in results.criteria_results
    ]
    results = results.model_copy(update={"criteria_results": criteria, "scores": Scores.of(criteria), "offline": False})
    files, contents = files_of(archive, entry)
    files[RESULT] = results.model_dump_json().encode()
    changed = {"id": "by-model", "offline": False, "judges": ["openai/old"]}
    return archive.write(entry.model_copy(update=changed), files, contents)


def all_met(prompt: str) -> dict[str, Any]:
    items = re.findall(r"^- (\S+) \((\d+) points", prompt, re.MULTILINE)
    records = [json.loads(line) for line in prompt.splitlines() if line.startswith('{"id"')]
    quotes = [{"record": row["id"], "quote": row["text"][:20]} for row in records if row["text"].strip()][:1]
    return {
        "items": [{"id": i, "quotes": quotes, "reason": "r", "points": int(p)} for i, p in items],
        "explanation": "e",
    }


def test_what_needed_a_model_stays_unless_one_is_named(
    state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entry, archive = judged_by_model(state), archive_in(state)
    assert again(entry.id) is ExitCode.DONE
    assert says("--judge").within(capsys.readouterr().out)
    (kept,) = archive.judgements(entry, Judgement)
    assert kept.kept == ["manners"]
    assert kept.scores == kept.first
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with OpenAIEndpoint() as endpoint:
        endpoint.answer("now judge", all_met)
        assert again(entry.id, "--judge", "openai/new", "--base-url", endpoint.base_url) is ExitCode.DONE
    judged = next(judgement for judgement in archive.judgements(entry, Judgement) if judgement.by.judge)
    assert judged.kept == []
    assert judged.scores.overall.score > kept.scores.overall.score
    assert {result.judged_by for result in judged.criteria_results} >= {"model:openai/new"}
    with pytest.raises(UsageError, match="--judge strange-1: "):
        again(entry.id, "--judge", "strange-1")


def test_prune_leaves_what_judges_results_that_stay(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long_ago = time.time() - 40 * 86_400
    for path in (state / "storage").rglob("*"):
        os.utime(path, (long_ago, long_ago))
    run_proctor("prune", "--older-than", "30d", "--yes")
    assert says().within(capsys.readouterr().out)
    packages = {get_blob_path(entry.package) for entry in runs_in(state) if entry.package}
    left = {path.relative_to(state / "storage").as_posix() for path in (state / "storage").rglob("*") if path.is_file()}
    assert left == packages
    assert again(CAMPAIGN) is ExitCode.DONE
    assert says().within(capsys.readouterr().out)
