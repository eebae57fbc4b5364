"""The progress of a campaign: the data that it passes on when its history grows too long for one run."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from temporalio.contrib.workflow_streams import WorkflowStreamState

from proctor.activities.campaign.plan import CampaignPlan, Cell, CellList, CellOutcome, EndedCell, TakenOver
from proctor.protocol.campaigns import Tally
from proctor.storage.blobs import BlobRef
from purple_sdk.protocol.terminal import BENCHMARK

_Unit = Literal["cost", "tokens", "seconds"]


class Due(BaseModel):
    """A cell that waits or is being played. ``play`` is the number of its play, from 1."""

    cell: Cell
    play: int = 1


class Spending(BaseModel):
    """The cost of the plays of one group of cells (an agent on a scenario; a terminal task)."""

    plays: int = 0
    seconds: float = 0.0
    cost: float = 0.0
    tokens: int = 0


class CampaignProgress(BaseModel):
    """The progress of a campaign.

    Attributes:
        lists: the lists of cells to play: the plan's list, and lists that were added later.
        read: how many cells of all lists were read so far.
        waiting: the read cells that wait.
        at_play: the read cells that are being played.
        replayed: how many plays were not the first one of their cell.
        ledger: pages of cells that have ended finally.
        ended: ended cells that are in no page yet.
        places: task queues whose hosts have leftovers of the campaign.
        plays, seconds, tokens, cost: the totals of all plays of this campaign, whether they count or not.
        cost_known: how many plays have a known cost.
        unpriced: whether the cost of any play is unknown.
        uncounted: whether the number of tokens of any play is unknown.
        by_group: the totals by group of cells.
        taken_over: how many cells an earlier campaign has played.
        stopped: the limit that keeps the remaining cells from being played.
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
    cost_known: int = 0
    tokens: int | None = None
    unpriced: bool = False
    uncounted: bool = False
    plays: int = 0
    seconds: float = 0.0
    by_group: dict[str, Spending] = Field(default_factory=dict)
    taken_over: int = 0
    stopped: str | None = None
    ledger: list[BlobRef] = Field(default_factory=list)
    ended: list[EndedCell] = Field(default_factory=list)
    places: list[str] = Field(default_factory=list)

    @property
    def total(self) -> int:
        return self.taken_over + self.to_play

    @property
    def to_play(self) -> int:
        """The number of cells that this campaign plays: past, running and waiting ones."""
        return sum(cells.count for cells in self.lists)

    def tally(self) -> Tally:
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
            cost_known=self.cost_known,
            plays=self.plays,
            tokens=self.tokens,
        )

    def note(self, due: Due, outcome: CellOutcome) -> None:
        self.done += 1
        self.succeeded += outcome.succeeded
        self.failed += outcome.failure_kind is not None
        self.scored += outcome.score is not None
        self.score += outcome.score or 0.0
        cell = due.cell
        self.ended.append(EndedCell(cell_id=cell.cell_id, label=cell.label, plays=due.play, outcome=outcome))

    def note_play(self, due: Due, outcome: CellOutcome) -> None:
        """Add the cost of an ended play, whether it counts or not."""
        self.at_play.remove(due)
        self.places += [place for place in outcome.places if place not in self.places]
        group = self.by_group.setdefault(due.cell.group, Spending())
        group.plays += 1
        group.seconds += outcome.seconds
        group.cost += outcome.cost or 0.0
        group.tokens += outcome.tokens or 0
        self.plays += 1
        self.seconds += outcome.seconds
        self.unpriced |= outcome.unpriced
        self.uncounted |= outcome.uncounted
        self.cost_known += outcome.cost is not None
        if outcome.cost is not None:
            self.cost = round((self.cost or 0.0) + outcome.cost, 8)
        if outcome.tokens is not None:
            self.tokens = (self.tokens or 0) + outcome.tokens

    def take_over(self, taken: TakenOver) -> None:
        self.taken_over = taken.count
        self.done += taken.count
        self.succeeded += taken.succeeded
        self.failed += taken.failed
        self.scored += taken.count - taken.failed if taken.scored is None else taken.scored
        self.score += taken.score
        self.ledger.append(taken.page)

    def limit_reached(self, plan: CampaignPlan, elapsed: float) -> str | None:
        """Return a sentence on the limit that forbids more cells, or None."""
        if plan.max_cost is not None and self.unpriced:
            why = "a model was asked that has no known price. Add it to the worker's table of prices"
            if plan.kind == BENCHMARK:
                why = (
                    "an agent doesn't report what its models cost. Have it send usage with cost, or leave the limit out"
                )
            return f"Stopped: a limit of {plan.max_cost:g} on costs can't be kept, since {why}."
        if plan.max_tokens is not None and self.uncounted:
            return (
                f"Stopped: a limit of {plan.max_tokens:,} tokens can't be kept, since "
                f"{'an agent' if plan.kind == BENCHMARK else 'a model'} doesn't report how many it uses."
            )
        for limit in self._limits(plan, elapsed):
            if limit.spent >= limit.most:
                return f"Stopped at the limit of {limit.in_words(limit.most)}."
        return None

    def limit_in_reach(self, plan: CampaignPlan, elapsed: float, due: Due | None) -> str | None:
        """Return a sentence on the limit that the next cell would probably pass, or None. ``elapsed`` is the time since
        the campaign began, in seconds. ``due`` is the next cell, if it is known.

        The forecast for this cell, and for each running one, is the mean of its group's plays so far. A group without
        plays gets the mean of all plays. If ``due`` is None, every cell gets the mean of all plays.
        """
        for limit in self._limits(plan, elapsed):
            one = limit.forecast(due)
            others = [limit.forecast(due and other) for other in self.at_play] if limit.adds_up else []
            if limit.spent + one + sum(others) > limit.most:
                which = due.cell.label if due else "the next one"
                return (
                    f"Stopped before {which}, which would take about {limit.in_words(one)}: "
                    f"{limit.in_words(limit.spent)} of the limit of {limit.in_words(limit.most)} are spent."
                )
        return None

    def limits_passed(self, plan: CampaignPlan, elapsed: float) -> str | None:
        """Return a sentence on each limit that was passed, and by how much, or None."""
        return (
            " ".join(
                f"The limit of {limit.in_words(limit.most)} was passed by {limit.in_words(limit.spent - limit.most)}."
                for limit in self._limits(plan, elapsed)
                if limit.spent > limit.most
            )
            or None
        )

    def _limits(self, plan: CampaignPlan, elapsed: float) -> list["_Limit"]:
        def limit(most: float | None, spent: float, unit: _Unit) -> list[_Limit]:
            return [] if most is None else [_Limit(most, spent, unit, self)]

        return [
            *limit(plan.max_cost, self.cost or 0.0, "cost"),
            *limit(plan.max_tokens, self.tokens or 0, "tokens"),
            *limit(plan.max_seconds, elapsed, "seconds"),
        ]


@dataclass(frozen=True)
class _Limit:
    most: float
    spent: float
    unit: _Unit
    progress: CampaignProgress

    @property
    def adds_up(self) -> bool:
        """Whether running plays add to the total: each play has its own cost and tokens, but all share the time."""
        return self.unit != "seconds"

    def forecast(self, due: Due | None) -> float:
        group = self.progress.by_group.get(due.cell.group) if due else None
        return (getattr(group or self.progress, self.unit) or 0.0) / max((group or self.progress).plays, 1)

    def in_words(self, value: float) -> str:
        if self.unit == "seconds":
            return f"{value / 3600:.3g} h"
        return f"{value:,.0f} tokens" if self.unit == "tokens" else f"{value:.4g} in costs"


class CarriedCampaign(BaseModel):
    """The data with which the next run of the same campaign starts."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    plan: CampaignPlan
    progress: CampaignProgress
    stream: WorkflowStreamState | None = None
