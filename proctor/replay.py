"""``proctor replay``: reset an assessment to one of its turns, or to its judging, and follow how it goes on."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from proctor.assess import AssessOptions, follow
from proctor.caller import AssessmentCall
from proctor.console import make_console
from proctor.errors import CommandError, ExitCode, UnreachableError, UsageError
from proctor.settings import read_settings
from proctor_protocol.config import GreenAgentConfig
from proctor_storage.temporal import TemporalUnreachableError, connect
from workflows.names import ASSESSMENT_WORKFLOW

_TURN, _JUDGING = "purple_turn", "judge_criterion"
_ENDED_BADLY = {EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED, EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT}


@dataclass(frozen=True)
class ResetPoint:
    """Where an assessment may go on from: the workflow task before a turn, or before the judging.

    Attributes:
        run_id: the run that has it.
        event_id: the id of the WorkflowTaskCompleted event.
        turn: the turn's number, None for the judging.
        has_failed: whether what began there failed.
    """

    run_id: str
    event_id: int
    turn: int | None
    has_failed: bool = False

    @property
    def name(self) -> str:
        """What goes on from here."""
        return "the judging" if self.turn is None else f"turn {self.turn}"


def run_replay(task_id: str, gateway_url: str, from_turn: int | None, from_judging: bool, quiet: bool) -> ExitCode:
    """Reset and follow; Ctrl-C cancels the assessment.

    Raises:
        CommandError: of the kind that says why it can't be replayed, or didn't come to a result.
    """
    if from_turn is not None and from_judging:
        raise UsageError("--from-turn and --from-judging exclude each other: choose one")
    return asyncio.run(_replay(task_id, gateway_url, from_turn, from_judging, quiet))


async def _replay(task_id: str, gateway_url: str, from_turn: int | None, from_judging: bool, quiet: bool) -> ExitCode:
    interrupted = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupted.set)
    try:
        client = await connect(read_settings(GreenAgentConfig))
    except TemporalUnreachableError as problem:
        raise UnreachableError(str(problem)) from None
    point = choose(await reset_points(client, task_id), from_turn, from_judging)
    await reset(client, task_id, point)
    console = make_console(sys.stdout)
    console.print(f"{task_id} goes on from {point.name}", highlight=False)
    options = AssessOptions(scenario_id="", agent_url="", gateway_url=gateway_url, quiet=quiet)
    return await follow(options, console, interrupted, AssessmentCall.of_task(gateway_url, task_id))


async def reset_points(client: Client, task_id: str) -> list[ResetPoint]:
    """Every point that an assessment may go on from, in order; a later run's point takes the place of an earlier one's.

    Raises:
        CommandError: there is no assessment of that id.
    """
    points: dict[int | None, ResetPoint] = {}
    try:
        async for run_id in _runs(client, task_id):
            for point in await _points_of_run(client, task_id, run_id):
                points[point.turn] = point
    except RPCError as problem:
        if problem.status == RPCStatusCode.NOT_FOUND:
            raise CommandError(
                f"there is no assessment {task_id!r}: `temporal workflow list` shows those there are"
            ) from None
        raise
    turns = [points[turn] for turn in sorted(turn for turn in points if turn is not None)]
    return [*turns, points[None]] if None in points else turns


async def _runs(client: Client, task_id: str) -> AsyncIterator[str]:
    """The runs that led to the present one: what it continued as new, earliest first."""
    described = await client.get_workflow_handle(task_id).describe()
    if described.workflow_type != ASSESSMENT_WORKFLOW:
        raise CommandError(f"{task_id!r} is a workflow of type {described.workflow_type}, not an assessment")
    chain = [described.run_id]
    while True:
        handle = client.get_workflow_handle(task_id, run_id=chain[0])
        first = await anext(aiter(handle.fetch_history_events(page_size=1)))
        before = first.workflow_execution_started_event_attributes.continued_execution_run_id
        if not before:
            break
        chain.insert(0, before)
    for run_id in chain:
        yield run_id


async def _points_of_run(client: Client, task_id: str, run_id: str) -> list[ResetPoint]:
    found: dict[int | None, ResetPoint] = {}
    scheduled: dict[int, int | None] = {}
    async for event in client.get_workflow_handle(task_id, run_id=run_id).fetch_history_events():
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            begun = event.activity_task_scheduled_event_attributes
            if begun.activity_type.name not in (_TURN, _JUDGING):
                continue
            turn = await _turn_of(client, event) if begun.activity_type.name == _TURN else None
            scheduled[event.event_id] = turn
            found.setdefault(turn, ResetPoint(run_id, begun.workflow_task_completed_event_id, turn))
        elif event.event_type in _ENDED_BADLY:
            failed = event.activity_task_failed_event_attributes.scheduled_event_id
            timed_out = event.activity_task_timed_out_event_attributes.scheduled_event_id
            if (failed or timed_out) in scheduled:
                turn = scheduled[failed or timed_out]
                found[turn] = ResetPoint(run_id, found[turn].event_id, turn, has_failed=True)
    return list(found.values())


async def _turn_of(client: Client, event: HistoryEvent) -> int:
    """The turn's number, from the activity's summary (``turn 5``, ``turn 5 · try 2``)."""
    (summary,) = await client.data_converter.decode([event.user_metadata.summary], [str])
    return int(str(summary).split()[1])


def choose(points: list[ResetPoint], from_turn: int | None, from_judging: bool) -> ResetPoint:
    """The point that was asked for; without a wish, the last that failed, else the judging.

    Raises:
        UsageError: the assessment has no such point; the message says which it has.
    """
    if not points:
        raise UsageError("this assessment has played no turn yet: nothing to go back to")
    by_turn = {point.turn: point for point in points}
    played = [point.turn for point in points if point.turn is not None]
    if from_turn is not None:
        if from_turn not in by_turn:
            raise UsageError(
                f"--from-turn {from_turn}: this assessment has played turns {min(played)} to {max(played)}"
            )
        return by_turn[from_turn]
    if from_judging:
        if None not in by_turn:
            raise UsageError("--from-judging: this assessment has not come to its judging")
        return by_turn[None]
    failed = [point for point in points if point.has_failed]
    return failed[-1] if failed else points[-1]


async def reset(client: Client, task_id: str, point: ResetPoint) -> str:
    """Reset an assessment; what runs of it is ended, and a new run goes on from there.

    Returns:
        The new run's id.
    """
    answer = await client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=task_id, run_id=point.run_id),
            reason=f"proctor replay from {point.name}",
            workflow_task_finish_event_id=point.event_id,
            request_id=f"replay-{point.run_id}-{point.event_id}",
        )
    )
    return answer.run_id
