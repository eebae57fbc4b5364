"""Tasks that a participant was given and may still be at, known to those who come after whoever gave them.

An attempt notes each task that it is given (``heartbeats.note``), beside the mark that it made. What is noted outlives
the attempt: the next one has it; a step that failed hands it to the workflow, with its failure; and Temporal keeps it
of runs that were ended by a reset. A participant of protocol 1.0 can also be asked what it is at. One of 0.3 can't, so
these notes are all there is to have its old tasks canceled by.
"""

from contextlib import suppress
from typing import Any

from temporalio import activity
from temporalio.api.enums.v1 import PendingActivityState
from temporalio.client import WorkflowExecutionStatus, WorkflowHandle
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.exceptions import TimeoutError as ActivityTimeoutError
from temporalio.service import RPCError

from activities.attempts import heartbeats
from proctor_protocol.results import Clarification

_MARKED = "marked: "
"""Before the mark, in the note that the simulation was marked: from then on the participant may have been told. Who was
stopped, and marks a simulator that has lost all, makes another mark, which is not taken for this one.
"""

_WAITED = "waited: "
"""Before the seconds that the step had to wait for a worker: none of the participant's time."""

_CLARIFIED = "clarified: "
"""Before the JSON of a clarification that the participant is given: what comes after it in the notes came later."""

_LEFT = "tasks left"
_MOST_RUNS = 20
"""How many runs that came before are asked for, the last ones first."""

_CALLED_OFF = PendingActivityState.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED


def note_mark(mark: str) -> None:
    """Note that the simulation has this mark."""
    heartbeats.note(f"{_MARKED}{mark}")


def note_task(task_id: str) -> None:
    """Note a task that the participant is at for this step."""
    heartbeats.note(task_id)


def note_wait(seconds: float) -> None:
    """Note how long the step had to wait for its first attempt."""
    heartbeats.note(f"{_WAITED}{seconds}")


def note_clarification(clarification: Clarification) -> None:
    """Note that the participant is given a clarification."""
    heartbeats.note(f"{_CLARIFIED}{clarification.model_dump_json()}")


def noted_clarifications() -> list[Clarification]:
    """The clarifications that attempts of this step have given the participant."""
    return [
        Clarification.model_validate_json(note.removeprefix(_CLARIFIED))
        for note in heartbeats.notes()
        if note.startswith(_CLARIFIED)
    ]


def has_task_after(clarification: Clarification) -> bool:
    """Whether the participant is known to have begun a task after it was given a clarification."""
    notes = heartbeats.notes()
    given = f"{_CLARIFIED}{clarification.model_dump_json()}"
    return given in notes and bool(_tasks_in(notes[notes.index(given) :]))


def noted_wait() -> float:
    """How long the step had to wait for its first attempt, in seconds, as that has noted it; else 0."""
    waits = [note.removeprefix(_WAITED) for note in heartbeats.notes() if note.startswith(_WAITED)]
    return float(waits[-1]) if waits else 0.0


def noted_mark() -> str | None:
    """The last mark that attempts of this step have noted."""
    marks = [note.removeprefix(_MARKED) for note in heartbeats.notes() if note.startswith(_MARKED)]
    return marks[-1] if marks else None


def noted_tasks() -> list[str]:
    """The participant's tasks that attempts of this step were given."""
    return _tasks_in(heartbeats.notes())


def with_tasks(problem: ApplicationError) -> ApplicationError:
    """The same failure of a step, which says what tasks the participant may still be at."""
    if not noted_tasks():
        return problem
    return ApplicationError(
        problem.message,
        *problem.details,
        {_LEFT: noted_tasks()},
        type=problem.type,
        non_retryable=problem.non_retryable,
        category=problem.category,
    )


def tasks_left_by(problem: ActivityError) -> list[str]:
    """The tasks that a step has left the participant at, which failed or whose workers were lost; for workflows."""
    cause = problem.cause
    if isinstance(cause, ActivityTimeoutError):
        return _tasks_in([str(note) for note in cause.last_heartbeat_details])
    details = cause.details if isinstance(cause, ApplicationError) else ()
    return [task for detail in details if isinstance(detail, dict) for task in detail.get(_LEFT, ())]


async def tasks_called_off() -> list[str]:
    """Tasks of attempts of this run that were called off and have not ended yet.

    An attempt hears that it is called off at its next heartbeat, or never, if its worker has just died.
    """
    return await _tasks_under_way(_own_run(), only_called_off=True)


async def has_run_ended() -> bool:
    """Whether this attempt's run is over, as one that was reset or terminated is: nobody waits for it any more."""
    described = await _own_run().describe()
    return described.status != WorkflowExecutionStatus.RUNNING


async def tasks_of_earlier_runs() -> list[str]:
    """Tasks of attempts that were under way when an earlier run of this assessment ended: it was reset."""
    info, client = activity.info(), activity.client()
    found: list[str] = []
    with suppress(RPCError):
        async for run in client.list_workflows(f"WorkflowId = '{info.workflow_id}'", limit=_MOST_RUNS):
            if run.run_id != info.workflow_run_id:
                found += await _tasks_under_way(client.get_workflow_handle(run.id, run_id=run.run_id))
    return found


def _own_run() -> WorkflowHandle[Any, Any]:
    info = activity.info()
    return activity.client().get_workflow_handle(info.workflow_id or "", run_id=info.workflow_run_id)


async def _tasks_under_way(run: WorkflowHandle[Any, Any], *, only_called_off: bool = False) -> list[str]:
    described = await run.describe()
    converter = activity.client().data_converter
    return _tasks_in(
        [
            str(note)
            for pending in described.raw_description.pending_activities
            if pending.state == _CALLED_OFF or not only_called_off
            for note in await converter.decode(list(pending.heartbeat_details.payloads))
        ]
    )


def _tasks_in(notes: list[str]) -> list[str]:
    return [note for note in notes if not note.startswith((_MARKED, _WAITED, _CLARIFIED))]
