"""The A2A methods, implemented directly with Temporal."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.request_handlers.request_handler import RequestHandler, validate_request_params
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    InternalError,
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a.utils.task import apply_history_length, validate_history_length
from temporalio.client import Client, WorkflowExecution
from temporalio.service import RPCError, RPCStatusCode

from proctor.a2a_gateway.archived import ArchivedTasks
from proctor.a2a_gateway.auth.middleware import CallerUser
from proctor.a2a_gateway.auth.quotas import Allowance
from proctor.a2a_gateway.events import update_message, update_status
from proctor.a2a_gateway.legacy import detect_protocol
from proctor.a2a_gateway.listing import list_tasks
from proctor.a2a_gateway.output_modes import EVERYTHING, read_output_modes
from proctor.a2a_gateway.parts import check_message, extract_request
from proctor.a2a_gateway.request_checks import WITHOUT_HISTORY
from proctor.a2a_gateway.starting import Started, start_assessment
from proctor.a2a_gateway.streams import stream
from proctor.a2a_gateway.subscriptions import Update
from proctor.a2a_gateway.task_events import TaskEvents
from proctor.a2a_gateway.tasks import (
    find_own,
    is_closed,
    read_task,
    submitted_task,
    wait_until_closed,
)
from proctor.a2a_gateway.temporal import RPC_TIMEOUT, TemporalConnection, temporal_errors
from proctor.a2a_gateway.webhooks import Webhooks, checked
from proctor.protocol.callers import Caller
from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol.request import find_base_tasks

CANCEL_WAIT = 10.0
"""Seconds that ``CancelTask`` waits for the assessment to end before it answers with the current task."""


class AssessmentHandler(RequestHandler):
    """Converts requests to workflows, and workflows to tasks. Its only state is the list of the streams' listeners."""

    def __init__(self, config: GreenAgentConfig, connection: TemporalConnection) -> None:
        self._config = config
        self._connection = connection
        self._task_events = TaskEvents(config, connection)
        self._webhooks = Webhooks(config, connection)
        self._archive = ArchivedTasks(config)
        self._allowance = Allowance(config)

    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Task | Message:
        """Start an assessment; answer when it has ended, or at once with ``return_immediately``."""
        modes = read_output_modes(params.configuration.accepted_output_modes)
        started = await self._start(params, context)
        if params.configuration.return_immediately:
            task = await self._first_task(started)
        else:
            with temporal_errors(started.task_id):
                await wait_until_closed(await self._connection.connect(), started.task_id)
            task = await self._task_events.read_task(started.task_id)
        return modes.tailor_task(_with_history(task, params.configuration, context))

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """Start an assessment and stream it: the task, every update, the artifact, the terminal status.

        A repeated message gets the same stream again, from the start.
        """
        modes = read_output_modes(params.configuration.accepted_output_modes)
        started = await self._start(params, context)
        task = await self._first_task(started)
        task.status.Clear()
        task.status.state = TaskState.TASK_STATE_SUBMITTED
        task.ClearField("artifacts")
        first = modes.tailor_task(_with_history(task, params.configuration, context))
        async for event in stream(first, self._task_events.follow(task), context, modes):
            yield event

    @validate_request_params
    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task | None:
        """Return the task as it is now, with the artifact if there is one. A running task's status has its last update,
        or explains why it waits.

        If the caller names a history length, the history includes the updates: a caller who polls sees as much as one
        who streams. The updates of a running task come from a worker; without one, the task has only its state. The
        updates of an ended task come from the archive, which also has tasks that Temporal has forgotten.
        """
        validate_history_length(params)
        caller, length = find_caller(context), params.history_length
        with temporal_errors(params.id):
            key = (params.id, length, caller.name, caller.is_admin)
            answers = self._task_events.answers
            shared = await answers.ask(key, lambda: self._read_current(params.id, length, caller), context)
        (task := Task()).CopyFrom(shared)
        return _with_history(task, params, context)

    async def _read_current(self, task_id: str, length: int, caller: Caller) -> Task:
        client = await self._connection.connect()
        try:
            execution = await find_own(client, task_id, caller)
        except RPCError as error:
            return await self._read_archived(task_id, length, caller, error)
        if not is_closed(execution):
            return await self._read_running(client, execution, length)
        key = (execution.id, execution.run_id, length > 0)
        return await self._task_events.answers.keep(key, lambda: self._read_ended(client, execution, length))

    async def _read_ended(self, client: Client, execution: WorkflowExecution, length: int) -> Task:
        task = await read_task(client, execution, self._config)
        updates = await self._all_updates(execution) if length else []
        task.history.extend(update_message(task, update) for update in updates)
        return task

    async def _read_running(self, client: Client, execution: WorkflowExecution, length: int) -> Task:
        task = await read_task(client, execution, self._config)
        has_message = task.status.HasField("message")
        wanted = length or (0 if has_message else 1)
        updates = await self._task_events.subscriptions.read_latest(task.id, wanted) if wanted else []
        if updates and not has_message:
            state = task.status.state
            task.status.CopyFrom(update_status(task, updates[-1]))
            task.status.state = state
        if length:
            task.history.extend(update_message(task, update) for update in updates)
        return task

    async def _read_archived(self, task_id: str, length: int, caller: Caller, problem: RPCError) -> Task:
        """Return a task that Temporal doesn't know. Raises ``problem`` if the archive doesn't know it either."""
        is_forgotten = problem.status == RPCStatusCode.NOT_FOUND
        entry = await self._archive.entry(task_id, caller=caller) if is_forgotten else None
        if entry is None:
            raise problem

        async def read() -> Task:
            task = await self._archive.task(entry)
            updates = await self._archive.updates(entry) if length else []
            task.history.extend(update_message(task, update) for update in updates)
            return task

        return await self._task_events.answers.keep((entry.id, entry.run_id, entry.fence, length > 0), read)

    async def _all_updates(self, execution: WorkflowExecution) -> list[Update]:
        with suppress(InternalError):  # the entry is damaged: Temporal has the updates, too
            if entry := await self._archive.entry(execution.id, execution.run_id):
                return await self._archive.updates(entry)
        return await self._task_events.subscriptions.read_all(execution.id)

    async def on_list_tasks(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        with temporal_errors():
            return await list_tasks(await self._connection.connect(), params, self._config, find_caller(context))

    @validate_request_params
    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task | None:
        """Cancel an assessment and wait until it has ended, at most ``CANCEL_WAIT`` seconds."""
        with temporal_errors(params.id):
            client = await self._connection.connect()
            if is_closed(await find_own(client, params.id, find_caller(context))):
                raise _not_cancelable(params.id)
            try:
                await client.get_workflow_handle(params.id).cancel(rpc_timeout=RPC_TIMEOUT)
            except RPCError as error:
                if error.status == RPCStatusCode.NOT_FOUND:  # the assessment has ended between the two calls
                    raise _not_cancelable(params.id) from None
                raise
            with suppress(TimeoutError):
                await asyncio.wait_for(wait_until_closed(client, params.id), CANCEL_WAIT)
        return await self._task_events.read_task(params.id)

    @validate_request_params
    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """Yield the task as it is now, then every update from the first one, the artifact and the terminal status.

        After a lost connection, ``metadata.sequence`` shows the caller which updates it has already seen.
        """
        with temporal_errors(params.id):
            client = await self._connection.connect()
            caller = find_caller(context)
            try:
                execution = await find_own(client, params.id, caller)
            except RPCError as error:
                is_forgotten = error.status == RPCStatusCode.NOT_FOUND
                if not is_forgotten or await self._archive.entry(params.id, caller=caller) is None:
                    raise
                execution = None
            if execution is None or is_closed(execution):
                raise UnsupportedOperationError(
                    f"Task {params.id} has ended, so there is nothing to subscribe to: get the task instead."
                )
            task = await read_task(client, execution, self._config)
        async for event in stream(task, self._task_events.follow(task), context, EVERYTHING):
            yield event

    @validate_request_params
    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Register a webhook, which gets all updates from the first one on. It replaces a webhook with the same id."""
        await self._require_own(params.task_id, context)
        with temporal_errors():
            return await self._webhooks.register(params.task_id, await checked(params, detect_protocol(context)))

    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Return one of a task's webhooks, without its secrets."""
        await self._require_own(params.task_id, context)
        with temporal_errors():
            return await self._webhooks.get(params.task_id, params.id)

    @validate_request_params
    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        """Return all of a task's webhooks, without their secrets; there are few, so all are on one page."""
        await self._require_own(params.task_id, context)
        with temporal_errors():
            return ListTaskPushNotificationConfigsResponse(configs=await self._webhooks.list_all(params.task_id))

    @validate_request_params
    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Stop sending to a webhook. A webhook that doesn't exist counts as deleted."""
        await self._require_own(params.task_id, context)
        with temporal_errors():
            await self._webhooks.delete(params.task_id, params.id)

    async def _require_own(self, task_id: str, context: ServerCallContext) -> None:
        with temporal_errors(task_id):
            await find_own(await self._connection.connect(), task_id, find_caller(context))

    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        """Refuse: there is no extended card."""
        raise UnsupportedOperationError("This agent has no extended card: its public card says all.")

    async def _start(self, params: SendMessageRequest, context: ServerCallContext) -> Started:
        """Start or join the assessment that a message asks for.

        The workflow checks the request, so only one place knows which requests are valid. This method checks only A2A's
        own requirements.
        """
        validate_history_length(params.configuration)
        message, caller = params.message, find_caller(context)
        check_message(message)
        webhook = None
        if params.configuration.HasField("task_push_notification_config"):
            webhook = await checked(params.configuration.task_push_notification_config, detect_protocol(context))
        if message.task_id:
            raise await self._why_no_second_message(message.task_id, caller)
        await self._check_references(extract_request(message), caller)
        with temporal_errors():
            client = await self._connection.connect()
            started = await start_assessment(client, message, self._config.task_queue, caller, self._allowance)
            if webhook is not None:
                await self._webhooks.register(started.task_id, webhook)
            return started

    async def _check_references(self, request: dict[str, Any] | str | None, caller: Caller) -> None:
        """Refuse a request that builds on another caller's task, as if the task didn't exist.

        Callers who may see everything get the workflow's own answer.
        """
        for setting, task_id in ({} if caller.is_admin else find_base_tasks(request)).items():
            try:
                with temporal_errors(task_id):
                    await find_own(await self._connection.connect(), task_id, caller)
            except TaskNotFoundError:
                if await self._archive.entry(task_id, caller=caller) is None:
                    raise InvalidParamsError(
                        f"config.{setting} is {task_id[:255]!r}: there is no such task, so nothing can build on it."
                    ) from None

    async def _why_no_second_message(self, task_id: str, caller: Caller) -> UnsupportedOperationError:
        with temporal_errors(task_id):
            ended = is_closed(await find_own(await self._connection.connect(), task_id, caller))
        state = "has ended" if ended else "is under way and takes no more messages"
        return UnsupportedOperationError(
            f"Task {task_id} {state}: send a new message without taskId to start another assessment."
        )

    async def _first_task(self, started: Started) -> Task:
        if started.joined:
            return await self._task_events.read_task(started.task_id)
        return submitted_task(started.task_id, started.message, self._config)


def find_caller(context: ServerCallContext) -> Caller:
    """Return the caller that the middleware found; an anonymous one without the middleware."""
    return context.user.caller if isinstance(context.user, CallerUser) else Caller()


def _with_history(task: Task, asked: SendMessageConfiguration | GetTaskRequest, context: ServerCallContext) -> Task:
    """Return the task with the requested part of its history. The length comes from our own check, because a2a-sdk
    loses a length of 0 in protocol 0.3.
    """
    if context.state.get(WITHOUT_HISTORY):
        task.ClearField("history")
    return apply_history_length(task, asked)


def _not_cancelable(task_id: str) -> TaskNotCancelableError:
    return TaskNotCancelableError(f"Task {task_id} has ended, so it can't be cancelled.")
