"""Payloads of a campaign, its activities and its cells; results are passed by reference."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

from pydantic import Field, JsonValue

from proctor.activities.plan import Model
from proctor.protocol.campaigns import Tally
from proctor.storage.blobs import BlobRef

MEMO_LEDGER = "ledger"
"""A key in an ended campaign's memo. The value names the blob with all cells' outcomes."""

_MOST_GROUPS = 100

CellStatus = Literal["completed", "failed", "canceled"]


LaneKind = Literal["participant", "model"]


class Lane(Model):
    """A participant (its address) or a model (its name) with a limited number of places for a campaign's cells."""

    kind: LaneKind
    name: str


class Cell(Model):
    """One trial or assessment of a campaign.

    Attributes:
        cell_id: its name in the campaign, and part of its workflow's id. The name doesn't depend on the campaign's
            other cells.
        label: its name for people.
        group: the group of similar cells, for people: an agent on a scenario, a terminal task.
        workflow: the workflow that plays it; it gets a ``CellInput`` and returns a ``CellOutcome``.
        given: the workflow's input for this cell. Inputs that all cells share are in ``CampaignPlan.shared``.
        lanes: the lanes in which it uses a place while it is played.
    """

    cell_id: str
    label: str
    group: str = ""
    workflow: str
    given: dict[str, JsonValue]
    lanes: list[Lane] = Field(default_factory=list)


class CellInput(Model):
    """The input of a cell's workflow; ``play`` counts from 1, ``owner`` is the campaign's caller."""

    campaign_id: str
    cell: Cell
    play: int = 1
    shared: dict[str, JsonValue] = Field(default_factory=dict)
    owner: str = ""


class CellOutcome(Model):
    """The outcome of a cell.

    Attributes:
        may_be_played_again: whether the cell failed and another try may help.
        result: the blob with the full result.
        score: 0 to 1.
        places: task queues with leftovers that aren't needed after the campaign.
        unpriced: whether the cell called models without a known price.
        uncounted: whether the cell called models that didn't report tokens.
    """

    status: CellStatus
    succeeded: bool = False
    score: float | None = None
    failure_kind: str | None = None
    failure: str | None = None
    may_be_played_again: bool = False
    result: BlobRef | None = None
    seconds: float = 0.0
    cost: float | None = None
    tokens: int | None = None
    unpriced: bool = False
    uncounted: bool = False
    places: list[str] = Field(default_factory=list)


class EndedCell(Model):
    """A cell that has ended finally, as the campaign's ledger shows it."""

    cell_id: str
    label: str
    plays: int
    outcome: CellOutcome


class CellList(Model):
    cells: BlobRef
    count: int


class TakenOver(Model):
    """Cells that an earlier campaign has played and that this campaign counts. ``page`` is a page of this campaign's
    ledger.
    """

    page: BlobRef
    cell_ids: list[str]
    count: int
    succeeded: int
    failed: int
    scored: int | None = None
    score: float


class CampaignPlan(Model):
    """An admitted campaign.

    Attributes:
        kind: the kind of its cells, which selects the code for the sums
        (``proctor.activities.campaign.activities.Kind``).
        title: its subject, for people and lists of workflows.
        cells: the cells to play, in this order.
        groups: the number of cells of each group; empty if there are very many groups.
        at_once: the most cells at the same time.
        lane_limits: by kind of lane, how many cells may use one lane at once.
        tries: the most plays of a cell that may be played again.
        max_cost, max_tokens, max_seconds: limits of the campaign. A cell that would probably pass one doesn't begin.
        taken_over: the cells that an earlier campaign has played.
        shared: inputs of every cell's workflow.
        cleanup: the activity that removes leftovers by the campaign's id. It runs on each task queue with leftovers.
    """

    campaign_id: str
    kind: str
    title: str
    participant: str
    participant_url: str = ""
    cells: CellList
    groups: dict[str, int] = Field(default_factory=dict)
    at_once: int
    lane_limits: dict[LaneKind, int] = Field(default_factory=dict)
    tries: int = 1
    max_cost: float | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    taken_over: TakenOver | None = None
    shared: dict[str, JsonValue] = Field(default_factory=dict)
    verbose_updates: bool = True
    warnings: list[str] = Field(default_factory=list)
    cleanup: str | None = None
    proctor_version: str = ""


class CellsInput(Model):
    cells: CellList
    start: int
    count: int


class JoinInput(Model):
    workflow_id: str


class LedgerInput(Model):
    ended: list[EndedCell]


class SumUpInput(Model):
    """The inputs of a campaign's result.

    Attributes:
        stopped: the limit that kept the remaining cells from being played.
        ledger: the stored pages of ended cells.
        ended: the ended cells that are not in these pages.
    """

    plan: CampaignPlan
    status: CellStatus
    failure: str | None = None
    stopped: str | None = None
    ledger: list[BlobRef]
    ended: list[EndedCell]
    tally: Tally
    started_at: datetime
    ended_at: datetime


class Summed(Model):
    """A campaign's result.

    Attributes:
        results: the blob with the result's JSON.
        sentence: the result in words.
        score: a share, 0 to 1.
        ledger: the blob with all cells' outcomes.
        runs: the blob for the statistics, with a ``Run`` on each line.
    """

    results: BlobRef
    sentence: str
    score: float | None = None
    ledger: BlobRef | None = None
    runs: BlobRef | None = None


class CampaignArchiveInput(Model):
    """A campaign that has ended, with its sums. ``updates`` are the items of its update stream, as in
    ``ArchiveInput``.
    """

    context_id: str
    owner: str = ""
    message: dict[str, Any]
    plan: CampaignPlan
    status: CellStatus
    failure: str | None = None
    summed: Summed
    tally: Tally
    updates: list[str]
    started_at: datetime
    ended_at: datetime


class CampaignResults(Model):
    """The result of a campaign's workflow; the type of ``results`` depends on the kind (``TerminalResults``)."""

    kind: str
    tally: Tally
    summed: Summed


def cell_workflow_id(campaign_id: str, cell_id: str, play: int) -> str:
    """Return the id of the workflow that plays a cell; ``play`` counts its plays from 1."""
    return f"{campaign_id}.{cell_id}" + (f".{play}" if play > 1 else "")


def count_groups(cells: Iterable[Cell]) -> dict[str, int]:
    """Return how many cells each group has; empty if there are too many groups to read."""
    counts = Counter(cell.group for cell in cells)
    return dict(counts) if len(counts) <= _MOST_GROUPS else {}
