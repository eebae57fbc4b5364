"""The steps that every end needs: partings, the context's next workflow, search attributes, the end of the updates."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any

from temporalio import workflow

from proctor.activities.participant.activities import ParticipantActivities
from proctor.activities.participant.payloads import FarewellInput
from proctor.activities.plan import Plan
from proctor.activities.simulation.lifecycle import LifecycleActivities
from proctor.workflows import limits, names
from proctor.workflows.context_queue import PlaceInContext
from proctor.workflows.publishing import UpdatePublisher
from purple_sdk.protocol.messages import CompletionReason
from purple_sdk.protocol.results import AssessmentResults


async def run_undisturbed(ending: Coroutine[Any, Any, None]) -> None:
    """Finish a part of a workflow's end, even if the workflow is cancelled during it."""
    doing = asyncio.create_task(ending)
    while not doing.done():
        try:
            await asyncio.shield(doing)
        except asyncio.CancelledError:
            continue


async def end(
    place: PlaceInContext,
    publisher: UpdatePublisher,
    status: names.Status,
    part: Callable[[], Iterable[Awaitable[Any]]],
    so_far: AssessmentResults | None = None,
) -> None:
    """End a workflow: part from all components, let the context's next workflow begin, and set the status.

    A cancellation that arrives during the end has no effect.

    Args:
        place: the workflow's place in the queue of its context.
        publisher: the publisher, whose stream ends.
        status: the final status.
        part: returns work that informs, removes and archives in parallel. Its failures are only logged.
        so_far: the results of a canceled workflow, which has no result. They are stored, and the memo names their blob.
    """

    async def part_from_all() -> None:
        kept, *parted = await asyncio.gather(_keep(so_far), *part(), return_exceptions=True)
        for problem in parted:
            if isinstance(problem, Exception):
                workflow.logger.warning("on the way out: %s", problem)
        await place.leave()
        workflow.upsert_search_attributes([names.PROCTOR_STATUS.value_set(status)])
        workflow.upsert_memo({"status": status, **(kept if isinstance(kept, dict) else {})})
        await publisher.end()

    await run_undisturbed(part_from_all())


async def _keep(results: AssessmentResults | None) -> dict[str, Any]:
    if results is None:
        return {}
    ref = await workflow.execute_local_activity_method(
        LifecycleActivities.keep_results, results, **limits.kept("keep the results so far")
    )
    return {names.MEMO_RESULTS: ref.model_dump(mode="json")}


def notify_participant(plan: Plan, reason: CompletionReason, unfinished: Sequence[str]) -> Awaitable[None]:
    return workflow.execute_activity_method(
        ParticipantActivities.farewell,
        FarewellInput(plan=plan, reason=reason, left=list(unfinished)),
        **limits.for_participant("tell the participant"),
    )


def take_down(simulation_id: str) -> Awaitable[None]:
    return workflow.execute_activity_method(
        LifecycleActivities.take_down, simulation_id, **limits.parting("end the simulation")
    )
