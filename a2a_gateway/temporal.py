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
from proctor.storage.fleet import WORKFLOWS, count_workers, find_fleet_problem, missing_worker_problem
from proctor.storage.namespaces import find_namespace_problem, find_refusal
from proctor.storage.temporal import TemporalUnreachableError
from proctor.workflows.names import SEARCH_ATTRIBUTES

ClientFactory = Callable[[], Awaitable[Client]]

TEMPORAL_PATH = "/temporal"
"""The path that reports the gateway's Temporal, for the tools of its operators (``proctor replay``)."""

RPC_TIMEOUT = timedelta(seconds=10)
"""The timeout of a quick call; the SDK repeats the call within it while Temporal doesn't answer."""


class TemporalConnection:
    """One Temporal client for the whole gateway, connected when first needed.

    The gateway starts and keeps running without Temporal. Requests that arrive during a connection attempt share its
    outcome. During an outage they therefore don't wait one after another.
    """

    def __init__(self, factory: ClientFactory) -> None:
        self._factory = factory
        self._attempt: asyncio.Future[Client] | None = None

    async def connect(self) -> Client:
        """Return the connected client. Each call tries again; raises TemporalUnreachableError if no server answers."""
        attempt = self._attempt
        if attempt is None or (attempt.done() and (attempt.cancelled() or attempt.exception() is not None)):
            attempt = self._attempt = asyncio.ensure_future(self._factory())
        return await asyncio.shield(attempt)

    async def find_problem(self) -> str | None:
        """Return why Temporal can't be used at the moment, as a sentence; None if it can."""
        try:
            client = await self.connect()
            if not await client.service_client.check_health(timeout=timedelta(seconds=2)):
                return "Temporal answers, but says that it is not serving."
            return await find_namespace_problem(client, SEARCH_ATTRIBUTES)
        except (TemporalUnreachableError, RPCError) as error:
            return str(error)

    async def find_worker_problem(self, config: GreenAgentConfig) -> str | None:
        """Return why workers can't play requests, as a sentence. None if workers poll the task queue and fit
        together.
        """
        task_queue = config.task_queue
        try:
            if await self.count_workers(task_queue):
                return await find_fleet_problem(await self.connect(), config)
        except (TemporalUnreachableError, RPCError):
            return "It is not known whether a worker runs, as Temporal is away."
        return missing_worker_problem(task_queue)

    async def count_workers(self, task_queue: str) -> int:
        return await count_workers(await self.connect(), task_queue, WORKFLOWS, timedelta(seconds=2))


@contextmanager
def temporal_errors(task_id: str | None = None) -> Iterator[None]:
    """Turn errors of Temporal and the blob store into A2A errors with a sentence.

    Args:
        task_id: the task of these calls; "not found" then means this task.
    """
    try:
        yield
    except RPCError as error:
        if refusal := find_refusal(error):
            raise InternalError(f"{refusal}. Then repeat this request.") from error
        if task_id is not None and error.status == RPCStatusCode.NOT_FOUND:
            raise TaskNotFoundError(f"There is no task {task_id!r}.") from None
        raise InternalError(f"Temporal can't serve this request now ({error}): repeat it later.") from error
    except TemporalUnreachableError as error:
        raise InternalError(f"The evaluator {error}.") from error
    except StoreUnavailableError as error:
        raise InternalError(f"{error} Then repeat this request.") from error
    except (BlobNotFoundError, BlobDamagedError, OSError) as error:
        raise InternalError(f"The evaluator's storage can't be read: {error}") from error
