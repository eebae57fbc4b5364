"""How far a campaign has come: what it carries along when its history grows too long for one run."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field
from temporalio.contrib.workflow_streams import WorkflowStreamState

from activities.campaign_plan import CampaignPlan, Cell, CellList, CellOutcome, EndedCell, TakenOver
from proctor_protocol.campaigns import Tally
from proctor_storage.blobs import BlobRef


class Due(BaseModel):
    """A cell that is to be played, or is at play; ``play`` counts from 1."""

    cell: Cell
    play: int = 1


class CampaignProgress(BaseModel):
    """Where a campaign stands.

    Attributes:
        lists: what there is to play: the plan's cells, and what the campaign was grown by. read: how many cells of all
        lists were read so far. waiting: those of them that wait. at_play: those that are under way. replayed: how many
        plays were not the first one of their cell. ledger: pages of what has ended for good. ended: what stands in no
        page yet. places: task queues on which something of the campaign's is left. plays, seconds, tokens, cost: of
        what was played here, whether it counts or not. unpriced, uncounted: whether any of that has no known cost, or
        number of tokens. taken_over: how many cells needn't be played. stopped: the limit
        that keeps the rest from being played.
    """

    started_at: datetime
    lists: list[CellList]
    read: int = 0
    waiting: list[Due] = Field(default_factory=list)
    at_play: list[Due] = Field(default_factory=list)
    done: int = 0
    succeeded: int = 0
    failed: int = 0
    scored: int = 0
    replayed: int = 0
    score: float = 0.0
    cost: float | None = None
    tokens: int | None = None
    unpriced: bool = False
    uncounted: bool = False
    plays: int = 0
    seconds: float = 0.0
    taken_over: int = 0
    stopped: str | None = None
    ledger: list[BlobRef] = Field(default_factory=list)
    ended: list[EndedCell] = Field(default_factory=list)
    places: list[str] = Field(default_factory=list)

    @property
    def total(self) -> int:
        """How many cells there are."""
        return self.taken_over + self.to_play

    @property
    def to_play(self) -> int:
        """How many of them were, are or will be played here."""
        return sum(each.count for each in self.lists)

    def tally(self) -> Tally:
        """The same in numbers."""
        return Tally(
            total=self.total,
            done=self.done,
            running=len(self.at_play),
            waiting=self.total - self.done - len(self.at_play),
            succeeded=self.succeeded,
            failed=self.failed,
            scored=self.scored,
            replayed=self.replayed,
            score=round(self.score, 6),
            cost=self.cost,
            tokens=self.tokens,
        )

    def note(self, due: Due, ended: EndedCell) -> None:
        """A cell has ended for good."""
        outcome = ended.outcome
        self.done += 1
        self.succeeded += outcome.succeeded
        self.failed += outcome.failure_kind is not None
        self.scored += outcome.score is not None
        self.score += outcome.score or 0.0
        self.ended.append(ended)

    def note_play(self, outcome: CellOutcome) -> None:
        """A play has cost something, whether it counts or not."""
        self.plays += 1
        self.seconds += outcome.seconds
        self.unpriced |= outcome.unpriced
        self.uncounted |= outcome.uncounted
        if outcome.cost is not None:
            self.cost = round((self.cost or 0.0) + outcome.cost, 8)
        if outcome.tokens is not None:
            self.tokens = (self.tokens or 0) + outcome.tokens

    def take_over(self, taken: TakenOver) -> None:
        """What another campaign has played counts here."""
        self.taken_over = taken.count
        self.done += taken.count
        self.succeeded += taken.succeeded
        self.failed += taken.failed
        self.scored += taken.count - taken.failed if taken.scored is None else taken.scored
        self.score += taken.score
        self.ledger.append(taken.page)

    def limit_in_reach(self, plan: CampaignPlan, elapsed: float) -> str | None:
        """A sentence on the limit that one more play would probably pass, by what plays took so far; None for none."""
        running = len(self.at_play)

        def would_pass(limit: float | None, spent: float, for_one: float) -> bool:
            return limit is not None and (spent >= limit or spent + for_one * (running + 1) > limit)

        if plan.max_cost is not None and self.unpriced:
            return (
                f"Stopped, since costs of up to {plan.max_cost:g} can't be kept to: a model was asked that no price is "
                "known of. Give the worker a table of prices that has it."
            )
        if plan.max_tokens is not None and self.uncounted:
            return f"Stopped, since {plan.max_tokens:,} tokens can't be kept to: a model doesn't tell how many it uses."
        played = max(self.plays, 1)
        if would_pass(plan.max_cost, self.cost or 0.0, (self.cost or 0.0) / played):
            return f"Stopped before its costs pass {plan.max_cost:g}."
        if would_pass(plan.max_tokens, self.tokens or 0, (self.tokens or 0) / played):
            return f"Stopped before it uses over {plan.max_tokens:,} tokens."
        if plan.max_seconds is not None and elapsed + self.seconds / played > plan.max_seconds:
            return f"Stopped before it takes over {plan.max_seconds / 3600:g} h."
        return None


class CarriedCampaign(BaseModel):
    """What the next run of the same campaign starts with."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    plan: CampaignPlan
    progress: CampaignProgress
    stream: WorkflowStreamState | None = None
