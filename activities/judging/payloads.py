"""What the activity of judging takes; it returns a ``CriterionResult``."""

from activities.plan import Model, Plan
from activities.simulation.payloads import Evidence


class JudgeInput(Model):
    """Judge one criterion. ``is_reset`` tells of a run that is a reset, which may ask for today's evaluators."""

    plan: Plan
    criterion_id: str
    evidence: Evidence
    is_reset: bool = False
