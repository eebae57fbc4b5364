"""The input of the activity of judging; it returns a ``CriterionResult``."""

from proctor.activities.plan import OfAssessment, OfSeveral
from proctor.activities.simulation.payloads import Evidence


class JudgeInput(OfAssessment, OfSeveral):
    """A request to judge one criterion. ``is_reset`` says whether the run is a reset, which may ask for today's
    evaluators.
    """

    criterion_id: str
    evidence: Evidence
    is_reset: bool = False

    @property
    def about(self) -> str:
        return self.criterion_id
