"""The connection to Temporal, and Temporal's errors as A2A errors."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from a2a.utils.errors import InternalError, TaskNotFoundError
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobDamagedError, BlobNotFoundError, StoreUnavailableError
from proctor.storage.fleet import WORKFLOWS, count_workers, find_fleet_problem, no_worker_at
from proctor.storage.namespaces import find_namespace_problem, refusal_of
from proctor.storage.temporal import TemporalUnreachableError
from proctor.workflows.names import SEARCH_ATTRIBUTES

ClientFactory = Callable[[], Awaitable[Client]]

TEMPORAL_PATH = "/temporal"
"""The path that reports the gateway's Temporal, for the tools of its operators (``proctor replay``)."""

RPC_TIMEOUT = timedelta(seconds=10)
"""For one quick call; the SDK repeats a call within it while Temporal doesn't answer."""


class TemporalConnection:
    """One Temporal client for the whole gateway, connected when first needed.

    The gateway starts and keeps running without Temporal. Requests that arrive while a connection attempt is under way
    share its outcome, so that an outage doesn't queue them up behind one another.
    """

    def __init__(self, factory: ClientFactory) -> None:
        self._factory = factory
        self._attempt: asyncio.Future[Client] | None = None

    async def connect(self) -> Client:
        """The connected client. Raises TemporalUnreachableError (no server answers; the next call tries again)."""
        attempt = self._attempt
        if attempt is None or (attempt.done() and (attempt.cancelled() or attempt.exception() is not None)):
            attempt = self._attempt = asyncio.ensure_future(self._factory())
        return await asyncio.shield(attempt)

    async def find_problem(self) -> str | None:
        """Why Temporal can't be used right now, as a sentence; None while it can."""
        try:
            client = await self.connect()
            if not await client.service_client.check_health(timeout=timedelta(seconds=2)):
                return "Temporal answers, but says that it is not serving."
            return await find_namespace_problem(client, SEARCH_ATTRIBUTES)
        except (TemporalUnreachableError, RPCError) as problem:
            return str(problem)

    async def find_worker_problem(self, config: GreenAgentConfig) -> str | None:
        """Why workers can't play what is asked for, as a sentence; None while some poll the task queue, and fit."""
        task_queue = config.task_queue
        try:
            if await self.count_workers(task_queue):
                return await find_fleet_problem(await self.connect(), config)
        except (TemporalUnreachableError, RPCError):
            return "It is not known whether a worker runs, as Temporal is away."
        return no_worker_at(task_queue)

    async def count_workers(self, task_queue: str) -> int:
        return await count_workers(await self.connect(), task_queue, WORKFLOWS, timedelta(seconds=2))


@contextmanager
def temporal_errors(task_id: str | None = None) -> Iterator[None]:
    """Turn what Temporal and the blob store raise into A2A errors with a sentence.

    Args:
        task_id: the task that the calls are about; "not found" then means this task.
    """
    try:
        yield
    except RPCError as problem:
        if refusal := refusal_of(problem):
            raise InternalError(f"{refusal}. Then repeat this request.") from problem
        if task_id is not None and problem.status == RPCStatusCode.NOT_FOUND:
            raise TaskNotFoundError(f"There is no task {task_id!r}.") from None
        raise InternalError(f"Temporal can't serve this request now ({problem}): repeat it later.") from problem
    except TemporalUnreachableError as problem:
        raise InternalError(f"The evaluator {problem}.") from problem
    except StoreUnavailableError as problem:
        raise InternalError(f"{problem} Then repeat this request.") from problem
    except (BlobNotFoundError, BlobDamagedError, OSError) as problem:
        raise InternalError(f"The evaluator's storage can't be read: {problem}") from problem
