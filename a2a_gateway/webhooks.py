"""Push notifications: each webhook of a task is a separate workflow, which stores it and delivers to it.

The gateway therefore stores nothing, any replica knows every webhook, and none of this needs a worker. A task has a few
numbered places for webhooks. Temporal decides which workflow is in a place, so two callers at once can't take more
places than there are. A place is free if its workflow was terminated or never existed.
"""

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from a2a.types import AuthenticationInfo, TaskPushNotificationConfig
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError, UnsupportedOperationError
from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from proctor.a2a_gateway.temporal import RPC_TIMEOUT, TemporalConnection
from proctor.protocol.webhooks import BadWebhookError, Webhook, check_webhook, look_up
from proctor.settings.config import GreenAgentConfig
from proctor.storage.sealing import NotOursError, seal, unseal
from proctor.workflows.inputs import SEALED_WEBHOOK, Delivery
from proctor.workflows.names import NOTIFICATIONS_WORKFLOW
from purple_sdk.processes.addresses import is_forbidden
from purple_sdk.processes.together import do_all

MOST = 5
"""The largest number of webhooks of a task."""

_FREE = (WorkflowExecutionStatus.TERMINATED, WorkflowExecutionStatus.CANCELED)
_DELETED = "the webhook was deleted"
_NEVER = timedelta(minutes=10)
"""A start delay that is longer than it takes to terminate a new workflow."""


@dataclass(frozen=True)
class _Kept:
    """A webhook in its place. A webhook that another secret sealed is listed without its content."""

    execution: WorkflowExecution
    webhook: Webhook | None


async def checked(wanted: TaskPushNotificationConfig, protocol: Literal["1.0", "0.3"]) -> Webhook:
    """Convert a caller's configuration to a webhook. Without an id, ``register`` uses the task's.

    Raises InvalidParamsError if no notification can or may be sent to it.
    """
    webhook = Webhook(
        id=wanted.id,
        url=wanted.url,
        token=wanted.token,
        scheme=wanted.authentication.scheme,
        credentials=wanted.authentication.credentials,
        protocol=protocol,
    )
    try:
        addresses = await look_up(check_webhook(webhook).hostname or "")
    except BadWebhookError as error:
        raise InvalidParamsError(f"No notifications can be pushed: {error}.") from None
    except OSError:
        raise InvalidParamsError("No notifications can be pushed: the webhook's host can't be resolved.") from None
    if any(map(is_forbidden, addresses)):
        raise InvalidParamsError(
            "No notifications can be pushed: the webhook's host has an address that none may have."
        )
    return webhook


class Webhooks:
    def __init__(self, config: GreenAgentConfig, connection: TemporalConnection) -> None:
        self._config = config
        self._connection = connection

    async def register(self, task_id: str, wanted: Webhook) -> TaskPushNotificationConfig:
        """Store a webhook, and begin to send it the task's events.

        An equal webhook changes nothing, unless it was given up. Another webhook with the same id replaces it. Raises
        UnsupportedOperationError if the task already has ``MOST`` webhooks.
        """
        webhook = wanted if wanted.id else wanted.model_copy(update={"id": task_id})
        client = await self._connection.connect()
        for _ in range(MOST + 1):  # each time, another caller may have been faster
            kept = await self._slots(client, task_id)
            place = _choose_place(webhook, kept)
            if place is None:
                raise UnsupportedOperationError(
                    f"Task {task_id} has {MOST} webhooks, and no more are kept: delete one of them first."
                )
            current = kept.get(place)
            is_same = current is not None and current.webhook == webhook
            if current is not None and is_same and current.execution.status != WorkflowExecutionStatus.FAILED:
                break
            try:
                await self._start(client, task_id, place, webhook, replace=current is not None)
                break
            except WorkflowAlreadyStartedError:
                continue
        return _public_config(task_id, webhook, with_secrets=True)

    async def list_all(self, task_id: str) -> list[TaskPushNotificationConfig]:
        kept = await self._slots(await self._connection.connect(), task_id)
        return [_public_config(task_id, slot.webhook) for slot in kept.values() if slot.webhook is not None]

    async def get(self, task_id: str, webhook_id: str) -> TaskPushNotificationConfig:
        """Return one webhook, without its secrets. Callers of 0.3 may leave out the id, and get the first webhook.

        Raises TaskNotFoundError if no webhook has this id.
        """
        webhooks = await self.list_all(task_id)
        for webhook in webhooks:
            if webhook.id == (webhook_id or webhooks[0].id):
                return webhook
        raise TaskNotFoundError(f"Task {task_id} has no webhook {webhook_id[:255]!r}.")

    async def delete(self, task_id: str, webhook_id: str) -> None:
        """Delete a webhook, regardless of the state of its notifications."""
        client = await self._connection.connect()
        for slot in (await self._slots(client, task_id)).values():
            if slot.webhook is not None and slot.webhook.id == webhook_id:
                await self._remove(client, slot.execution)

    async def _slots(self, client: Client, task_id: str) -> dict[int, _Kept]:
        async def look(place: int) -> _Kept | None:
            try:
                execution = await client.get_workflow_handle(_id(task_id, place)).describe(rpc_timeout=RPC_TIMEOUT)
            except RPCError as error:
                if error.status == RPCStatusCode.NOT_FOUND:
                    return None
                raise
            if execution.status in _FREE:
                return None
            webhook = self._open(await execution.memo_value(SEALED_WEBHOOK, ""))
            if webhook is None and execution.status == WorkflowExecutionStatus.FAILED:
                return None
            return _Kept(execution, webhook)

        slots = await do_all(*map(look, range(MOST)))
        return {place: slot for place, slot in enumerate(slots) if slot is not None}

    def _open(self, sealed: str) -> Webhook | None:
        try:
            return Webhook.model_validate_json(unseal(self._config, SEALED_WEBHOOK, sealed))
        except NotOursError:
            return None

    async def _start(self, client: Client, task_id: str, place: int, webhook: Webhook, *, replace: bool) -> None:
        sealed = seal(self._config, SEALED_WEBHOOK, webhook.model_dump_json())
        await client.start_workflow(
            NOTIFICATIONS_WORKFLOW,
            Delivery(task_id=task_id, sealed_webhook=sealed),
            id=_id(task_id, place),
            task_queue=self._config.task_queue,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            id_conflict_policy=(
                WorkflowIDConflictPolicy.TERMINATE_EXISTING if replace else WorkflowIDConflictPolicy.FAIL
            ),
            memo={SEALED_WEBHOOK: sealed},
            static_summary=f"notifications of task {task_id}",
            rpc_timeout=RPC_TIMEOUT,
        )

    async def _remove(self, client: Client, execution: WorkflowExecution) -> None:
        """Free a place: terminate its running workflow, or replace an ended one by a new workflow that is terminated at
        once.
        """
        handle = client.get_workflow_handle(execution.id)
        try:
            await handle.terminate(reason=_DELETED, rpc_timeout=RPC_TIMEOUT)
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise
            await client.start_workflow(
                NOTIFICATIONS_WORKFLOW,
                Delivery(task_id="", sealed_webhook=""),
                id=execution.id,
                task_queue=self._config.task_queue,
                start_delay=_NEVER,
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
                id_conflict_policy=WorkflowIDConflictPolicy.TERMINATE_EXISTING,
                static_summary=_DELETED,
                rpc_timeout=RPC_TIMEOUT,
            )
            await handle.terminate(reason=_DELETED, rpc_timeout=RPC_TIMEOUT)


def _id(task_id: str, place: int) -> str:
    return f"webhook-{place + 1}-of-{task_id}"


def _choose_place(webhook: Webhook, kept: dict[int, _Kept]) -> int | None:
    """Return the place of the webhook with this id; a free place if there is no such webhook; None if no place is free.
    Two simultaneous callers with one id find the same place.
    """
    for place, slot in kept.items():
        if slot.webhook is not None and slot.webhook.id == webhook.id:
            return place
    first = hashlib.sha256(webhook.id.encode()).digest()[0]
    for step in range(MOST):
        place = (first + step) % MOST
        if place not in kept:
            return place
    return None


def _public_config(task_id: str, webhook: Webhook, *, with_secrets: bool = False) -> TaskPushNotificationConfig:
    shown = TaskPushNotificationConfig(task_id=task_id, id=webhook.id, url=webhook.url)
    if webhook.scheme or (with_secrets and webhook.credentials):
        credentials = webhook.credentials if with_secrets else ""
        shown.authentication.CopyFrom(AuthenticationInfo(scheme=webhook.scheme, credentials=credentials))
    if with_secrets:
        shown.token = webhook.token
    return shown
