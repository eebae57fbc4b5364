"""``proctor worker --processes N``: a parent that runs N processes and restarts dead ones.

Each process is a complete worker: it has an event loop, a cache of workflows, and processes for scenarios' code.
Temporal distributes the work among them. Only the first process does the tasks that a machine needs once. It plays
terminal trials, whose commands arrive at one port, and it reports the simulator's problems.

The other processes start after the first one works, so a problem of all processes, such as an unreachable Temporal, is
reported once. If the first process can't start, the command ends with its exit code.
"""

import asyncio
import json
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress

from proctor.activities.scenario_code.confinement import hide_from_neighbours
from proctor.common.interrupts import done_before, on_hangup, on_signals
from proctor.processes.log_files import name_of_log
from proctor.processes.returning import Pauses, how_ended
from proctor.service.attempts import Attempts, pipe_for_lines
from proctor.settings.config import GreenAgentConfig
from purple_sdk.processes.announcing import announce
from purple_sdk.processes.child import Child, python_command
from purple_sdk.processes.guard import Guard

STOP_SECONDS = 8.0
"""How long a process may take to end: current steps are finished."""

_LAST_WORDS_SECONDS = 1.0  # how long the parent reads a process's messages after its end
_CHUNK = 64 * 1024


async def run_processes(config: GreenAgentConfig, flags: Mapping[str, str | None], count: int) -> int:
    """Run ``count`` processes until SIGTERM or SIGINT, or until the terminal closes. Return the exit code.

    Args:
        flags: the command line's flags, which each process gets.
    """
    stop = asyncio.Event()
    on_signals(stop)
    hide_from_neighbours()
    async with AsyncExitStack() as stack:
        guard = await asyncio.to_thread(Guard)
        stack.push_async_callback(asyncio.to_thread, guard.dismiss)
        processes = [_Process(config, flags, number, count, guard) for number in range(count)]
        on_hangup(*(process.hang_up for process in processes))
        stack.push_async_callback(_end, processes)
        first = asyncio.create_task(processes[0].start())
        await done_before(first, stop)
        if stop.is_set():
            first.cancel()
            await asyncio.wait({first})
            return 0
        if not await first:
            return processes[0].exit_code or 1
        keepers = [asyncio.create_task(process.keep()) for process in processes]
        stack.push_async_callback(_cancel, keepers)
        announce(f"proctor worker polling {config.task_queue} at {config.temporal_address} with {count} processes")
        await stop.wait()
    return 0


class _Process:
    def __init__(
        self, config: GreenAgentConfig, flags: Mapping[str, str | None], number: int, count: int, guard: Guard
    ) -> None:
        self._number = number
        self._name = f"process {number + 1} of {count}"
        self._guard = guard
        self._config = config
        self._flags = {name: value for name, value in flags.items() if value is not None}
        self._environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        if number:
            self._environment["AGENTBEATS_GREEN_CONTAINERS"] = "off"
            if config.observe_port:
                self._environment["AGENTBEATS_GREEN_OBSERVE_PORT"] = str(config.observe_port + number)
        self._child: Child | None = None
        self._reading: asyncio.Task[None] | None = None
        self._noting: asyncio.Task[None] | None = None
        self._attempts = Attempts()
        self._works = asyncio.Event()
        self._has_old_log = False

    @property
    def exit_code(self) -> int | None:
        return self._child.exit_code if self._child else None

    async def start(self) -> bool:
        """Start the process, and wait until it works; False if it ended first."""
        self._works.clear()
        read, write = pipe_for_lines()
        arguments = {"number": self._number, "parent": os.getpid(), "attempts": write, "flags": self._flags}
        try:
            self._child = await Child.start(
                python_command("-m", "proctor.service.worker_process", json.dumps(arguments)),
                self._guard,
                environment={**self._environment, **name_of_log()},
                stdout=asyncio.subprocess.PIPE,
                stderr=2,
                descriptors=[write],
            )
        finally:
            os.close(write)
            self._attempts = Attempts(self._works.set)
            self._noting = asyncio.create_task(_note(read, self._attempts))
        self._reading = asyncio.create_task(self._print_output(self._child.stdout))
        ended = asyncio.create_task(self._child.wait())
        try:
            await done_before(ended, self._works)
        finally:
            ended.cancel()
        if self._has_old_log:
            self.hang_up()
        return self._works.is_set()

    async def keep(self) -> None:
        """Keep the process running until cancelled: start it if it doesn't run, and again when it dies."""
        pauses = Pauses()
        while True:
            if self._child is None:
                await self.start()
            assert self._child is not None
            await self._child.wait()
            self._child.kill()  # its remaining children, in its process group
            self._say(f"{how_ended(self._child.exit_code)}; starting it again")
            await self._hand_back()
            await asyncio.sleep(pauses.after_death())
            pauses.begin()
            if await self.start():
                self._say("works again")

    def hang_up(self) -> None:
        """Have the process open its log again, once the process works. Before that, a SIGHUP would end it."""
        self._has_old_log = not self._works.is_set()
        if self._child is not None and not self._has_old_log:
            self._child.hang_up()

    async def end(self) -> None:
        if self._child is not None and not await self._child.end(STOP_SECONDS):
            self._say(f"did not end within {STOP_SECONDS:g} s: killed")
        readers = {reading for reading in (self._reading, self._noting) if reading is not None}
        if readers:
            await asyncio.wait(readers, timeout=_LAST_WORDS_SECONDS)

    async def _hand_back(self) -> None:
        assert self._noting is not None
        await self._noting
        if pending := self._attempts.pending():
            from proctor.service.handing_back import (
                hand_back,  # it imports Temporal's client, which a parent needs for nothing else
            )

            await hand_back(self._config, pending)

    async def _print_output(self, output: asyncio.StreamReader) -> None:
        async for line in output:
            print(line.decode(errors="replace").rstrip("\n"), flush=True)

    def _say(self, what: str) -> None:
        announce(f"proctor worker: {self._name} {what}")


async def _note(pipe: int, attempts: Attempts) -> None:
    """Read a process's messages until it has ended.

    A transport isn't used: uvloop would close the descriptor twice, and at the second time it may be another file's.
    """
    loop, readable, rest = asyncio.get_running_loop(), asyncio.Event(), b""
    os.set_blocking(pipe, False)
    loop.add_reader(pipe, readable.set)
    try:
        while True:
            await readable.wait()
            readable.clear()
            with suppress(BlockingIOError):
                if not (chunk := os.read(pipe, _CHUNK)):
                    return
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    attempts.take(line)
    finally:
        loop.remove_reader(pipe)
        os.close(pipe)


async def _end(processes: list[_Process]) -> None:
    await asyncio.gather(*(process.end() for process in processes))


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
