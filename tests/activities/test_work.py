"""Points in proportion to the work: a rubric's points are due to those who did something."""

import pytest
from pydantic import ValidationError

from proctor.activities.judging.verdicts import in_proportion, work_criterion
from proctor.activities.scenario_code.manager import EvaluatorLoadError, load_evaluators, load_package
from proctor.protocol.scenario import EvaluationCriterion
from purple_sdk.protocol.results import CriterionResult, Doubt
from tests.activities.scenario_code import scenario_data
from tests.sentences import says

MANNERS = EvaluationCriterion(
    criterion_id="manners",
    name="Manners",
    dimension="politeness",
    max_score=8,
    evaluation_prompt="Was it kind?",
    work_evaluator_id="letters",
    params={"least": 3},
)


def result(score: int, most: int, doubtful: int = 0) -> CriterionResult:
    return CriterionResult(
        criterion_id="manners",
        name="Manners",
        dimension="politeness",
        score=score,
        max_score=most,
        doubtful_points=doubtful,
        doubts=[Doubt(item="x", statement="y", reason="z")] * bool(doubtful),
        explanation="2 of 3 letters were written",
        evaluator_hash="abc",
    )


@pytest.mark.parametrize(("share", "points"), [(0, 0), (1_249, 0), (5_000, 3), (9_999, 6), (10_000, 7)])
def test_points_are_due_in_proportion_and_rounded_down(share: int, points: int) -> None:
    due = in_proportion(result(7, 8), result(share, 10_000))
    assert (due.score, due.max_score) == (points, 8)
    assert due.evaluator_hash == "abc"
    assert ("2 of 3 letters" in due.explanation.removeprefix("2 of 3 letters were written")) == (share < 10_000)


def test_doubts_of_both_are_the_range() -> None:
    due = in_proportion(result(4, 8, doubtful=2), result(5_000, 10_000, doubtful=5_000))
    assert (due.score, due.doubtful_points, len(due.doubts)) == (2, 4, 2)


def test_the_work_is_judged_by_a_function_with_the_same_parameters() -> None:
    work = work_criterion(MANNERS)
    assert work is not None
    assert (work.evaluator_id, work.params, work.criterion_id) == ("letters", {"least": 3}, "manners")
    assert work_criterion(MANNERS.model_copy(update={"work_evaluator_id": None})) is None


def test_a_function_of_its_own_sees_to_the_work_itself() -> None:
    with pytest.raises(ValidationError, check=says("work_evaluator_id")):
        EvaluationCriterion.model_validate(MANNERS.model_dump() | {"evaluator_id": "own"})


def test_a_missing_function_is_told_before_the_first_assessment(write_scenario) -> None:  # type: ignore[no-untyped-def]
    criteria = [*scenario_data()["criteria"], MANNERS.model_dump()]
    folder = write_scenario(files={"evaluators.py": ""}, criteria=criteria) / "small"
    with pytest.raises(EvaluatorLoadError, check=says("letters", "manners")):
        load_evaluators(folder, load_package(folder).config.criteria[-1:])
