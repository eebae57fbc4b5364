"""A supervisor of child processes. It starts them in order, restarts those that die, and ends them with itself."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Self

from proctor.common.errors import CommandError
from proctor.processes.log_files import LOG_FILE
from proctor.processes.returning import LONGEST_PAUSE, Pauses, how_ended
from purple_sdk.processes.child import Child
from purple_sdk.processes.guard import Guard
from purple_sdk.processes.together import do_all

START_SECONDS = 180.0
"""How long a service may take from its start until it is ready."""

_LOG_LIMIT = 10 * 1024 * 1024
_TAIL_LINES = 15


class ServiceStartError(CommandError):
    """A service ended before it was ready, or wasn't ready in time.

    The message includes the end of the service's log; ``summary`` is the message without the log.
    """

    def __init__(self, summary: str, log: str = "") -> None:
        super().__init__(summary + log)
        self.summary = summary


@dataclass(frozen=True)
class Service:
    """One child process.

    Attributes:
        name: the service's name for people; its log is ``NAME.log``.
        is_ready: takes the process id, and returns whether the service answers. It is called until the service answers.
        environment: changes to the supervisor's environment: variables to their values, or to None to remove them.
        after: names of the services that must be ready before this service starts.
        stop_seconds: how long the process may take to end after SIGTERM.
        reopens: whether the process opens its log again after a SIGHUP. A SIGHUP ends other processes.
    """

    name: str
    command: Sequence[str]
    is_ready: Callable[[int], Awaitable[bool]]
    environment: Mapping[str, str | None] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    stop_seconds: float = 5.0
    reopens: bool = True


class _Running:
    def __init__(self, service: Service, log: Path) -> None:
        self.service = service
        self.log = log
        self.process: Child | None = None
        self.ready = asyncio.Event()
        self.has_old_log = False
        self.keeper: asyncio.Task[None] | None = None


class Supervisor:
    """Runs services as child processes.

    A Ctrl-C in the terminal reaches the supervisor alone, which then ends the children in the reverse order of
    ``services`` (see ``purple_sdk.processes.child``). A guard process (see ``purple_sdk.processes.guard``)
    ends them and removes ``temporary`` even when the supervisor is killed.

    Args:
        logs: folder for the children's output; made if missing.
        say: receives one readable line for each notable event (a child died, a child is back).
        temporary: a folder that is removed at the end.
        longest_pause: the longest pause, in seconds, before a dead child is started again. If children die soon after
            their start, each death doubles the pause.
    """

    def __init__(
        self,
        services: Sequence[Service],
        logs: Path,
        say: Callable[[str], None],
        temporary: Path | None = None,
        *,
        longest_pause: float = LONGEST_PAUSE,
    ) -> None:
        logs.mkdir(parents=True, mode=0o700, exist_ok=True)
        self._children = {service.name: _Running(service, logs / f"{service.name}.log") for service in services}
        self._say = say
        self._temporary = temporary
        self._longest_pause = longest_pause
        self._guard: Guard | None = None
        self._is_stopping = False

    async def __aenter__(self) -> Self:
        self._guard = Guard(self._temporary)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start every service as soon as its ``after`` services are ready; return when all are ready."""
        await do_all(*map(self._start_in_turn, self._children.values()))

    def find_pid(self, name: str) -> int | None:
        process = self._children[name].process
        return process.pid if process and process.exit_code is None else None

    def read_log_tail(self, name: str, lines: int = _TAIL_LINES) -> str:
        try:
            text = self._children[name].log.read_bytes()[-64 * 1024 :].decode(errors="replace")
        except FileNotFoundError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def reopen_logs(self) -> None:
        """Have services open their logs again, under the same names.

        A service that isn't ready yet does so once it is ready. Before that, a SIGHUP would end the service.
        """
        for child in self._children.values():
            child.has_old_log = not child.ready.is_set()
            if child.process and child.service.reopens and not child.has_old_log:
                child.process.hang_up()

    async def stop(self) -> None:
        """End all children, last to first, then the guard. No process is left."""
        self._is_stopping = True
        try:
            for child in reversed(self._children.values()):
                if child.keeper:
                    child.keeper.cancel()
                process, grace = child.process, child.service.stop_seconds
                if process and not await process.end(grace):
                    self._say(f"{child.service.name} did not end within {grace:g} s: killed")
        finally:
            await asyncio.shield(asyncio.to_thread(self._dismiss_guard))

    def kill(self) -> None:
        """End all children at once, without grace."""
        self._is_stopping = True
        for child in self._children.values():
            if child.process:
                child.process.kill()

    def _dismiss_guard(self) -> None:
        if self._guard is not None:
            self._guard.dismiss()
            self._guard = None

    async def _start_in_turn(self, child: _Running) -> None:
        for name in child.service.after:
            await self._children[name].ready.wait()
        await self._spawn(child)
        await self._until_ready(child)
        child.keeper = asyncio.create_task(self._keep(child))

    async def _spawn(self, child: _Running) -> None:
        assert self._guard is not None
        child.ready.clear()
        if child.log.exists() and child.log.stat().st_size > _LOG_LIMIT:
            child.log.replace(child.log.with_suffix(".log.1"))
        changed: dict[str, str | None] = {**os.environ, "PYTHONUNBUFFERED": "1", LOG_FILE: str(child.log)}
        changed |= child.service.environment
        with os.fdopen(os.open(child.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as log:
            try:
                child.process = await Child.start(
                    child.service.command,
                    self._guard,
                    environment={name: value for name, value in changed.items() if value is not None},
                    stdout=log,
                    stderr=log,
                )
            except OSError as error:
                raise ServiceStartError(f"{child.service.name} can't be started: {error}") from None

    async def _until_ready(self, child: _Running) -> None:
        process = child.process
        assert process is not None
        try:
            is_ready = await process.until(lambda: child.service.is_ready(process.pid), START_SECONDS)
        except TimeoutError:
            raise self._not_ready(child, f"was not ready within {START_SECONDS:.0f} s") from None
        if not is_ready:
            raise self._not_ready(child, f"{how_ended(process.exit_code)} before it was ready")
        child.ready.set()
        if child.has_old_log:
            self.reopen_logs()

    def _not_ready(self, child: _Running, what: str) -> ServiceStartError:
        name = child.service.name
        return ServiceStartError(f"{name} {what}", f"; the end of {child.log}:\n{self.read_log_tail(name)}")

    async def _keep(self, child: _Running) -> None:
        name, pauses = child.service.name, Pauses(self._longest_pause)
        while child.process:
            await child.process.wait()
            if self._is_stopping:
                return
            child.process.kill()  # its remaining children, in its process group
            ended, now = how_ended(child.process.exit_code), datetime.now().strftime("%H:%M:%S")
            self._say(f"{name} {ended}; starting it again at {now} (log: {child.log})")
            await asyncio.sleep(pauses.after_death())
            began = time.monotonic()
            pauses.begin()
            try:
                await self._spawn(child)
                await self._until_ready(child)
            except ServiceStartError as error:
                self._say(error.summary)
            else:
                self._say(f"{name} is ready again after {time.monotonic() - began:.1f} s")
