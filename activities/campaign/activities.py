"""The activities that plan a campaign, collect its outcomes and sum them up. A ``Kind`` supplies the parts that differ
by kind.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from pydantic import TypeAdapter
from temporalio import activity
from temporalio.client import WorkflowFailureError, WorkflowHandle

from proctor.activities.admission.payloads import AdmitInput
from proctor.activities.admission.queueing import find_task
from proctor.activities.archive.payloads import as_lines, decode_updates
from proctor.activities.attempts import failures
from proctor.activities.attempts.fencing import own_fence
from proctor.activities.attempts.owners import PROCTOR_OWNER
from proctor.activities.attempts.patience import patiently
from proctor.activities.attempts.scrubbing import Scrubber
from proctor.activities.campaign import plan as plans
from proctor.protocol.archive import RESULT, RUNS, UPDATES, ArchiveEntry
from proctor.settings.config import GreenAgentConfig
from proctor.storage.archive import open_archive
from proctor.storage.blobs import BlobNotFoundError, BlobRef, BlobStore
from purple_sdk.processes.together import do_all
from purple_sdk.protocol.request import BadRequestError, Raw

T = TypeVar("T")

CELLS = TypeAdapter(list[plans.Cell])
ENDED_CELLS = TypeAdapter(list[plans.EndedCell])
"""A page of a ledger, as JSON."""


class Kind(Protocol):
    """The parts of a campaign that differ by kind."""

    name: str

    def accepts(self, request: Raw) -> bool:
        """Return whether a request is for a campaign of this kind."""

    async def plan(self, campaign_id: str, request: Raw, owner: str = "") -> plans.CampaignPlan:
        """Check the request of a caller and fix the cells. ``owner`` is empty without authentication. Raises
        ``BadRequestError`` with a sentence for the caller.
        """

    async def sum_up(self, payload: plans.SumUpInput, ended: Sequence[plans.EndedCell]) -> plans.Summed:
        """Sum up all ended cells; the result is in the store."""


class CampaignActivities:
    def __init__(self, store: BlobStore, kinds: Iterable[Kind]) -> None:
        self._store = store
        self._kinds = list(kinds)

    @activity.defn
    async def plan_campaign(self, payload: AdmitInput) -> plans.CampaignPlan:
        """Check a request for a campaign. A bad request fails as ``Rejected`` with a sentence for its sender."""
        try:
            for kind in self._kinds:
                if kind.accepts(payload.request):
                    return await kind.plan(payload.task_id, payload.request, payload.owner)
        except BadRequestError as error:
            raise failures.REJECTED.final(str(error)) from None
        raise failures.REJECTED.final("The request asks for no kind of campaign that this evaluator has.")

    @activity.defn
    async def read_cells(self, payload: plans.CellsInput) -> list[plans.Cell]:
        cells = CELLS.validate_json(await self._store.get(payload.cells.cells))
        return cells[payload.start : payload.start + payload.count]

    @activity.defn
    async def join_cell(self, payload: plans.JoinInput) -> plans.CellOutcome:
        """Wait for the workflow of a cell, which is already running. If this attempt is cancelled, cancel the workflow
        too.
        """
        workflow = activity.client().get_workflow_handle(payload.workflow_id, result_type=plans.CellOutcome)
        try:
            return await await_result(workflow)
        except WorkflowFailureError as error:
            return plans.CellOutcome(
                status="failed",
                failure_kind=failures.UNKNOWN,
                failure=f"Its workflow ended without a result: {error.cause}",
                may_be_played_again=True,
            )

    @activity.defn
    async def keep_outcomes(self, payload: plans.LedgerInput) -> BlobRef:
        return await self._store.put(ENDED_CELLS.dump_json(payload.ended))

    @activity.defn
    async def sum_up_campaign(self, payload: plans.SumUpInput) -> plans.Summed:
        pages = await do_all(*(self._store.get(page) for page in payload.ledger))
        ended = [*(cell for page in pages for cell in ENDED_CELLS.validate_json(page)), *payload.ended]
        summed = await self._kind(payload.plan).sum_up(payload, ended)
        return summed.model_copy(update={"ledger": await self._store.put(ENDED_CELLS.dump_json(ended))})

    def _kind(self, plan: plans.CampaignPlan) -> Kind:
        for kind in self._kinds:
            if kind.name == plan.kind:
                return kind
        raise failures.REJECTED.final(f"This evaluator has no campaigns of the kind {plan.kind}.")


async def await_result(workflow: WorkflowHandle[Any, T]) -> T:
    """Wait for a workflow's result. If this attempt is cancelled on request, cancel the workflow too. Raises
    ``WorkflowFailureError``.
    """
    try:
        return await workflow.result()
    except asyncio.CancelledError:
        details = activity.cancellation_details()
        if details is not None and details.cancel_requested:
            await asyncio.shield(workflow.cancel())
        raise


async def keep_cells(store: BlobStore, cells: Sequence[plans.Cell]) -> plans.CellList:
    return plans.CellList(cells=await store.put(CELLS.dump_json(list(cells))), count=len(cells))


_READ_AT_ONCE = 32


async def taken_over(
    store: BlobStore, campaign_id: str, cells: Sequence[plans.Cell], owner: str, kind: str
) -> tuple[plans.TakenOver | None, list[plans.Cell], list[str]]:
    """Divide cells into those that an ended campaign of the same caller has played and those left to play. Return both,
    and warnings.

    Raises ``BadRequestError`` if there is no such campaign, or if its results were removed.
    """
    described, ref = await find_task(activity.client(), campaign_id), None
    if described and (described.typed_search_attributes.get(PROCTOR_OWNER) or "") == owner:
        ref = await described.memo_value(plans.MEMO_LEDGER, None, type_hint=BlobRef)
    if ref is None:
        raise BadRequestError(f"config.grows is {campaign_id}: name {kind} that has ended.")
    try:
        ledger = ENDED_CELLS.validate_json(await store.get(ref))
    except BlobNotFoundError:
        raise BadRequestError(
            f"config.grows is {campaign_id}, whose results were removed (proctor prune): ask without config.grows."
        ) from None
    known = {cell.cell_id for cell in cells}
    played = [cell for cell in ledger if cell.cell_id in known and _counts(cell)]
    mine = await _with_results(store, played)
    if not mine:
        return None, list(cells), [f"nothing of {campaign_id} is among what is asked for: all is played"]
    taken = {cell.cell_id for cell in mine}
    page = await store.put(ENDED_CELLS.dump_json(mine))
    return (
        plans.TakenOver(
            page=page,
            cell_ids=sorted(taken),
            count=len(mine),
            succeeded=sum(cell.outcome.succeeded for cell in mine),
            failed=sum(cell.outcome.failure_kind is not None for cell in mine),
            scored=sum(cell.outcome.score is not None for cell in mine),
            score=sum(cell.outcome.score or 0.0 for cell in mine),
        ),
        [cell for cell in cells if cell.cell_id not in taken],
        [f"{lost} results of {campaign_id} were removed: these are played again"]
        if (lost := len(played) - len(mine))
        else [],
    )


async def _with_results(store: BlobStore, played: Sequence[plans.EndedCell]) -> list[plans.EndedCell]:
    """Return the cells whose results still exist. Their results are stored again, to keep them from being pruned."""
    slots = asyncio.Semaphore(_READ_AT_ONCE)

    async def is_there(each: plans.EndedCell) -> bool:
        if each.outcome.result is None:
            return False
        async with slots:
            try:
                await store.put(await store.get(each.outcome.result))
            except BlobNotFoundError:
                return False
        return True

    there = await do_all(*map(is_there, played))
    return [cell for cell, is_kept in zip(played, there, strict=True) if is_kept]


def _counts(ended: plans.EndedCell) -> bool:
    """Return whether a cell is done: completed, or failed by the participant's fault."""
    return not ended.outcome.may_be_played_again and ended.outcome.status != "canceled"


class CampaignArchiving:
    """Archives a campaign. Its assessments and trials have separate entries, which name the campaign."""

    def __init__(self, config: GreenAgentConfig, store: BlobStore, scrubber: Callable[[str], Scrubber]) -> None:
        self._store = store
        self._scrubber = scrubber
        self._archive = open_archive(config)

    @activity.defn
    async def archive_campaign(self, payload: plans.CampaignArchiveInput) -> None:
        """Archive a campaign that has ended; a second call writes the same entry again."""
        entry = self._entry(payload)
        await patiently(lambda: asyncio.to_thread(self._write, entry, payload))

    def _entry(self, payload: plans.CampaignArchiveInput) -> ArchiveEntry:
        plan, info = payload.plan, activity.info()
        return ArchiveEntry(
            kind="campaign",
            id=plan.campaign_id,
            fence=own_fence(),
            run_id=info.workflow_run_id,
            campaign_kind=plan.kind,
            tally=payload.tally,
            context_id=payload.context_id,
            owner=payload.owner,
            status=payload.status,
            sentence=payload.failure or payload.summed.sentence,
            scenario_id=plan.title,
            participant=plan.participant,
            participant_url=plan.participant_url,
            earned=payload.summed.score,
            seconds=(payload.ended_at - payload.started_at).total_seconds(),
            cost=payload.tally.cost,
            started_at=payload.started_at,
            ended_at=payload.ended_at,
            temporal_namespace=info.workflow_namespace,
            message=payload.message,
        )

    def _write(self, entry: ArchiveEntry, payload: plans.CampaignArchiveInput) -> None:
        files = {
            RESULT: self._store.get_blocking(payload.summed.results),
            UPDATES: as_lines(decode_updates(payload.updates)),
        }
        if payload.summed.runs is not None:
            files[RUNS] = self._store.get_blocking(payload.summed.runs)
        clean = self._scrubber(entry.id).written
        self._archive.write(entry, {name: clean(content) for name, content in files.items()}, {})
