"""A campaign's own activities: what it plays, what came of that, and the sum. What a kind knows, that is asked for."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Protocol

from pydantic import TypeAdapter
from temporalio import activity
from temporalio.client import WorkflowFailureError

from activities.admission.payloads import AdmitInput
from activities.attempts import failures
from activities.campaign.plan import (
    CampaignPlan,
    Cell,
    CellList,
    CellOutcome,
    CellsInput,
    EndedCell,
    JoinInput,
    LedgerInput,
    Raw,
    Summed,
    SumUpInput,
)
from proctor_protocol.request import BadRequestError
from proctor_storage.blobs import BlobRef, BlobStore

_CELLS = TypeAdapter(list[Cell])
ENDED_CELLS = TypeAdapter(list[EndedCell])
"""A page of a ledger, as JSON."""


class Kind(Protocol):
    """What a kind of campaign knows that no other does."""

    name: str

    def is_asked_for(self, request: Raw) -> bool:
        """Whether a request is for a campaign of this kind."""

    async def plan(self, campaign_id: str, request: Raw, owner: str = "") -> CampaignPlan:
        """Check the request of a caller and fix what it plays.

        Args:
            campaign_id: the A2A task's id.
            request: JSON data or text, as the caller sent it.
            owner: the caller; empty without authentication.

        Raises:
            BadRequestError: a sentence for the caller.
        """

    async def sum_up(self, payload: SumUpInput, ended: Sequence[EndedCell]) -> Summed:
        """The result of everything that has ended, in the store."""


class CampaignActivities:
    def __init__(self, store: BlobStore, kinds: Iterable[Kind]) -> None:
        self._store = store
        self._kinds = list(kinds)

    @activity.defn
    async def plan_campaign(self, payload: AdmitInput) -> CampaignPlan:
        """Check a request for a campaign; a bad one is ``Rejected`` with a sentence for its sender."""
        try:
            for kind in self._kinds:
                if kind.is_asked_for(payload.request):
                    return await kind.plan(payload.task_id, payload.request, payload.owner)
        except BadRequestError as problem:
            raise failures.final(failures.REJECTED, str(problem)) from None
        raise failures.final(failures.REJECTED, "The request asks for no kind of campaign that this evaluator has.")

    @activity.defn
    async def read_cells(self, payload: CellsInput) -> list[Cell]:
        cells = _CELLS.validate_json(await self._store.get(payload.cells.cells))
        return cells[payload.start : payload.start + payload.count]

    @activity.defn
    async def join_cell(self, payload: JoinInput) -> CellOutcome:
        """Wait for a cell's workflow that was started before; it is cancelled with this attempt where that is."""
        workflow = activity.client().get_workflow_handle(payload.workflow_id, result_type=CellOutcome)
        try:
            outcome: CellOutcome = await workflow.result()
        except WorkflowFailureError as problem:
            return CellOutcome(
                status="failed",
                failure_kind=failures.UNKNOWN,
                failure=f"Its workflow ended without a result: {problem.cause}",
                may_be_played_again=True,
            )
        except asyncio.CancelledError:
            details = activity.cancellation_details()
            if details is not None and details.cancel_requested:
                await asyncio.shield(workflow.cancel())
            raise
        return outcome

    @activity.defn
    async def keep_outcomes(self, payload: LedgerInput) -> BlobRef:
        return await self._store.put(ENDED_CELLS.dump_json(payload.ended))

    @activity.defn
    async def sum_up_campaign(self, payload: SumUpInput) -> Summed:
        pages = await asyncio.gather(*(self._store.get(page) for page in payload.ledger))
        ended = [*(each for page in pages for each in ENDED_CELLS.validate_json(page)), *payload.ended]
        summed = await self._kind(payload.plan).sum_up(payload, ended)
        return summed.model_copy(update={"ledger": await self._store.put(ENDED_CELLS.dump_json(ended))})

    def _kind(self, plan: CampaignPlan) -> Kind:
        for kind in self._kinds:
            if kind.name == plan.kind:
                return kind
        raise failures.final(failures.REJECTED, f"This evaluator has no campaigns of the kind {plan.kind}.")


async def keep_cells(store: BlobStore, cells: Sequence[Cell]) -> CellList:
    return CellList(cells=await store.put(_CELLS.dump_json(list(cells))), count=len(cells))
