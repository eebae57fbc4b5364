"""Points in proportion to the work: a rubric's points are due only to participants that did something."""

import math

from proctor_protocol.results import CriterionResult
from proctor_protocol.scenario import EvaluationCriterion

_FINE = 10_000
_NOISE = 1e-9


def work_criterion(criterion: EvaluationCriterion) -> EvaluationCriterion | None:
    """What to have judged by the scenario's function to learn the share of the work; None where none is asked for."""
    if criterion.work_evaluator_id is None:
        return None
    return EvaluationCriterion(
        criterion_id=criterion.criterion_id,
        name=criterion.name,
        dimension=criterion.dimension,
        max_score=_FINE,
        evaluator_id=criterion.work_evaluator_id,
        params=criterion.params,
    )


def in_proportion(verdict: CriterionResult, work: CriterionResult) -> CriterionResult:
    """A verdict on the quality of the work, with its points in proportion to how much work there was.

    The maximum stays: it is the same for everybody. Points are rounded down, and the explanation says what was taken.
    """
    share = work.score / work.max_score
    share_at_most = (work.score + work.doubtful_points) / work.max_score
    score = _due(verdict.score, share)
    sentence = f"In proportion to the work, {share:.0%} of {verdict.score} points: {work.explanation}."
    return verdict.model_copy(
        update={
            "score": score,
            "doubtful_points": _due(verdict.score + verdict.doubtful_points, share_at_most) - score,
            "doubts": [*verdict.doubts, *work.doubts],
            "explanation": f"{verdict.explanation} {sentence}" if share < 1 and verdict.score else verdict.explanation,
            "details": {**(verdict.details or {}), "work": {"share": share, "explanation": work.explanation}},
            "evaluator_hash": work.evaluator_hash,
        }
    )


def _due(points: int, share: float) -> int:
    return math.floor(points * share + _NOISE)
