"""Results that a growing campaign takes over from an ended one: cells with the same ids that are still stored."""

import asyncio
from collections.abc import Sequence

from temporalio import activity
from temporalio.service import RPCError, RPCStatusCode

from activities.campaign.activities import ENDED_CELLS
from activities.campaign.plan import MEMO_LEDGER, Cell, EndedCell, TakenOver
from activities.plan import PROCTOR_OWNER
from proctor_protocol.request import BadRequestError
from proctor_storage.blobs import BlobNotFoundError, BlobRef, BlobStore

_READ_AT_ONCE = 32


async def taken_over(
    store: BlobStore, campaign_id: str, cells: Sequence[Cell], owner: str, kind: str
) -> tuple[TakenOver | None, list[Cell], list[str]]:
    """What an ended campaign of the same caller has played of these cells, those that are left, and warnings.

    Args:
        store: where results are.
        campaign_id: the ended campaign.
        cells: all cells that are asked for.
        owner: the caller.
        kind: what to name instead, for an error.

    Raises:
        BadRequestError: there is no such campaign, or its results were removed.
    """
    handle = activity.client().get_workflow_handle(campaign_id)
    try:
        described = await handle.describe()
        is_theirs = (described.typed_search_attributes.get(PROCTOR_OWNER) or "") == owner
        ref = await described.memo_value(MEMO_LEDGER, None, type_hint=BlobRef) if is_theirs else None
    except RPCError as problem:
        if problem.status != RPCStatusCode.NOT_FOUND:
            raise  # Temporal is away, which is none of the caller's fault
        ref = None
    if ref is None:
        raise BadRequestError(f"config.grows is {campaign_id}: name {kind} that has ended.")
    try:
        ledger = ENDED_CELLS.validate_json(await store.get(ref))
    except BlobNotFoundError:
        raise BadRequestError(
            f"config.grows is {campaign_id}, whose results were removed (proctor prune): ask without config.grows."
        ) from None
    known = {cell.cell_id for cell in cells}
    played = [each for each in ledger if each.cell_id in known and _counts(each)]
    mine = await _with_results(store, played)
    if not mine:
        return None, list(cells), [f"nothing of {campaign_id} is among what is asked for: all is played"]
    taken = {each.cell_id for each in mine}
    page = await store.put(ENDED_CELLS.dump_json(mine))
    return (
        TakenOver(
            page=page,
            cell_ids=sorted(taken),
            count=len(mine),
            succeeded=sum(each.outcome.succeeded for each in mine),
            failed=sum(each.outcome.failure_kind is not None for each in mine),
            scored=sum(each.outcome.score is not None for each in mine),
            score=sum(each.outcome.score or 0.0 for each in mine),
        ),
        [cell for cell in cells if cell.cell_id not in taken],
        [f"{lost} results of {campaign_id} were removed: these are played again"]
        if (lost := len(played) - len(mine))
        else [],
    )


async def _with_results(store: BlobStore, played: Sequence[EndedCell]) -> list[EndedCell]:
    """Those whose results are still there; they are as young as if they were new, so that no pruning takes them."""
    slots = asyncio.Semaphore(_READ_AT_ONCE)

    async def is_there(each: EndedCell) -> bool:
        if each.outcome.result is None:
            return False
        async with slots:
            try:
                await store.put(await store.get(each.outcome.result))
            except BlobNotFoundError:
                return False
        return True

    there = await asyncio.gather(*map(is_there, played))
    return [each for each, is_kept in zip(played, there, strict=True) if is_kept]


def _counts(ended: EndedCell) -> bool:
    """Whether a cell needn't be played again: it came to its end, or failed by the participant's fault."""
    return not ended.outcome.may_be_played_again and ended.outcome.status != "canceled"
