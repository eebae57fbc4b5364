"""``proctor replay``: reset an assessment to a turn, to its judging, or to the step that failed, and follow it."""

from dataclasses import dataclass, replace
from uuid import uuid4

from pydantic import BaseModel
from temporalio.api.common.v1 import Payloads, WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import ActivityTaskScheduledEventAttributes
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import Client, WorkflowExecutionDescription, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from proctor.activities.attempts.resets import WITH_CURRENT_EVALUATORS
from proctor.common.errors import CommandError, UsageError
from proctor.storage.blobs import BlobNotFoundError
from proctor.workflows.names import ASSESSMENT_WORKFLOW
from purple_sdk.protocol.problems import Problem

START, GREETING, JUDGING = "the start", "the greeting", "the judging"
_BEGIN = {
    **dict.fromkeys(("admit_fork", "set_up", "set_up_fork"), START),
    "greet": GREETING,
    "purple_turn": "turn {}",
    **dict.fromkeys(("conclude", "judge_criterion"), JUDGING),
}
"""Activities that begin a part of an assessment, to the name of the part. A part begins at the first of its activities
in a history. ``conclude`` begins the judging: it claims the simulation with a new fence, which local activities need.
"""
_WITHIN = {"respond": "the replies of turn {}", "apply": "the end of turn {}", "advance": "the end of turn {}"}
"""Activities within a turn. If one failed, an assessment may continue there: the turn needn't be played again."""
_ENDED_BADLY = {EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED, EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT}


class _Turn(BaseModel):
    """The fields of a turn's input that this module reads; all releases write them."""

    turn: int


@dataclass(frozen=True)
class ResetPoint:
    """A point from which an assessment may continue: the workflow task before one of its parts.

    Attributes:
        event_id: the id of the WorkflowTaskCompleted event.
        name: the name of the part.
        turn: the number of the turn that begins there; None for other parts.
        has_failed: whether the part that began there failed.
    """

    run_id: str
    event_id: int
    name: str
    turn: int | None = None
    has_failed: bool = False


async def reset_points(client: Client, task_id: str) -> list[ResetPoint]:
    """All points from which an assessment may continue, in order; a later run's point replaces an earlier run's."""
    points: dict[str, ResetPoint] = {}
    try:
        described, runs = await _list_runs(client, task_id)
        for run_id in runs:
            points |= await _points_of_run(client, task_id, run_id, is_first=not points)
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            raise CommandError(
                f"there is no assessment {task_id!r}: `temporal workflow list` shows those there are"
            ) from None
        raise
    if described.status == WorkflowExecutionStatus.COMPLETED:  # it continued after every failure
        return [replace(point, has_failed=False) for point in points.values()]
    return list(points.values())


async def _list_runs(client: Client, task_id: str) -> tuple[WorkflowExecutionDescription, list[str]]:
    """The current run, and the ids of the runs that continued as new before it, earliest first."""
    described = await client.get_workflow_handle(task_id).describe()
    if described.workflow_type != ASSESSMENT_WORKFLOW:
        raise CommandError(f"{task_id!r} is a workflow of type {described.workflow_type}, not an assessment")
    chain = [described.run_id]
    while True:
        handle = client.get_workflow_handle(task_id, run_id=chain[0])
        first = await anext(aiter(handle.fetch_history_events(page_size=1)))
        before = first.workflow_execution_started_event_attributes.continued_execution_run_id
        if not before:
            return described, chain
        chain.insert(0, before)


async def _points_of_run(client: Client, task_id: str, run_id: str, *, is_first: bool) -> dict[str, ResetPoint]:
    points: dict[str, ResetPoint] = {}
    scheduled: dict[int, ActivityTaskScheduledEventAttributes] = {}

    async def find_point(begun: ActivityTaskScheduledEventAttributes) -> ResetPoint:
        step = begun.activity_type.name
        name, turn = (_BEGIN | _WITHIN)[step], None
        if "{}" in name:
            turn = await _read_turn(client, begun.input)
        whole = turn if step in _BEGIN else None
        return ResetPoint(run_id, begun.workflow_task_completed_event_id, name.format(turn), whole)

    async for event in client.get_workflow_handle(task_id, run_id=run_id).fetch_history_events():
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED and is_first:
            points.setdefault(START, ResetPoint(run_id, event.event_id, START))
        elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            scheduled[event.event_id] = begun = event.activity_task_scheduled_event_attributes
            if begun.activity_type.name in _BEGIN:
                point = await find_point(begun)
                points.setdefault(point.name, point)
        elif event.event_type in _ENDED_BADLY:
            failed = event.activity_task_failed_event_attributes.scheduled_event_id
            timed_out = event.activity_task_timed_out_event_attributes.scheduled_event_id
            begun = scheduled[failed or timed_out]
            if begun.activity_type.name in _BEGIN | _WITHIN:
                point = await find_point(begun)
                points[point.name] = replace(points.get(point.name, point), has_failed=True)
    return points


async def _read_turn(client: Client, payloads: Payloads) -> int:
    try:
        (played,) = await client.data_converter.decode(list(payloads.payloads), [_Turn])
    except (BlobNotFoundError, OSError) as error:
        raise CommandError(
            f"the input of a turn is in the evaluator's storage, which can't be read from here ({error}): set "
            "AGENTBEATS_GREEN_STORAGE_URL as it is set for the worker"
        ) from None
    return int(played.turn)


def choose(points: list[ResetPoint], from_turn: int | None, from_judging: bool) -> ResetPoint:
    """Choose the point to continue from: by default the last point that failed, else the last point.

    Args:
        from_turn: continue from the turn with this number, from 1.
        from_judging: continue from the judging.

    Raises:
        UsageError: the assessment has no such point; the message lists its points.
    """
    if not points:
        raise UsageError("this assessment has not begun yet: nothing to go back to")
    by_turn = {point.turn: point for point in points if point.turn is not None}
    if from_turn is not None:
        if not by_turn:
            problem = "this assessment has played no turn: leave the option out, and it continues from what failed"
            raise UsageError(Problem(f"--from-turn {from_turn}", problem))
        if from_turn not in by_turn:
            problem = f"this assessment has played turns {min(by_turn)} to {max(by_turn)}"
            raise UsageError(Problem(f"--from-turn {from_turn}", problem))
        return by_turn[from_turn]
    if from_judging:
        judging = [point for point in points if point.name == JUDGING]
        if not judging:
            raise UsageError(Problem("--from-judging", "this assessment has not come to its judging"))
        return judging[0]
    failed = [point for point in points if point.has_failed]
    return failed[-1] if failed else points[-1]


async def reset(client: Client, task_id: str, point: ResetPoint, *, with_current_evaluators: bool = False) -> str:
    """Reset an assessment: end its current run, and start a new run from the point. Return the new run's id.

    Args:
        with_current_evaluators: judge with the scenario's evaluators of today, not those of admission. The reason of
            the reset tells the new run's judges so.
    """
    reason = f"proctor replay from {point.name}"
    if with_current_evaluators:
        reason = f"{reason}, {WITH_CURRENT_EVALUATORS}"
    answer = await client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=task_id, run_id=point.run_id),
            reason=reason,
            workflow_task_finish_event_id=point.event_id,
            request_id=f"replay-{uuid4()}",  # two resets to the same point are distinct requests
        )
    )
    return answer.run_id
