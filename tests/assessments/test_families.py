"""Days of families as a caller plays them: named, archived without their answers, forked and judged again as frozen."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from proctor.client.replay import choose, reset, reset_points
from proctor.storage.archive import Archive
from proctor.storage.temporal import connect
from purple_sdk.protocol.results import AssessmentResults
from tests.activities.families import write_family
from tests.assessments.test_forks import fork
from tests.assessments.test_replay import follow, read_results
from tests.chaos.campaigns import play
from tests.sentences import says
from tests.stack import Assessed, Stack, assess, serving
from tests.work import only_nightly

CODE = re.compile(r"The code of the side door is (\d{4}) now")


async def answers(turn: int, ues: Any, now: Any) -> None:
    """Tells the guest the code that was said last, in the first turn."""
    mails = (await ues.email.query())["emails"]
    said = max((mail["received_at"], found[1]) for mail in mails if (found := CODE.search(mail["body_text"])))
    question = next(mail for mail in mails if "Which code does the side door have?" in mail["body_text"])
    if turn == 1:
        await ues.email.send(to_addresses=[question["from_address"]], subject="The door", body_text=f"It is {said[1]}.")


async def idles(turn: int, ues: Any, now: Any) -> None:
    """Does nothing."""


def results_of(assessed: Assessed) -> AssessmentResults:
    assert assessed.results is not None, assessed.sentence
    return assessed.results


def criteria_of(stack: Stack, task_id: str) -> list[dict[str, Any] | None]:
    archive = Archive(stack.config.archive_url)
    entry = archive.get(task_id)
    assert entry is not None
    scenario = archive.scenario(entry)
    assert scenario is not None
    return [criterion.params for criterion in scenario.criteria if criterion.evaluator_id == "duty"]


async def test_a_day_is_named_by_family_difficulty_and_seed(stack: Stack) -> None:
    async with serving(answers) as url:
        practice = results_of(await assess(stack, url, "one_question", difficulty=3, seed=7, max_turns=1))
        sealed = results_of(await assess(stack, url, "one_question", seed=1234, max_turns=1))
    assert practice.day == "one_question · difficulty 3 · seed 7"
    assert (practice.scenario_id, practice.family, practice.difficulty) == ("one_question", "one_question", 3)
    assert (practice.scores.overall.score, practice.scores.overall.max_score) == (16, 16)
    assert (sealed.difficulty, sealed.instance_seed) == (2, 1234)
    assert practice.provenance is not None
    assert (practice.provenance.family, practice.provenance.difficulty) == ("one_question", 3)

    archive = Archive(stack.config.archive_url)
    entry = archive.get(practice.assessment_id)
    assert entry is not None
    assert (entry.family, entry.difficulty, entry.instance_seed, entry.seed) == ("one_question", 3, 7, 7)
    assert entry.package is not None
    assert entry.package.sha256 == practice.provenance.scenario_hash
    assert (entry.day, entry.scenario_name, entry.scenario_id) == (practice.day, practice.day, "one_question")
    assert criteria_of(stack, practice.assessment_id) != [None], "the answers of practice seeds are public"
    assert criteria_of(stack, sealed.assessment_id) == [None], "and those of others stay in the evaluator"


@only_nightly  # by default: test_forks.py, test_replay.py
async def test_a_day_is_forked_and_judged_again_when_its_family_is_gone(stack: Stack) -> None:
    folder = write_family(Path(stack.local.config.scenarios_dir), name="soon_gone")
    async with serving(idles) as idle, serving(answers) as url:
        task_id = results_of(await assess(stack, url, "soon_gone", difficulty=1, seed=9)).assessment_id
        idle_id = results_of(await assess(stack, idle, "soon_gone", difficulty=1, seed=9)).assessment_id
        shutil.rmtree(folder / "families" / "soon_gone")
        again = results_of(await fork(stack, idle_id, 1, url, seed=10))
        assert (again.seed, again.instance_seed, again.difficulty) == (10, 9, 1)
        assert again.day == "soon_gone · difficulty 1 · seed 9"
        assert again.scores.overall.score == 16, again.failure
        refused = await fork(stack, idle_id, 1, url, difficulty=2)
        assert "config.difficulty is 2, and " in refused.sentence
        assert says("soon_gone").within(refused.sentence)

        client = await connect(stack.config)
        for with_current in (False, True):  # the kit of today over the frozen day
            points = await reset_points(client, task_id)
            await reset(client, task_id, choose(points, None, from_judging=True), with_current_evaluators=with_current)
            ended = await follow(stack, task_id)
            assert ended.state == "completed", ended.sentence
            judged = read_results(ended)
            assert judged.scores.overall.score == 16
            assert judged.provenance is not None
            assert judged.provenance.evaluators in ("frozen", "current")


async def test_a_campaign_plays_families_by_difficulty_and_seed(stack: Stack) -> None:
    """How two agents are compared on days of families is in ``tests/statistics``."""
    scenarios, difficulties = ["one_question", "tiny"], [1, 3]
    async with serving(answers) as url:
        found = await play(stack, {"good": url}, scenarios=scenarios, difficulties=difficulties, seeds=[1], max_turns=1)
    days = {(cell.scenario_id, cell.difficulty, cell.seed) for cell in found.cells}
    assert days == {("one_question", d, 1) for d in (1, 3)} | {("tiny", None, 1)}
    hashes = {cell.scenario_hash for cell in found.cells if cell.difficulty}
    assert len(hashes) == 2, "each day has files of its own"
    rows = {(row.agent, row.scenario): row for row in found.summaries if row.of == "overall"}
    assert set(rows) == {("good", where) for where in (None, "one_question", "tiny")}
    of_family = rows["good", "one_question"].percent
    assert of_family is not None
    assert (of_family.mean, of_family.values, of_family.units) == (100, 2, 2)
    whole, tiny = rows["good", None].percent, rows["good", "tiny"].percent
    assert whole is not None
    assert tiny is not None
    assert whole.mean == (of_family.mean + tiny.mean) / 2, "a family counts once"


async def test_a_campaign_with_difficulties_needs_a_family(stack: Stack) -> None:
    async with serving(idles) as url:
        with pytest.raises(AssertionError, check=says("config.scenarios")):
            await play(stack, {"a": url}, scenarios=["tiny"], difficulties=[1])
