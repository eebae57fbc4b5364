"""A workflow's update stream, read once for all its listeners.

Each poll of the stream is an update in the workflow's history. Temporal allows ten open polls for a workflow, and two
thousand in all. So a gateway reads a task's stream once for all its listeners, and names each poll after its offset.
Temporal answers a poll with a known name from its record, so polls of other replicas and later readings cost nothing.
"""

import asyncio
import base64
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from a2a.utils.errors import InternalError
from temporalio.api.common.v1 import Payload
from temporalio.client import (
    Client,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
    WorkflowUpdateHandle,
    WorkflowUpdateRPCTimeoutOrCancelledError,
    WorkflowUpdateStage,
)
from temporalio.contrib.workflow_streams import PollInput, PollResult
from temporalio.service import RPCError

from proctor.a2a_gateway.shared_events import SharedEvent
from proctor.a2a_gateway.tasks import find_assessment, is_closed, wait_until_closed
from proctor.a2a_gateway.temporal import RPC_TIMEOUT, TemporalConnection
from proctor.protocol.updates import RECORDED_AT
from proctor.workflows.names import UPDATES_TOPIC

POLL = "__temporal_workflow_stream_poll"
"""The update and the query that read a workflow stream (``temporalio.contrib.workflow_streams``)."""

OFFSET = "__temporal_workflow_stream_offset"
"""The query for the number of items in a workflow stream."""

GLANCE = timedelta(seconds=3)
"""How long ``GetTask`` waits for a worker to report the updates so far; without one, the task still has its state."""

POLL_COOLDOWN = 0.25
"""Seconds between polls: updates then come in batches, instead of five history events for each."""

_FEW = 50
"""The number of streams that are read at full speed. If there are more, each is read less often. A poll is a step of
the workflow and takes the worker's time; so does the check for a standstill.
"""

QUERY_INTERVAL = 1.0
"""Seconds between queries while Temporal accepts no more polls."""

REMAINDER_WAIT = 20.0
"""Seconds to wait for a closed workflow's last updates; they come from a query, which needs a worker."""

OUTAGE_PATIENCE = 30.0
"""Seconds for which a reader keeps trying while Temporal doesn't answer."""

_POLL_PROBLEMS = (RPCError, WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError)

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Update:
    """One item of the stream: its offset, the JSON of a task update, and the time of recording. ``made`` has the
    update's events by task id; each event is made once for all listeners.
    """

    sequence: int
    data: dict[str, Any]
    recorded_at: datetime | None = None
    made: dict[str, SharedEvent] = field(default_factory=dict, compare=False, repr=False)


class Subscriptions:
    """The streams that have listeners now."""

    def __init__(self, connection: TemporalConnection) -> None:
        self._connection = connection
        self._readers: dict[str, Reader] = {}
        self._polls = _Polls()

    def slowed(self, seconds: float) -> float:
        """Return the pause between two requests for one stream: ``seconds``, or longer if many streams are read."""
        return seconds * max(1.0, len(self._readers) / _FEW)

    @asynccontextmanager
    async def listen(self, task_id: str) -> AsyncIterator["Reader"]:
        """Read every update of a task, from the first one until its workflow is closed, shared with all other
        listeners.
        """
        async with self._reading(task_id) as reader:
            yield reader

    async def read_all(self, task_id: str) -> list[Update]:
        """Return every update of a task that has ended.

        Raises:
            InternalError: no worker answers, so the updates can't be read now.
            RPCError: Temporal stays away.
        """
        async with self._reading(task_id) as reader:
            updates = [update async for update in reader.updates()]
            if not reader.is_complete:
                raise InternalError(
                    f"The updates of task {task_id} can't be read, as no worker answers: try again when one runs, or "
                    "get the task without historyLength."
                )
            return updates

    async def read_latest(self, task_id: str, most: int) -> list[Update]:
        """Return a task's last updates so far, at most ``most``; none if no worker answers soon."""
        client = await self._connection.connect()
        workflow: WorkflowHandle[Any, Any] = client.get_workflow_handle(task_id)
        with suppress(RPCError, WorkflowQueryFailedError):
            end = await workflow.query(OFFSET, result_type=int, rpc_timeout=GLANCE)
            return await self.read_updates(task_id, max(end - most, 0)) if most > 0 else []
        return []

    async def read_updates(self, task_id: str, offset: int, patience: timedelta = GLANCE) -> list[Update]:
        """Return a task's updates so far from an offset; none if no worker answers within ``patience``."""
        client = await self._connection.connect()
        workflow: WorkflowHandle[Any, Any] = client.get_workflow_handle(task_id)
        with suppress(RPCError, WorkflowQueryFailedError):
            updates: list[Update] = []
            more = True
            while more:
                batch = await _ask(workflow, offset, patience)
                updates += _decode_updates(batch, client)
                offset, more = batch.next_offset, batch.more_ready
            return updates
        return []

    @asynccontextmanager
    async def _reading(self, task_id: str) -> AsyncIterator["Reader"]:
        reader = self._readers.get(task_id)
        if reader is None or reader.finished:
            reader = self._readers[task_id] = Reader(
                await self._connection.connect(), task_id, self._polls, self.slowed
            )
        reader.listeners += 1
        try:
            yield reader
        finally:
            reader.listeners -= 1
            if reader.listeners == 0:
                if self._readers.get(task_id) is reader:
                    del self._readers[task_id]
                await reader.stop()


class _Polls:
    """Starts polls. It completes every start, even if the reader that asked for the poll is stopped.

    If an update is cancelled before a worker has it, its workflow may be left with a workflow task that no worker gets.
    Temporal notices after ten seconds, and the assessment waits until then.
    """

    def __init__(self) -> None:
        self._starts: dict[tuple[str, int], asyncio.Task[WorkflowUpdateHandle[PollResult]]] = {}

    async def start(self, workflow: WorkflowHandle[Any, Any], offset: int) -> WorkflowUpdateHandle[PollResult]:
        key = (workflow.id, offset)
        start = self._starts.get(key)
        if start is None:
            start = self._starts[key] = asyncio.create_task(_start_poll(workflow, offset))
            start.add_done_callback(partial(self._forget, key))
        return await asyncio.shield(start)

    def _forget(self, key: tuple[str, int], start: asyncio.Task[WorkflowUpdateHandle[PollResult]]) -> None:
        del self._starts[key]
        if not start.cancelled():
            start.exception()  # mark it as retrieved; a reader that still waits gets it


async def _start_poll(workflow: WorkflowHandle[Any, Any], offset: int) -> WorkflowUpdateHandle[PollResult]:
    with _plain_cancellation():  # at the gateway's end asyncio would report any other exception as a defect
        return await workflow.start_update(
            POLL,
            PollInput(topics=[UPDATES_TOPIC], from_offset=offset),
            id=f"updates-from-{offset}",
            wait_for_stage=WorkflowUpdateStage.ACCEPTED,
            result_type=PollResult,
        )


@contextmanager
def _plain_cancellation() -> Iterator[None]:
    """Raise ``CancelledError`` if the SDK has wrapped it into its own exception."""
    try:
        yield
    except WorkflowUpdateRPCTimeoutOrCancelledError as error:
        if isinstance(error.__cause__, asyncio.CancelledError):
            raise error.__cause__ from None
        raise


class Reader:
    """A reader of one task's stream into a log that all its listeners follow."""

    def __init__(self, client: Client, task_id: str, polls: "_Polls", slowed: Callable[[float], float]) -> None:
        self.listeners = 0
        self.is_complete = False
        self._polls = polls
        self._slowed = slowed
        self._client = client
        self._task_id = task_id
        self._handle: WorkflowHandle[Any, Any] = client.get_workflow_handle(task_id)
        self._log: list[Update] = []
        self._latest: dict[int, dict[str, Any]] = {}
        self._run_id: str | None = None
        self._offset = 0
        self._news = asyncio.Event()
        self._reading = asyncio.create_task(self._read_stream())
        self._reading.add_done_callback(lambda _: self._tell())
        self._end: asyncio.Task[Any] | None = None

    @property
    def finished(self) -> bool:
        return self._reading.done()

    async def stop(self) -> None:
        tasks = [task for task in (self._reading, self._end) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def end(self, read: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the data that follows the updates. The first listener who needs it reads it for all listeners."""
        if self._end is None:
            self._end = asyncio.create_task(read())
        ended: T = await asyncio.shield(self._end)
        return ended

    async def updates(self) -> AsyncIterator[Update]:
        """Yield every update, from the first one.

        The last updates are missing if no worker answers within ``REMAINDER_WAIT``. Raises RPCError if Temporal stays
        away.
        """
        position = 0
        while True:
            while position < len(self._log):
                yield self._log[position]
                position += 1
            if self._reading.done():
                self._reading.result()
                return
            await self._news.wait()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def _read_stream(self) -> None:
        clock = asyncio.get_running_loop().time
        give_up_at: float | None = None
        while True:
            began = clock()
            try:
                return await self._read_until_closed()
            except RPCError as error:
                if give_up_at is None or clock() - began > OUTAGE_PATIENCE:
                    give_up_at = clock() + OUTAGE_PATIENCE
                if clock() > give_up_at:
                    raise
                log.warning("reading the updates of %s: %s; trying again", self._task_id, error)
                await asyncio.sleep(QUERY_INTERVAL)

    async def _read_until_closed(self) -> None:
        while True:
            await self._read_while_running()
            await self._read_remainder()
            if is_closed(await find_assessment(self._client, self._task_id)):
                return

    async def _read_while_running(self) -> None:
        closed = asyncio.create_task(wait_until_closed(self._client, self._task_id))
        polling = asyncio.create_task(self._poll_forever())
        try:
            await asyncio.wait({closed, polling}, return_when=asyncio.FIRST_COMPLETED)
            for ended in (closed, polling):
                if ended.done():
                    ended.result()
        finally:
            closed.cancel()
            polling.cancel()
            await asyncio.gather(closed, polling, return_exceptions=True)

    async def _poll_forever(self) -> None:
        """Catch up by query, which costs no history, then wait for news."""
        await self._catch_up()
        while True:
            try:
                with _plain_cancellation():
                    more = await self._poll()
            except _POLL_PROBLEMS as error:  # Temporal takes no more polls, or the workflow has just closed
                log.debug("polling the updates of %s: %s; asking by query", self._task_id, error)
                await asyncio.sleep(QUERY_INTERVAL)
                await self._catch_up()
            else:
                if not more:
                    await asyncio.sleep(self._slowed(POLL_COOLDOWN))

    async def _poll(self) -> bool:
        """Wait for the next updates; return whether more are ready."""
        handle = await self._polls.start(self._handle, self._offset)
        if handle.workflow_run_id != self._run_id:
            await self._catch_up()
            return False
        return self._take(await handle.result())

    async def _catch_up(self) -> bool:
        """Query the updates; return whether the query was answered.

        A run that was not read before is read from its start. After a reset, it repeats the updates up to some point
        and then has different ones. A run that was continued as new keeps the earlier updates.
        """
        with suppress(RPCError, WorkflowQueryFailedError):
            latest = await find_assessment(self._client, self._task_id)
            if latest.run_id != self._run_id:
                self._run_id, self._offset = latest.run_id, 0
            while self._take(await _ask(self._handle, self._offset, RPC_TIMEOUT)):
                pass
            return True
        return False

    async def _read_remainder(self) -> None:
        try:
            async with asyncio.timeout(REMAINDER_WAIT):
                read = await self._catch_up()
                while not read:
                    await asyncio.sleep(POLL_COOLDOWN)
                    read = await self._catch_up()
            self.is_complete = True
        except TimeoutError:
            log.warning("the last updates of %s can't be read: no worker answers", self._task_id)

    def _take(self, batch: PollResult) -> bool:
        """Add a batch to the log, except known updates: a new run repeats updates of the previous run.

        Returns:
            Whether more updates are ready than fitted into the batch.
        """
        for update in _decode_updates(batch, self._client):
            if self._latest.get(update.sequence) != update.data:
                self._latest[update.sequence] = update.data
                self._log.append(update)
        self._offset = batch.next_offset
        self._tell()
        return batch.more_ready


async def _ask(workflow: WorkflowHandle[Any, Any], offset: int, timeout: timedelta) -> PollResult:
    """Query the stream's items from an offset; a query costs no history."""
    poll = PollInput(topics=[UPDATES_TOPIC], from_offset=offset)
    batch: PollResult = await workflow.query(POLL, poll, result_type=PollResult, rpc_timeout=timeout)
    return batch


def _decode_updates(batch: PollResult, client: Client) -> Iterator[Update]:
    for item in batch.items:
        payload = Payload.FromString(base64.b64decode(item.data))
        recorded_at = payload.metadata.get(RECORDED_AT)
        yield Update(
            item.offset,
            client.data_converter.payload_converter.from_payload(payload),
            datetime.fromisoformat(recorded_at.decode()) if recorded_at else None,
        )
