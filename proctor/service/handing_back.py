"""Return the attempts of a dead worker process to Temporal at once, not after a missed heartbeat.

Each process reports to its parent, by a pipe, which attempts it begins and ends (``attempts``). When a process dies,
the parent reports its unfinished attempts as failed. Temporal then starts the next attempts, and other processes
continue the workflows. If the parent dies, too, or can't reach Temporal, missed heartbeats end the attempts.
"""

import asyncio
import base64
import os
from contextlib import suppress
from typing import Any

from temporalio import activity
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetStickyTaskQueueRequest
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError
from temporalio.worker import ExecuteActivityInput

from proctor.activities.attempts import failures
from proctor.activities.attempts.around import Proceed
from proctor.service.attempts import Attempt, write_line
from proctor.settings.config import GreenAgentConfig
from proctor.storage.temporal import TemporalUnreachableError, connect

_AT_ONCE = 16


class WritingDown:
    """A guard around activities that writes a line to a pipe when an attempt begins, and when it ends."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        os.set_inheritable(pipe, False)
        os.set_blocking(pipe, False)

    async def __call__(self, _input: ExecuteActivityInput, proceed: Proceed) -> Any:
        info = activity.info()
        if info.is_local or not info.workflow_id:
            return await proceed()
        token = base64.b64encode(info.task_token).decode()
        write_line(self._pipe, begun=token, workflow_id=info.workflow_id, run_id=info.workflow_run_id or "")
        try:
            return await proceed()
        finally:
            write_line(self._pipe, ended=token)


async def hand_back(config: GreenAgentConfig, attempts: list[Attempt]) -> None:
    """Return the attempts of a dead process to Temporal. If that fails, missed heartbeats end them."""
    with suppress(TemporalUnreachableError, RPCError):
        client = await connect(config)
        free = asyncio.Semaphore(_AT_ONCE)
        await asyncio.gather(*(_give_back(client, attempt, free) for attempt in attempts))


async def _give_back(client: Client, attempt: Attempt, free: asyncio.Semaphore) -> None:
    async with free:
        run = WorkflowExecution(workflow_id=attempt.workflow_id, run_id=attempt.run_id)
        with suppress(RPCError):
            await client.workflow_service.reset_sticky_task_queue(
                ResetStickyTaskQueueRequest(namespace=client.namespace, execution=run)
            )
        lost = ApplicationError("The worker's process that was at it has died.", type=failures.WORKERS_LOST)
        with suppress(RPCError):
            await client.get_async_activity_handle(task_token=attempt.token).fail(lost)
