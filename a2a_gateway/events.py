"""An assessment's updates and its end as A2A stream events."""

from collections.abc import Iterator
from datetime import UTC, datetime

from a2a.types import Message, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent

from a2a_gateway.parts import agent_message, data_parts, text_part
from a2a_gateway.subscriptions import Update
from a2a_gateway.tasks import standing_message
from proctor_protocol.campaigns import parse_any_update, sentence_of


def update_event(task: Task, update: Update) -> TaskStatusUpdateEvent:
    """One update: state working, and its message. ``metadata.sequence`` is the message's."""
    status = update_status(task, update)
    return TaskStatusUpdateEvent(
        task_id=task.id, context_id=task.context_id, status=status, metadata=status.message.metadata
    )


def update_status(task: Task, update: Update) -> TaskStatus:
    """What the task's status is by an update, with the time at which that was recorded."""
    return TaskStatus(
        state=TaskState.TASK_STATE_WORKING,
        message=update_message(task, update),
        timestamp=update.recorded_at or datetime.now(UTC),
    )


def update_message(task: Task, update: Update) -> Message:
    """One update as a message, made once for all listeners: one sentence as text, the structured update as a data part.

    ``metadata.sequence`` is the update's place in its task, from 0; the same update has the same number and message
    id for every listener. ``metadata.recorded_at`` is when the workflow published it.
    """
    if (message := update.made.get(task.id)) is None:
        message = update.made[task.id] = _make_message(task, update)
    copy = Message()
    copy.CopyFrom(message)
    return copy


def _make_message(task: Task, update: Update) -> Message:
    message = agent_message(
        f"{task.id}-{update.sequence}",
        task.id,
        task.context_id,
        [text_part(_sentence(update)), *data_parts(update.data)],
    )
    message.metadata["sequence"] = update.sequence
    if update.recorded_at:
        message.metadata["recorded_at"] = update.recorded_at.isoformat()
    return message


def waiting_event(task: Task, state: TaskState, why: str) -> TaskStatusUpdateEvent:
    """The task waits. This event is not an update of the assessment.

    Args:
        state: its state, which stays.

    Returns:
        An event without a sequence number.
    """
    status = TaskStatus(state=state, message=standing_message(task, why), timestamp=datetime.now(UTC))
    return TaskStatusUpdateEvent(task_id=task.id, context_id=task.context_id, status=status)


def closing_events(task: Task) -> Iterator[TaskArtifactUpdateEvent | TaskStatusUpdateEvent]:
    """What ends a stream: the artifact where there is one, then the terminal status."""
    for artifact in task.artifacts:
        yield TaskArtifactUpdateEvent(
            task_id=task.id, context_id=task.context_id, artifact=artifact, append=False, last_chunk=True
        )
    yield TaskStatusUpdateEvent(task_id=task.id, context_id=task.context_id, status=task.status, metadata=task.metadata)


def _sentence(update: Update) -> str:
    try:
        return sentence_of(parse_any_update(update.data))
    except ValueError:  # a worker that is newer than this gateway has updates that it can't put into words
        return f"{update.data.get('message_type', 'An update')}."
