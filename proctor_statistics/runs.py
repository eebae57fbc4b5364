"""One run, as statistics need it: who played what, how it ended, and the points by dimension and criterion."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

RunStatus = Literal["completed", "failed", "timeout", "canceled"]


class Points(BaseModel):
    """Points earned, of the points that were judged."""

    model_config = ConfigDict(frozen=True)

    score: float = Field(ge=0)
    max_score: float = Field(ge=0)

    @property
    def percent(self) -> float | None:
        """The share earned, 0 to 100; None where nothing was judged."""
        return 100.0 * self.score / self.max_score if self.max_score else None


class Run(BaseModel):
    """One assessment or trial.

    Attributes:
        run_id: the assessment's id.
        agent: the participant's name in the campaign.
        scenario: the scenario's or terminal task's id.
        seed: what its characters were seeded by; None where it has none.
        repeat: which of the runs of this agent, scenario and seed it is, from 0.
        status: how it ended.
        failed_by_participant: for one that did not complete, whether the participant is to blame.
        overall: all points; None where it was not judged.
        dimensions: points by dimension.
        criteria: points by criterion.
        tokens: of all models that it asked; None where unknown.
        cost: of these models, in the price table's currency; None where unknown.
    """

    model_config = ConfigDict(frozen=True)

    run_id: str
    agent: str
    scenario: str
    seed: int | None = None
    repeat: int = Field(default=0, ge=0)
    status: RunStatus = "completed"
    failed_by_participant: bool = False
    overall: Points | None = None
    dimensions: dict[str, Points] = Field(default_factory=dict)
    criteria: dict[str, Points] = Field(default_factory=dict)
    tokens: int | None = Field(default=None, ge=0)
    cost: float | None = Field(default=None, ge=0)

    @property
    def percent(self) -> float | None:
        """The share of all judged points, 0 to 100; None unless it completed and was judged."""
        return self.overall.percent if self.status == "completed" and self.overall is not None else None
