"""Campaigns of many assessments or trials, and the updates that report their progress."""

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from proctor.protocol.runs import RunResults
from proctor.protocol.updates import ErrorOccurredUpdate, TaskUpdate, parse_update
from purple_sdk.protocol._wire import ByMessageType, Instant, WireModel
from purple_sdk.protocol.statistics import cost_in_words
from purple_sdk.protocol.terminal import TerminalResults


class CampaignUpdateType(StrEnum):
    """The ``message_type`` of each campaign update."""

    CAMPAIGN_STARTED = "update_campaign_started"
    CELL_ENDED = "update_cell_ended"
    CAMPAIGN_PROGRESS = "update_campaign_progress"
    CAMPAIGN_ENDED = "update_campaign_ended"


class Tally(WireModel):
    """The progress of a campaign, counted in cells.

    ``done`` cells have ended and won't be played again. Of these, ``succeeded`` met their goal (a trial's task was
    resolved, an assessment passed), ``failed`` broke off, and ``scored`` have a score; ``score`` is the sum of the
    scores, each 0 to 1. ``plays`` counts all plays, ``cost_known`` those with a known cost. ``cost`` is the known cost.
    """

    total: int = Field(default=0, ge=0)
    done: int = Field(default=0, ge=0)
    running: int = Field(default=0, ge=0)
    waiting: int = Field(default=0, ge=0)
    succeeded: int = Field(default=0, ge=0)
    failed: int = Field(default=0, ge=0)
    scored: int | None = Field(default=None, ge=0)
    replayed: int = Field(default=0, ge=0)
    score: float = Field(default=0.0, ge=0)
    cost: float | None = None
    cost_known: int | None = None
    plays: int = Field(default=0, ge=0)
    tokens: int | None = None

    @property
    def cost_text(self) -> str:
        """The cost in words; empty if it is unknown."""
        return cost_in_words(self.cost, self.cost_known, self.plays)

    @property
    def mean(self) -> float | None:
        """The mean score of scored cells, 0 to 1; None if no cell has a score yet."""
        scored = self.done if self.scored is None else self.scored
        return self.score / scored if scored else None

    def sentence(self) -> str:
        """One readable sentence."""
        mean = "" if self.mean is None else f", mean {self.mean:.2f}"
        return (
            f"{self.done} of {self.total} done, {self.running} running, {self.waiting} waiting; "
            f"{self.succeeded} passed, {self.failed} failed{mean}."
        )


class CampaignStartedUpdate(WireModel):
    """The campaign's cells are known.

    ``groups`` is the number of cells to play in each group (such as one agent on one scenario). It is empty for
    campaigns with a great many groups.
    """

    message_type: Literal[CampaignUpdateType.CAMPAIGN_STARTED] = CampaignUpdateType.CAMPAIGN_STARTED
    campaign_id: str
    title: str
    participant: str
    start_time: Instant
    tally: Tally
    groups: dict[str, int] = Field(default_factory=dict)
    warnings: list[str] = Field(default_factory=list)

    def sentence(self) -> str:
        """One readable sentence."""
        text = f"{self.title}: {self.tally.total} to play with {self.participant}."
        return " ".join([text, *(f"Warning: {warning}." for warning in self.warnings)])


class CellEndedUpdate(WireModel):
    """One cell has ended; ``again`` says that it will be played again."""

    message_type: Literal[CampaignUpdateType.CELL_ENDED] = CampaignUpdateType.CELL_ENDED
    cell_id: str
    label: str
    group: str = ""
    status: str
    succeeded: bool
    score: float | None = None
    failure_kind: str | None = None
    failure: str | None = None
    again: bool = False
    seconds: float = 0.0
    tally: Tally

    def sentence(self) -> str:
        """One readable sentence."""
        verdict = "passed" if self.succeeded else "failed" if self.failure_kind else "not passed"
        why = f" ({self.failure_kind}: {self.failure})" if self.failure_kind and self.failure else ""
        again = "; it is played again" if self.again else ""
        return f"{self.label}: {verdict}{why}{again}. {self.tally.sentence()}"


class CampaignProgressUpdate(WireModel):
    """The campaign's progress."""

    message_type: Literal[CampaignUpdateType.CAMPAIGN_PROGRESS] = CampaignUpdateType.CAMPAIGN_PROGRESS
    tally: Tally

    def sentence(self) -> str:
        """One readable sentence."""
        return self.tally.sentence()


class CampaignEndedUpdate(WireModel):
    """The campaign has ended; the artifact follows."""

    message_type: Literal[CampaignUpdateType.CAMPAIGN_ENDED] = CampaignUpdateType.CAMPAIGN_ENDED
    tally: Tally
    duration_seconds: float
    summary: str

    def sentence(self) -> str:
        """One readable sentence."""
        return self.summary


CampaignUpdate = (
    CampaignStartedUpdate | CellEndedUpdate | CampaignProgressUpdate | CampaignEndedUpdate | ErrorOccurredUpdate
)

_UPDATES = ByMessageType[CampaignUpdate](CampaignUpdate)


def describe_update(update: TaskUpdate | CampaignUpdate) -> str:
    """Return an update as a sentence, prefixed with its participant's role if it has one."""
    role = getattr(update, "role", None)
    return f"{role}: {update.sentence()}" if role else update.sentence()


def parse_any_update(data: dict[str, Any]) -> TaskUpdate | CampaignUpdate:
    """Read an update of an assessment or a campaign from its data part; raises the errors of ``parse_update``."""
    is_campaigns = data.get("message_type") in set(CampaignUpdateType)
    return _UPDATES.read(data) if is_campaigns else parse_update(data)


CampaignResults = TerminalResults | RunResults
"""The results of a campaign, by its kind."""

_RESULTS = ByMessageType[CampaignResults](CampaignResults)


def parse_campaign_results(data: dict[str, Any]) -> CampaignResults:
    """Read the results of a campaign; raises the errors of ``parse_any_update``."""
    return _RESULTS.read(data)


CAMPAIGN_MILESTONES = frozenset(set(CampaignUpdateType) - {CampaignUpdateType.CELL_ENDED})
"""The updates that a request with ``verbose_updates: false`` receives, besides errors."""
