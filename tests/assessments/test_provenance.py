"""Which scenario, evaluators and participant made a score, and that a scenario judges as it was at admission."""

import shutil
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from proctor.activities.scenario_code.freezing import packed
from proctor.cli.replay import run_replay
from proctor.client.replay import choose, reset, reset_points
from proctor.common.errors import UsageError
from proctor.storage.blobs import blob_ref
from proctor.storage.temporal import connect
from purple_sdk.protocol.provenance import Provenance
from purple_sdk.protocol.results import AssessmentResults
from tests.assessments.packages import write_package
from tests.assessments.test_replay import follow
from tests.sentences import says
from tests.stack import Assessed, Stack, assess, serving
from tests.work import only_nightly

GENEROUS = """
import helpers

async def asked(ctx, params):
    return {"score": helpers.POINTS, "max_score": 1, "explanation": "as written"}

told = asked
"""
RAISING = """
async def asked(ctx, params):
    raise KeyError("no such mail")

told = asked
"""

MENDED = """
async def asked(ctx, params):
    return {"score": 1, "max_score": 1, "explanation": "found"}

told = asked
"""


Write = Callable[..., None]


@pytest.fixture
def write() -> Iterator[Write]:
    """Writes packages that are gone after the test: others tell which scenarios there are."""
    written: list[Path] = []

    def write_it(directory: Path, name: str, **changes: Any) -> None:
        written.append(directory / name)
        write_package(directory, name, **changes)

    yield write_it
    for folder in written:
        shutil.rmtree(folder)


async def idle(turn: int, ues: Any, now: Any) -> None:
    return None


async def judged_again(stack: Stack, first: Assessed, *, with_current_evaluators: bool) -> Any:
    assert first.results is not None
    task_id = first.results.assessment_id
    client = await connect(stack.config)
    point = choose(await reset_points(client, task_id), None, from_judging=True)
    await reset(client, task_id, point, with_current_evaluators=with_current_evaluators)
    return await follow(stack, task_id)


def provenance_of(results: AssessmentResults) -> Provenance:
    assert results.provenance is not None
    return results.provenance


def points(ended: Any) -> int:
    return AssessmentResults.model_validate_json(ended.results).scores.overall.score


async def test_a_result_says_where_it_comes_from(stack: Stack, scenarios_dir: Path, write: Write) -> None:
    write(
        scenarios_dir, "signed", change=lambda s: s.update(version="7", canary="0fd8a2a6-7d3c-4f9c-9d2a-5a3c8e0b1f11")
    )
    async with serving(idle) as url:
        assessed = await assess(stack, url, "signed", max_turns=1)
    assert assessed.results is not None
    found = provenance_of(assessed.results)
    assert found.proctor_version == version("proctor")
    assert (found.scenario_version, found.reader, found.canary) == ("7", 2, "0fd8a2a6-7d3c-4f9c-9d2a-5a3c8e0b1f11")
    assert found.scenario_hash == blob_ref(packed(scenarios_dir / "signed")).sha256
    assert (found.evaluators, found.evaluators_hashes) == ("frozen", [found.scenario_hash])
    assert (found.judges, found.characters) == ([], [])
    assert found.participant_url == url
    assert found.participant_card is not None
    assert found.participant_card.name
    assert found.started_at is not None
    assert found.ended_at is not None
    assert found.seconds_played == assessed.results.duration_seconds
    assert (found.ended_at - found.started_at).total_seconds() == pytest.approx(found.seconds_played)


async def test_judging_again_takes_the_evaluators_of_admission_unless_told_otherwise(
    stack: Stack, scenarios_dir: Path, write: Write
) -> None:
    write(scenarios_dir, "edited", files={"evaluators.py": GENEROUS, "helpers.py": "POINTS = 1"})
    async with serving(idle) as url:
        first = await assess(stack, url, "edited", max_turns=1)
        assert first.results is not None
        full = first.results.scores.overall.score
        frozen = provenance_of(first.results).scenario_hash
        (scenarios_dir / "edited" / "helpers.py").write_text("POINTS = 0")

        again = await judged_again(stack, first, with_current_evaluators=False)
        assert points(again) == full
        assert provenance_of(AssessmentResults.model_validate_json(again.results)).evaluators == "frozen"

        today = await judged_again(stack, first, with_current_evaluators=True)
        assert points(today) < full
        found = provenance_of(AssessmentResults.model_validate_json(today.results))
        assert (found.evaluators, found.scenario_hash) == ("current", frozen)
        assert found.evaluators_hashes == [blob_ref(packed(scenarios_dir / "edited")).sha256] != [frozen]

        # The wish holds for the judging that it was made for.
        assert points(await judged_again(stack, first, with_current_evaluators=False)) == full


@only_nightly  # by default: the test above, and test_hostile_code.py
async def test_a_mended_evaluator_judges_where_that_is_asked_for(
    stack: Stack, scenarios_dir: Path, write: Write
) -> None:
    write(scenarios_dir, "mended", files={"evaluators.py": RAISING})
    async with serving(idle) as url:
        failed = await assess(stack, url, "mended", max_turns=1)
        assert failed.state == "failed"
        assert "--from-judging --with-current-evaluators" in (failed.sentence or "")
        (scenarios_dir / "mended" / "evaluators.py").write_text(MENDED)
        assert (await judged_again(stack, failed, with_current_evaluators=False)).state == "failed"
        assert (await judged_again(stack, failed, with_current_evaluators=True)).state == "completed"


def test_todays_evaluators_are_for_judging_again() -> None:
    with pytest.raises(UsageError, check=says("--with-current-evaluators", "--from-judging")):
        run_replay("t", "http://127.0.0.1:1", with_current_evaluators=True)
