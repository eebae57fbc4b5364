"""Notes of an attempt for the attempts that follow, such as the tasks that the participant may still work on. They
outlive it: the next attempt has them, the workflow gets them with a failure, and Temporal keeps those of ended runs. A
participant of protocol 0.3 can't be asked for its tasks, so its old ones can be canceled by these notes only.
"""

from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, TypeAdapter
from temporalio import activity
from temporalio.api.enums.v1 import PendingActivityState
from temporalio.client import WorkflowExecutionStatus, WorkflowHandle
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.exceptions import TimeoutError as ActivityTimeoutError
from temporalio.service import RPCError

from activities.attempts import failures, heartbeats
from activities.plan import Model
from proctor_protocol.results import Clarification

_LEFT = "tasks left"
_MOST_RUNS = 20
"""How many runs that came before are asked for, the last ones first."""

_CALLED_OFF = PendingActivityState.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED


class MarkNote(Model):
    """The simulation was marked: from then on the participant may have been asked. An attempt that was stopped, and
    marks a simulator that has lost all, makes another mark, which is not taken for this one.
    """

    kind: Literal["mark"] = "mark"
    mark: str


class TaskNote(Model):
    kind: Literal["task"] = "task"
    task_id: str


class WaitNote(Model):
    """The step had to wait for a worker; the participant isn't charged for that time."""

    kind: Literal["wait"] = "wait"
    seconds: float


class SpentNote(Model):
    """The attempt has used some of the time that all attempts have together."""

    kind: Literal["spent"] = "spent"
    what: str
    seconds: float


class BeginNote(Model):
    kind: Literal["begin"] = "begin"
    at: datetime


class ClarificationNote(Model):
    """The participant is sent a clarification. Notes that follow this one were made later."""

    kind: Literal["clarification"] = "clarification"
    clarification: Clarification


Note = MarkNote | TaskNote | WaitNote | SpentNote | BeginNote | ClarificationNote

_NOTES = TypeAdapter(list[Annotated[Note, Field(discriminator="kind")]])

T = TypeVar("T", bound=Note)


def note(made: Note) -> None:
    heartbeats.note(made.model_dump(mode="json"))


async def note_task(task_id: str | None) -> None:
    """Note a task, where there is one, and wait until Temporal has the note: after a reset, nothing else may tell of
    the task.
    """
    if task_id and task_id not in noted_tasks():
        note(TaskNote(task_id=task_id))
        await heartbeats.reach_temporal()


def noted(kind: type[T]) -> list[T]:
    """The notes of this kind that attempts of this step have made, the earliest first."""
    return _of_kind(_NOTES.validate_python(heartbeats.notes()), kind)


def has_task_after(clarification: Clarification) -> bool:
    """Whether the participant is known to have begun a task after it was sent a clarification."""
    notes: list[Note] = _NOTES.validate_python(heartbeats.notes())
    sent = ClarificationNote(clarification=clarification)
    return sent in notes and bool(_of_kind(notes[notes.index(sent) :], TaskNote))


def noted_tasks() -> list[str]:
    """The participant's tasks that attempts of this step were given."""
    return [each.task_id for each in noted(TaskNote)]


def with_tasks(problem: ApplicationError) -> ApplicationError:
    """The same failure of a step, which says what tasks the participant may still be at."""
    tasks = noted_tasks()
    return failures.altered(problem, {_LEFT: tasks}) if tasks else problem


def tasks_left_by(problem: ActivityError) -> list[str]:
    """The tasks that a step has left the participant at, which failed or whose workers were lost; for workflows."""
    cause = problem.cause
    if isinstance(cause, ActivityTimeoutError):
        return _tasks_in(list(cause.last_heartbeat_details))
    details = cause.details if isinstance(cause, ApplicationError) else ()
    return [task for detail in details if isinstance(detail, dict) for task in detail.get(_LEFT, ())]


async def tasks_called_off() -> list[str]:
    """Tasks of attempts of this run that were called off and have not ended yet.

    An attempt hears that it is called off at its next heartbeat, or never, if its worker has just died.
    """
    return await _tasks_under_way(_own_run(), only_called_off=True)


async def has_run_ended() -> bool:
    """Whether this attempt's run is over, as one that was reset or terminated is: its result is no longer awaited."""
    described = await _own_run().describe()
    return described.status != WorkflowExecutionStatus.RUNNING


async def tasks_of_earlier_runs() -> list[str]:
    """Tasks of attempts that were under way when an earlier run of this assessment ended: it was reset."""
    info, client = activity.info(), activity.client()
    tasks: list[str] = []
    with suppress(RPCError):
        async for run in client.list_workflows(f"WorkflowId = '{info.workflow_id}'", limit=_MOST_RUNS):
            if run.run_id != info.workflow_run_id:
                tasks += await _tasks_under_way(client.get_workflow_handle(run.id, run_id=run.run_id))
    return tasks


def _own_run() -> WorkflowHandle[Any, Any]:
    info = activity.info()
    return activity.client().get_workflow_handle(info.workflow_id or "", run_id=info.workflow_run_id)


async def _tasks_under_way(run: WorkflowHandle[Any, Any], *, only_called_off: bool = False) -> list[str]:
    described = await run.describe()
    converter = activity.client().data_converter
    return _tasks_in(
        [
            note
            for pending in described.raw_description.pending_activities
            if pending.state == _CALLED_OFF or not only_called_off
            for note in await converter.decode(list(pending.heartbeat_details.payloads))
        ]
    )


def _tasks_in(details: list[Any]) -> list[str]:
    return [each.task_id for each in _of_kind(_NOTES.validate_python(details), TaskNote)]


def _of_kind(notes: list[Note], kind: type[T]) -> list[T]:
    return [each for each in notes if isinstance(each, kind)]
