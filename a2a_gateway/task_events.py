"""All events of a task in A2A form, for streams and webhooks.

The sequence starts with the task, continues with every update, and ends with the artifact and the terminal status.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Literal

from a2a.compat.v0_3.conversions import to_compat_task
from a2a.server.events import Event
from a2a.types import Task, TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent
from a2a.utils.errors import TaskNotFoundError
from a2a.utils.proto_utils import to_stream_response
from google.protobuf.json_format import MessageToDict
from temporalio.client import Client
from temporalio.service import RPCError

from proctor.a2a_gateway.answers import Answers
from proctor.a2a_gateway.events import closing_events, update_event, waiting_event
from proctor.a2a_gateway.shared_events import SharedEvent
from proctor.a2a_gateway.standstill import LOOK_SECONDS, explain_standstill, or_silence
from proctor.a2a_gateway.subscriptions import Subscriptions
from proctor.a2a_gateway.tasks import find_assessment, is_closed, read_task
from proctor.a2a_gateway.temporal import TemporalConnection, temporal_errors
from proctor.settings.config import GreenAgentConfig
from proctor.workflows.inputs import Notification

_END = 2**40
"""The number of the artifact's notification. It is higher than the numbers of all updates."""


class TaskEvents:
    def __init__(self, config: GreenAgentConfig, connection: TemporalConnection) -> None:
        self._config = config
        self._connection = connection
        self.subscriptions = Subscriptions(connection)
        self.answers = Answers()

    @classmethod
    def from_client(cls, config: GreenAgentConfig, client: Client) -> "TaskEvents":
        """Build the events' source for a process that already has its connection to Temporal."""

        async def connected() -> Client:
            return client

        return cls(config, TemporalConnection(connected))

    async def read_task(self, task_id: str) -> Task:
        """Return the task as it is now.

        Raises:
            TaskNotFoundError: there is no such task.
            InternalError: Temporal or the store doesn't answer.
        """
        with temporal_errors(task_id):
            client = await self._connection.connect()
            execution = await find_assessment(client, task_id)
            if not is_closed(execution):
                return await read_task(client, execution, self._config)
            key = (execution.id, execution.run_id, False)
            return await self.answers.keep(key, lambda: read_task(client, execution, self._config))

    async def follow(self, task: Task) -> AsyncGenerator[SharedEvent]:
        """Yield the events after the task itself, until its end."""
        with temporal_errors(task.id):
            async with self.subscriptions.listen(task.id) as reader:
                reason_sent, state = "", task.status.state
                async for update in or_silence(reader.updates(), self.subscriptions.slowed(LOOK_SECONDS)):
                    if update is not None:
                        reason_sent, state = "", TaskState.TASK_STATE_WORKING
                        yield update_event(task, update)
                        continue
                    why = await self.answers.ask(("why", task.id), partial(self._why_it_waits, task.id))
                    if why and why != reason_sent:
                        reason_sent = why
                        yield waiting_event(task, state, why)
                for event in await reader.end(partial(self._closing_events, task.id)):
                    yield event

    async def _closing_events(self, task_id: str) -> list[SharedEvent]:
        return closing_events(await self.read_task(task_id))

    async def _why_it_waits(self, task_id: str) -> str | None:
        with suppress(RPCError, TaskNotFoundError):  # while Temporal is away, the reader of updates reports it
            client = await self._connection.connect()
            return await explain_standstill(await find_assessment(client, task_id), client, self._config)
        return None

    async def notifications(self, task_id: str, protocol: Literal["1.0", "0.3"]) -> AsyncGenerator[Notification]:
        """Yield all notifications of a task for a webhook.

        In protocol 1.0 each notification is a ``StreamResponse``, as in a2a-sdk's own sender. In 0.3 each is the task
        with its new status; the last notification has the artifact.
        """
        task = await self.read_task(task_id)
        del task.artifacts[:]
        task.status.CopyFrom(TaskStatus(state=TaskState.TASK_STATE_SUBMITTED))
        number = -1
        yield Notification(number, _body(task, task, protocol))
        async with aclosing(self.follow(task)) as events:
            async for shared in events:
                event = shared.event
                if isinstance(event, TaskArtifactUpdateEvent):
                    task.artifacts.append(event.artifact)
                    if protocol == "1.0":
                        yield Notification(_END, _body(task, event, protocol))
                elif isinstance(event, TaskStatusUpdateEvent):
                    task.status.CopyFrom(event.status)
                    sequence = MessageToDict(event.metadata).get("sequence")
                    if event.status.state not in (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING):
                        number = _END + 1
                    elif sequence is not None:  # otherwise the event explains a wait between two updates
                        number = int(sequence)
                    yield Notification(number, _body(task, event, protocol))


def _body(task: Task, event: Event, protocol: Literal["1.0", "0.3"]) -> dict[str, Any]:
    if protocol == "0.3":
        compat: dict[str, Any] = to_compat_task(task).model_dump(mode="json", by_alias=True, exclude_none=True)
        return compat
    body: dict[str, Any] = MessageToDict(to_stream_response(event))
    return body
