"""Several criteria are judged in one go: what one of them does is nothing to the others, and all see one simulation."""

from collections.abc import Iterator
from typing import Any

import pytest

from activities import verdicts
from activities.packages.processes import EvaluatorRetryError
from activities.plan import Evidence, JudgeSeveralInput, Plan
from activities.simulations import simulations
from proctor.rehearsal import Rehearsal, RehearsedAssessment, do, rehearsing
from proctor_protocol.results import CriterionResult
from tests.assessments.packages import write_package
from tests.assessments.scripts import idle

EVALUATORS = """
import time
from proctor_protocol.evaluation import EvalResult

async def asked(ctx, params): return EvalResult(1, 1, "well")
async def told(ctx, params): return EvalResult(1, 2, "half")
async def hangs(ctx, params): time.sleep(3600)
async def raises(ctx, params): raise ValueError("a defect")
async def exits(ctx, params): raise SystemExit(1)
async def lies(ctx, params): return EvalResult(7, 1, "more than all")
"""
FAULTY = ["hangs", "raises", "exits", "lies"]


def with_faulty_ones(scenario: dict[str, Any]) -> None:
    """The faulty ones come first, but for one, and the others have to be judged all the same."""
    asked, told, manners = scenario["criteria"]
    faulty = [asked | {"criterion_id": name, "name": name, "evaluator_id": name} for name in FAULTY]
    scenario["criteria"] = [*faulty, asked, told, manners]


@pytest.fixture(scope="module")
def rehearsal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsal]:
    scenarios = tmp_path_factory.mktemp("scenarios")
    write_package(scenarios, "faulty", change=with_faulty_ones, files={"evaluators.py": EVALUATORS})
    write_package(scenarios, "good", files={"evaluators.py": EVALUATORS})
    with rehearsing(scenarios) as made:
        yield made


class _Once(RehearsedAssessment):
    """Keeps what judging in one go finds."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        super().__init__(rehearsal)
        self.found: list[CriterionResult] = []

    async def judge(self, plan: Plan, evidence: Evidence) -> list[CriterionResult]:
        names = [criterion.criterion_id for criterion in plan.criteria]
        given = JudgeSeveralInput(plan=plan, criterion_ids=names, evidence=evidence)
        self.found = (await do(self.verdicts.judge_criteria, given)).verdicts
        return self.found


def judged(rehearsal: Rehearsal, scenario: str, made: _Once | None = None) -> list[CriterionResult]:
    once = made or _Once(rehearsal)
    rehearsal.run(once.play(scenario, idle, 7)).result()
    return once.found


def test_a_faulty_evaluator_is_left_out_and_its_neighbours_are_judged(rehearsal: Rehearsal) -> None:
    found = judged(rehearsal, "faulty")
    assert [(each.criterion_id, each.score, each.max_score) for each in found] == [
        ("asked", 10, 10),
        ("told", 3, 6),
        ("manners", 0, 2),
    ]


def test_a_verdict_says_the_same_as_one_that_was_reached_alone(rehearsal: Rehearsal) -> None:
    class _Both(_Once):
        async def judge(self, plan: Plan, evidence: Evidence) -> list[CriterionResult]:
            await super().judge(plan, evidence)
            given = JudgeSeveralInput(plan=plan, criterion_ids=[], evidence=evidence)
            self.alone = [await do(self.verdicts.judge_criterion, given.one(c.criterion_id)) for c in plan.criteria]
            return self.found

    both = _Both(rehearsal)
    assert judged(rehearsal, "good", both) == both.alone
    assert all(verdict.evaluator_hash for verdict in both.found if verdict.judged_by.startswith("evaluator"))


def test_no_verdict_counts_where_the_simulation_was_lost_meanwhile(
    rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was lost answers like an empty one, which no evaluator can know."""

    async def is_another(*_: Any) -> None:
        raise simulations.failures.passing(simulations.failures.SIMULATION_LOST, "It was lost meanwhile.")

    monkeypatch.setattr(verdicts, "require_still", is_another)
    once = _Once(rehearsal)
    with pytest.raises(Exception, match="lost meanwhile"):
        judged(rehearsal, "good", once)
    assert once.found == []


def test_who_could_not_reach_the_simulation_looks_anew_though_others_hold_on_to_it(
    rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judges at work share one look; the server that it was a look at may have died since."""

    class _Interrupted(_Once):
        async def judge(self, plan: Plan, evidence: Evidence) -> list[CriterionResult]:
            given = JudgeSeveralInput(plan=plan, criterion_ids=[], evidence=evidence).one("asked")
            neighbours = [await do(self.verdicts._look_at, given) for _ in range(2)]
            with monkeypatch.context() as patch:
                patch.setattr(self.verdicts._deployment.code, "judge", is_away)
                with pytest.raises(Exception, match="nobody answers"):
                    await do(self.verdicts.judge_criterion, given)
            self.looks = [*neighbours, await do(self.verdicts._look_at, given)]
            return []

    async def is_away(*_: Any) -> None:
        raise EvaluatorRetryError("nobody answers")

    interrupted = _Interrupted(rehearsal)
    judged(rehearsal, "good", interrupted)
    first, second, after = interrupted.looks
    assert first is second
    assert after is not first
