"""What passes between a campaign, its activities and its cells; results go by reference."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

from pydantic import Field, JsonValue

from proctor.activities.plan import Model
from proctor.protocol.campaigns import Tally
from proctor.storage.blobs import BlobRef

MEMO_LEDGER = "ledger"
"""Where an ended campaign's memo names the blob with all its cells' outcomes."""

_MOST_GROUPS = 100

CellStatus = Literal["completed", "failed", "canceled"]


LaneKind = Literal["participant", "model"]


class Lane(Model):
    """A participant (its address) or a model (its name), of which a campaign uses some places only at once."""

    kind: LaneKind
    name: str


class Cell(Model):
    """One thing that a campaign plays: a trial, or an assessment.

    Attributes:
        cell_id: its name in the campaign, which stays the same when others join; part of its workflow's id.
        label: the same for people.
        group: what it is one of many of, for people: an agent on a scenario, a terminal task.
        workflow: the workflow that plays it; it is given a ``CellInput`` and returns a ``CellOutcome``.
        given: the runner's input for this cell; values that all cells share are in ``CampaignPlan.shared``.
        lanes: in which it takes a place while it is played.
    """

    cell_id: str
    label: str
    group: str = ""
    workflow: str
    given: dict[str, JsonValue]
    lanes: list[Lane] = Field(default_factory=list)


class CellInput(Model):
    """What a cell's workflow is started with; ``play`` counts from 1, ``owner`` is the caller whose campaign it is."""

    campaign_id: str
    cell: Cell
    play: int = 1
    shared: dict[str, JsonValue] = Field(default_factory=dict)
    owner: str = ""


class CellOutcome(Model):
    """What came of a cell; ``result`` is the blob with the whole of it.

    ``may_be_played_again`` says that it failed in a way that is worth another try. ``score`` is 0 to 1. ``places`` are
    task queues on which something is left that isn't needed after the campaign. ``unpriced`` and ``uncounted`` say that
    models were asked whose price isn't known, or which didn't tell their tokens.
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
    """A cell that has ended for good, as the campaign's ledger has it."""

    cell_id: str
    label: str
    plays: int
    outcome: CellOutcome


class CellList(Model):
    cells: BlobRef
    count: int


class TakenOver(Model):
    """Cells that an earlier campaign has played, and this one counts: ``page`` is a page of its ledger."""

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
        kind: the kind of its cells; decides which code sums it up (``proctor.activities.campaign.activities.Kind``).
        title: what it plays, for people and where workflows are listed.
        cells: the cells to play, in this order.
        groups: how many of these are of each group; empty where there are very many groups.
        at_once: the most cells at the same time.
        lane_limits: how many cells may use one lane of this kind at once.
        tries: how often a cell is played that may be played again.
        max_cost, max_tokens, max_seconds: nothing more is begun where it would probably pass one of them.
        taken_over: what needn't be played.
        shared: what every cell's workflow has to know.
        cleanup: the activity that removes what the campaign left, given its id; run at each of its places.
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
    """What a campaign's result is made of; ``ended`` are the outcomes that stand in no page of the ledger, ``stopped``
    says which limit kept the rest from being played.
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
    """A campaign's result: the blob with its JSON, a sentence, and the share that its kind calls its score; ``ledger``
    is the blob with all cells' outcomes, ``runs`` the one with a ``Run`` a line, which its statistics are of.
    """

    results: BlobRef
    sentence: str
    score: float | None = None
    ledger: BlobRef | None = None
    runs: BlobRef | None = None


class CampaignArchiveInput(Model):
    """A campaign that has ended, with its sums. ``updates`` as of an assessment's ``ArchiveInput``."""

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
    """What a campaign's workflow returns; the JSON of ``results`` is what its kind says (``TerminalResults``)."""

    kind: str
    tally: Tally
    summed: Summed


def cell_workflow_id(campaign_id: str, cell_id: str, play: int) -> str:
    """The id of the workflow that plays a cell; ``play`` counts its plays from 1."""
    return f"{campaign_id}.{cell_id}" + (f".{play}" if play > 1 else "")


def groups_of(cells: Iterable[Cell]) -> dict[str, int]:
    """How many cells each group has; empty where there are more groups than anybody reads."""
    counts = Counter(cell.group for cell in cells)
    return dict(counts) if len(counts) <= _MOST_GROUPS else {}
