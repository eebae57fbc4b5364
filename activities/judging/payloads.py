"""What the activity of judging takes; it returns a ``CriterionResult``."""

from proctor.activities.plan import OfAssessment, OfSeveral
from proctor.activities.simulation.payloads import Evidence


class JudgeInput(OfAssessment, OfSeveral):
    """Judge one criterion. ``is_reset`` tells of a run that is a reset, which may ask for today's evaluators."""

    criterion_id: str
    evidence: Evidence
    is_reset: bool = False

    @property
    def about(self) -> str:
        return self.criterion_id
