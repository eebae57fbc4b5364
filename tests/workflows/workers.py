"""One worker for all task queues that workflows of a deployment send their steps to."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from temporalio.client import Client
from temporalio.worker import Interceptor, UnsandboxedWorkflowRunner, Worker

from proctor.activities.attempts.around import Around
from proctor.activities.attempts.elapsed import timing
from proctor.activities.attempts.heartbeats import Heartbeats
from proctor.activities.attempts.troubles import troubles
from proctor.workflows.names import JUDGING_QUEUE, WAITING_QUEUE


@asynccontextmanager
async def working(
    client: Client,
    task_queue: str,
    workflows: Sequence[type],
    activities: Sequence[Callable[..., Any]],
    *interceptors: Interceptor,
    **options: Any,
) -> AsyncIterator[None]:
    """Run these workflows and activities, whichever queue they are asked for on."""
    async with AsyncExitStack() as stack:
        for queue in (task_queue, task_queue + WAITING_QUEUE, task_queue + JUDGING_QUEUE):
            beats = Heartbeats()
            worker = Worker(
                client,
                debug_mode=True,  # a busy machine is no deadlock
                task_queue=queue,
                workflows=workflows if queue == task_queue else [],
                activities=activities,
                interceptors=[Around(timing), beats, Around(troubles), *interceptors],
                **{"workflow_runner": UnsandboxedWorkflowRunner(), **options},
            )
            beats.beat_through(worker)
            await stack.enter_async_context(worker)
        yield
