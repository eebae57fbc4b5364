"""A judgement by a local activity: the same verdict, less time for the evaluator, and no fence of its own."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from proctor.activities.attempts import failures
from proctor.activities.judging import by_evaluator
from proctor.activities.judging.payloads import JudgeInput
from proctor.activities.plan import Plan
from proctor.activities.scenario_code.processes import EvaluatorRetryError
from proctor.activities.simulation.payloads import Evidence
from proctor.local.doing import do, noting
from proctor.local.rehearsal import Rehearsal, RehearsedAssessment, rehearsing
from purple_sdk.protocol.results import CriterionResult
from purple_sdk.ues import OvertakenError
from tests.assessments.packages import write_package
from tests.assessments.scripts import idle
from tests.sentences import says

EVALUATORS = """
import time
from proctor.protocol.evaluation import EvalResult

async def asked(ctx, params): return EvalResult(1, 1, "well")
async def told(ctx, params): return EvalResult(1, 2, "half")
async def hangs(ctx, params): time.sleep(3600)
async def raises(ctx, params): raise ValueError("a defect")
async def exits(ctx, params): raise SystemExit(1)
async def lies(ctx, params): return EvalResult(7, 1, "more than all")
"""
FAULTY = ["hangs", "raises", "exits", "lies"]


def with_faulty_ones(scenario: dict[str, Any]) -> None:
    asked, told, manners = scenario["criteria"]
    faulty = [asked | {"criterion_id": name, "name": name, "evaluator_id": name} for name in FAULTY]
    asks = {"criterion_id": "asks", "evaluator_id": "raises", "needs_model_for": asked["max_score"]}
    scenario["criteria"] = [*faulty, asked | asks, asked, told, manners]


@pytest.fixture(scope="module")
def rehearsal(quick_fork_servers: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsal]:
    scenarios = tmp_path_factory.mktemp("scenarios")
    write_package(scenarios, "faulty", change=with_faulty_ones, files={"evaluators.py": EVALUATORS})
    write_package(scenarios, "good", files={"evaluators.py": EVALUATORS})
    with rehearsing(scenarios) as made:
        yield made


class Judged(RehearsedAssessment):
    """Keeps the evidence of an assessment, for judgements that its ``look`` makes."""

    found: Any = None

    async def judge(self, plan: Plan, evidence: Evidence) -> list[CriterionResult]:
        self.found = await self.look(plan, evidence)
        return []

    async def look(self, plan: Plan, evidence: Evidence) -> Any:
        """What a test is interested in."""

    async def judge_locally(self, plan: Plan, evidence: Evidence, criterion_id: str) -> CriterionResult:
        """As a local activity on a worker whose clock is a day ahead."""
        surroundings = ActivityEnvironment()
        ahead = datetime.now(UTC) + timedelta(days=1)
        surroundings.info = replace(surroundings.info, is_local=True, current_attempt_scheduled_time=ahead)
        given = JudgeInput(plan=plan, criterion_id=criterion_id, evidence=evidence)
        return await surroundings.run(noting(self.verdicts.judge_criterion), given)


def found(rehearsal: Rehearsal, scenario: str, judged: Judged) -> Any:
    rehearsal.run(judged.play(scenario, idle, 7)).result()
    return judged.found


def test_a_faulty_evaluator_fails_and_its_neighbours_are_judged(
    rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that hangs is ended after the time of a local activity."""
    monkeypatch.setattr(by_evaluator, "_LOCAL_SECONDS", 0.5)

    class Faulty(Judged):
        async def look(self, plan: Plan, evidence: Evidence) -> dict[str, Any]:
            scores: dict[str, Any] = {}
            for criterion in plan.criteria:
                try:
                    verdict = await self.judge_locally(plan, evidence, criterion.criterion_id)
                    scores[criterion.criterion_id] = (verdict.score, verdict.max_score)
                except ApplicationError as error:
                    scores[criterion.criterion_id] = error.type
            return scores

    assert found(rehearsal, "faulty", Faulty(rehearsal)) == {
        **dict.fromkeys(FAULTY, "EvaluatorFailed"),
        "asks": (0, 0),  # which needs a model for all its points, so it isn't called
        "asked": (10, 10),
        "told": (3, 6),
        "manners": (0, 2),
    }


def test_a_verdict_is_the_same_as_that_of_an_ordinary_activity(rehearsal: Rehearsal) -> None:
    class Both(Judged):
        async def look(self, plan: Plan, evidence: Evidence) -> tuple[list[CriterionResult], list[CriterionResult]]:
            names = [criterion.criterion_id for criterion in plan.criteria]
            asked = [JudgeInput(plan=plan, criterion_id=name, evidence=evidence) for name in names]
            ordinary = [await do(self.verdicts.judge_criterion, question) for question in asked]
            return ordinary, [await self.judge_locally(plan, evidence, name) for name in names]

    ordinary, local = found(rehearsal, "good", Both(rehearsal))
    assert ordinary == local
    assert all(verdict.evaluator_hash for verdict in local if verdict.judged_by.startswith("evaluator"))


def test_a_look_has_the_fence_that_conclude_handed_on(rehearsal: Rehearsal) -> None:
    """A worker's clock may be ahead: as a fence, its time would shut out all later attempts."""

    class Fenced(Judged):
        async def look(self, plan: Plan, evidence: Evidence) -> list[int]:
            host = self.parts.simulations.host
            before = await host.find_holder(plan.simulation_id)
            await self.judge_locally(plan, evidence, "asked")
            judged = await host.find_holder(plan.simulation_id)
            await host.end(plan.simulation_id, before)  # lost, or ended by the run before a reset
            await self.judge_locally(plan, evidence, "asked")
            return [evidence.fence, before, judged, await host.find_holder(plan.simulation_id)]

    fences = found(rehearsal, "good", Fenced(rehearsal))
    assert fences[0] > 0
    assert fences == fences[:1] * 4


def test_a_look_brings_nothing_back_that_a_newer_attempt_has_ended(rehearsal: Rehearsal) -> None:
    class Ended(Judged):
        async def look(self, plan: Plan, evidence: Evidence) -> int:
            host = self.parts.simulations.host
            await host.end(plan.simulation_id, evidence.fence + 1)
            with pytest.raises(OvertakenError):
                await self.judge_locally(plan, evidence, "asked")
            return await host.find_holder(plan.simulation_id)

    assert found(rehearsal, "good", Ended(rehearsal)) == 0


def test_no_verdict_counts_where_the_simulation_was_lost_meanwhile(
    rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was lost answers like an empty one, which no evaluator can know."""

    async def is_another(*_: Any) -> None:
        raise failures.SIMULATION_LOST.passing("It was lost meanwhile.")

    class Lost(Judged):
        async def look(self, plan: Plan, evidence: Evidence) -> None:
            await self.judge_locally(plan, evidence, "asked")

    monkeypatch.setattr(by_evaluator, "require_still", is_another)
    with pytest.raises(ApplicationError, check=says()):
        found(rehearsal, "good", Lost(rehearsal))


def test_a_judgement_that_could_not_reach_the_simulation_looks_again_though_others_share_the_look(
    rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judgements of an assessment share one look; the server that it was a look at may have died since."""

    class Interrupted(Judged):
        async def look(self, plan: Plan, evidence: Evidence) -> list[Any]:
            given = JudgeInput(plan=plan, criterion_id="asked", evidence=evidence)
            neighbours = [await do(self.verdicts.evaluators.looks.open_simulation, given) for _ in range(2)]
            with monkeypatch.context() as patch:
                patch.setattr(self.parts.scenarios.code, "judge", is_away)
                with pytest.raises(Exception, check=says()):  # noqa: B017
                    await do(self.verdicts.judge_criterion, given)
            return [*neighbours, await do(self.verdicts.evaluators.looks.open_simulation, given)]

    async def is_away(*_: Any) -> None:
        raise EvaluatorRetryError("nobody answers")

    first, second, after = found(rehearsal, "good", Interrupted(rehearsal))
    assert first is second
    assert after is not first
