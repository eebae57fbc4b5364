"""An assessment's updates and its end as A2A stream events."""

from datetime import UTC, datetime

from a2a.types import Message, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent

from proctor.a2a_gateway.parts import agent_message, data_parts, text_part
from proctor.a2a_gateway.shared_events import SharedEvent
from proctor.a2a_gateway.subscriptions import Update
from proctor.a2a_gateway.tasks import standing_message
from proctor.protocol.campaigns import describe_update, parse_any_update


def update_event(task: Task, update: Update) -> SharedEvent:
    """Return an update as an event: the state "working", and the update's message. The event's ``metadata.sequence`` is
    that of the message.
    """
    if (event := update.made.get(task.id)) is None:
        status = update_status(task, update)
        event = update.made[task.id] = SharedEvent(
            TaskStatusUpdateEvent(
                task_id=task.id, context_id=task.context_id, status=status, metadata=status.message.metadata
            )
        )
    return event


def update_status(task: Task, update: Update) -> TaskStatus:
    """Return the task's status after an update, with the update's time of recording."""
    return TaskStatus(
        state=TaskState.TASK_STATE_WORKING,
        message=update_message(task, update),
        timestamp=update.recorded_at or datetime.now(UTC),
    )


def update_message(task: Task, update: Update) -> Message:
    """Return an update as a message: one sentence as text, the structured update as a data part.

    ``metadata.sequence`` is the update's number in its task, from 0. The same update has the same number and message id
    for every listener. ``metadata.recorded_at`` is the time at which the workflow published it.
    """
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


def waiting_event(task: Task, state: TaskState, why: str) -> SharedEvent:
    """Return an event that explains a wait. It is not an update of the assessment and has no sequence number.

    Args:
        state: the task's state, which stays the same.
    """
    status = TaskStatus(state=state, message=standing_message(task, why), timestamp=datetime.now(UTC))
    return SharedEvent(TaskStatusUpdateEvent(task_id=task.id, context_id=task.context_id, status=status))


def closing_events(task: Task) -> list[SharedEvent]:
    """Return the end of a stream: the artifact if there is one, then the terminal status."""
    artifacts = [
        TaskArtifactUpdateEvent(
            task_id=task.id, context_id=task.context_id, artifact=artifact, append=False, last_chunk=True
        )
        for artifact in task.artifacts
    ]
    end = TaskStatusUpdateEvent(task_id=task.id, context_id=task.context_id, status=task.status, metadata=task.metadata)
    return [*map(SharedEvent, artifacts), SharedEvent(end)]


def _sentence(update: Update) -> str:
    try:
        return describe_update(parse_any_update(update.data))
    except ValueError:  # a newer worker has updates that this gateway can't put into words
        return f"{update.data.get('message_type', 'An update')}."
