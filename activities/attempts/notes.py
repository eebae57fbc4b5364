"""Notes of an attempt for later attempts, such as the tasks that the participant may still work on.

Notes outlive their attempt. The next attempt has them, the workflow gets them with a failure, and Temporal keeps those
of ended runs. A participant of protocol 0.3 can't list its tasks, so only these notes let us cancel its old tasks.
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

from proctor.activities.attempts import failures, heartbeats
from proctor.activities.plan import Model
from purple_sdk.protocol.results import Clarification

_LEFT = "tasks left"
_MOST_RUNS = 20
"""How many earlier runs are read, beginning with the last one."""

_CALLED_OFF = PendingActivityState.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED


class MarkNote(Model):
    """The simulation was marked. Since then, the participant may have been asked to play. A stopped attempt may wake up
    and mark a simulator that has lost all data. That mark differs from the noted mark.
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
    """The time that an attempt has used of a limit for all attempts together."""

    kind: Literal["spent"] = "spent"
    what: str
    seconds: float


class BeginNote(Model):
    kind: Literal["begin"] = "begin"
    at: datetime


class ClarificationNote(Model):
    """A clarification is sent to the participant. Notes that follow this note are later than the clarification."""

    kind: Literal["clarification"] = "clarification"
    clarification: Clarification


Note = MarkNote | TaskNote | WaitNote | SpentNote | BeginNote | ClarificationNote

_NOTES = TypeAdapter(list[Annotated[Note, Field(discriminator="kind")]])

T = TypeVar("T", bound=Note)


def note(made: Note) -> None:
    heartbeats.note(made.model_dump(mode="json"))


async def note_task(task_id: str | None) -> None:
    """Note a task, unless ``task_id`` is None, and wait until Temporal has the note. After a reset, only the note names
    the task.
    """
    if task_id and task_id not in noted_tasks():
        note(TaskNote(task_id=task_id))
        await heartbeats.reach_temporal()


def noted(kind: type[T]) -> list[T]:
    """Return the notes of this kind that attempts of this step left, the earliest first."""
    return _of_kind(_NOTES.validate_python(heartbeats.notes()), kind)


def has_task_after(clarification: Clarification) -> bool:
    """Return whether the participant is known to have begun a task after a clarification."""
    notes: list[Note] = _NOTES.validate_python(heartbeats.notes())
    sent = ClarificationNote(clarification=clarification)
    return sent in notes and bool(_of_kind(notes[notes.index(sent) :], TaskNote))


def noted_tasks() -> list[str]:
    """Return the ids of tasks that the participant made for attempts of this step."""
    return [note.task_id for note in noted(TaskNote)]


def with_tasks(problem: ApplicationError) -> ApplicationError:
    """Return the same failure with the tasks that the participant may still be working on."""
    tasks = noted_tasks()
    return failures.altered(problem, {_LEFT: tasks}) if tasks else problem


def find_unfinished_tasks(problem: ActivityError) -> list[str]:
    """Return the participant's tasks that a failed step left open, even if the step's workers were lost. For
    workflows.
    """
    cause = problem.cause
    if isinstance(cause, ActivityTimeoutError):
        return _read_tasks(list(cause.last_heartbeat_details))
    details = cause.details if isinstance(cause, ApplicationError) else ()
    return [task for detail in details if isinstance(detail, dict) for task in detail.get(_LEFT, ())]


async def tasks_called_off() -> list[str]:
    """Return the participant's tasks of cancelled attempts of this run that have not ended yet. An attempt learns of
    its cancellation at its next heartbeat, or never if its worker has just died.
    """
    return await _tasks_under_way(_own_run(), only_called_off=True)


async def has_run_ended() -> bool:
    """Return whether this attempt's run has ended, for example by a reset. The result of such an attempt is ignored."""
    described = await _own_run().describe()
    return described.status != WorkflowExecutionStatus.RUNNING


async def tasks_of_earlier_runs() -> list[str]:
    """Return the participant's tasks of attempts that were running when an earlier run of this assessment was reset."""
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
    return _read_tasks(
        [
            note
            for pending in described.raw_description.pending_activities
            if pending.state == _CALLED_OFF or not only_called_off
            for note in await converter.decode(list(pending.heartbeat_details.payloads))
        ]
    )


def _read_tasks(details: list[Any]) -> list[str]:
    return [task_note.task_id for task_note in _of_kind(_NOTES.validate_python(details), TaskNote)]


def _of_kind(notes: list[Note], kind: type[T]) -> list[T]:
    return [attempt_note for attempt_note in notes if isinstance(attempt_note, kind)]
