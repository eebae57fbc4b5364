"""Heartbeats of every activity with a heartbeat timeout. They carry an attempt's notes for the next attempt.

A thread sends the heartbeats, so a busy event loop isn't taken for a dead worker. Temporal Cloud bills each heartbeat.
An attempt sends them often at first, to learn soon of a cancellation, then less and less often.
"""

import asyncio
import threading
import time
import weakref
from contextlib import suppress
from contextvars import ContextVar
from datetime import timedelta
from importlib.metadata import version
from typing import Any

from pydantic import JsonValue
from temporalio import activity
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.workflowservice.v1 import RecordActivityTaskHeartbeatRequest
from temporalio.bridge.proto import ActivityHeartbeat
from temporalio.service import RPCError
from temporalio.worker import ActivityOutboundInterceptor, ExecuteActivityInput, Worker

from proctor.activities.attempts.around import Around, Proceed

BEAT_SECONDS = 0.5
"""The longest pause before an attempt's first heartbeat. Each later pause is twice as long, if the timeout allows
it.
"""

_BEATS_A_SECOND = 100
"""The most heartbeats per second for all attempts of a worker together, if their timeouts allow it."""

_BEATS_IN_TIMEOUT = 3
_NOTE_SECONDS = timedelta(seconds=2)
_LOOK_SECONDS = 0.1

_notes: ContextVar[list[JsonValue]] = ContextVar("heartbeat_notes")


def notes() -> list[JsonValue]:
    """Return the notes of this activity's attempts so far, including the running attempt
    (``proctor.activities.attempts.notes``).
    """
    return list(_notes.get())


def note(data: JsonValue) -> None:
    """Leave a note for the next attempt, in case the worker of this attempt dies."""
    kept = _notes.get()
    if data not in kept:
        kept.append(data)
        activity.heartbeat(*kept)


def note_only(data: JsonValue) -> None:
    """Leave a note for the next attempt, and remove all others."""
    _notes.get()[:] = [data]
    activity.heartbeat(data)


async def reach_temporal() -> None:
    """Send the notes at once, and wait until they are sent. The SDK sends heartbeats one after the other, which may
    delay notes. If Temporal no longer accepts the notes because the run was reset, the next heartbeat cancels the
    attempt.
    """
    heartbeat, client = _heartbeat.get(None), activity.client() if activity.in_activity() else None
    if heartbeat is None or client is None or heartbeat.encoding is None:
        return
    await heartbeat.encoding
    request = RecordActivityTaskHeartbeatRequest(
        namespace=client.namespace, task_token=heartbeat.token, details=Payloads(payloads=heartbeat.payloads or [])
    )
    with suppress(RPCError):
        await client.workflow_service.record_activity_task_heartbeat(request, timeout=_NOTE_SECONDS)


def forget() -> None:
    """Remove all notes; the next attempt gets none of them."""
    _notes.get().clear()
    activity.heartbeat()


class _Heartbeat:
    """The heartbeats of one attempt. ``payloads`` are the attempt's encoded notes; None while they are being
    encoded.
    """

    def __init__(self, token: bytes, timeout: float) -> None:
        self.token = token
        self.longest_pause = timeout / _BEATS_IN_TIMEOUT
        self.pause = min(BEAT_SECONDS, self.longest_pause)
        self.due = time.monotonic() + self.pause
        self.payloads: list[Payload] | None = []
        self.encoding: asyncio.Task[None] | None = None


_heartbeat: ContextVar[_Heartbeat] = ContextVar("heartbeat")


class Heartbeats(Around):
    """An interceptor that sends heartbeats for a worker's activities, once ``beat_through`` was called."""

    def __init__(self) -> None:
        # Last on the way out: the thread must send the notes as the other interceptors have changed them.
        super().__init__(self._beat_during, _Noting)
        self._attempts: dict[bytes, _Heartbeat] = {}
        self._lock = threading.Lock()

    def beat_through(self, worker: Worker) -> None:
        """Send heartbeats for the activities of this worker until it is gone. The worker must have this interceptor."""
        bridge = getattr(worker, "_bridge_worker", None)
        if not callable(getattr(bridge, "record_activity_heartbeat", None)):
            raise RuntimeError(
                f"temporalio {version('temporalio')} has no Worker._bridge_worker.record_activity_heartbeat, so "
                "a busy worker could send no heartbeats. Install the version of requirements.lock"
            )
        threading.Thread(target=self._beat, args=[weakref.ref(worker)], name="proctor-heartbeats", daemon=True).start()

    def add(self, heartbeat: _Heartbeat) -> None:
        with self._lock:
            self._attempts[heartbeat.token] = heartbeat

    async def _beat_during(self, _input: ExecuteActivityInput, proceed: Proceed) -> Any:
        info = activity.info()
        _notes.set(list(info.heartbeat_details))
        timeout = info.heartbeat_timeout
        heartbeat = _Heartbeat(info.task_token, timeout.total_seconds() if timeout else 0.0)
        _heartbeat.set(heartbeat)
        if not timeout:
            return await proceed()
        if _notes.get():
            activity.heartbeat(*_notes.get())
        self.add(heartbeat)
        try:
            return await proceed()
        finally:
            with self._lock:  # the thread sends none of its heartbeats from now on
                self._attempts.pop(heartbeat.token, None)

    def _beat(self, worker: weakref.ref[Worker]) -> None:
        pause = threading.Event()
        while not pause.wait(_LOOK_SECONDS):
            living = worker()
            if living is None or living.is_shutdown or not self._send(living):
                return

    def _send(self, worker: Worker) -> bool:
        """Send a heartbeat for every attempt that is due; return False when the worker has shut down."""
        now = time.monotonic()
        with self._lock:
            shortest = len(self._attempts) / _BEATS_A_SECOND
            due = [
                heartbeat
                for heartbeat in self._attempts.values()
                if heartbeat.due <= now and heartbeat.payloads is not None
            ]
        for heartbeat in due:
            with self._lock:
                if heartbeat.token not in self._attempts or heartbeat.payloads is None:
                    continue
                beat = ActivityHeartbeat(task_token=heartbeat.token, details=heartbeat.payloads)
                heartbeat.pause = min(2 * heartbeat.pause, heartbeat.longest_pause)
                heartbeat.due = now + min(max(heartbeat.pause, shortest), heartbeat.longest_pause)
                try:
                    # activity.heartbeat calls this too. It only passes the heartbeat to the core, from any thread.
                    worker._bridge_worker.record_activity_heartbeat(beat)
                except (AttributeError, RuntimeError):  # a worker that has shut down has no core left
                    return False
        return True


class _Noting(ActivityOutboundInterceptor):
    """Encodes notes that go to Temporal, for the thread that sends heartbeats."""

    def heartbeat(self, *details: Any) -> None:
        heartbeat = _heartbeat.get()
        heartbeat.payloads = None
        heartbeat.encoding = asyncio.create_task(_encode(heartbeat, details))
        super().heartbeat(*details)


async def _encode(heartbeat: _Heartbeat, details: tuple[Any, ...]) -> None:
    payloads = list(await activity.client().data_converter.encode(details)) if details else []
    if heartbeat.encoding is asyncio.current_task():  # no newer note was made since
        heartbeat.payloads = payloads
