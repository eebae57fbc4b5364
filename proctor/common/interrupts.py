"""Signal handlers for commands that shut down cleanly."""

import asyncio
import signal
from collections.abc import Callable
from typing import Any

from proctor.processes.log_files import has_terminal, reopen

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def on_signals(stopping: asyncio.Event) -> list[Callable[[], None]]:
    """Let the first Ctrl-C (SIGTERM, SIGHUP) set ``stopping``; later ones call the functions in the returned list."""
    hurry: list[Callable[[], None]] = []

    def react() -> None:
        if stopping.is_set():
            for call in hurry:
                call()
        stopping.set()

    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, react)
    return hurry


def on_hangup(*calls: Callable[[], None]) -> None:
    """On a SIGHUP that doesn't come from a terminal, open this process's output again, then call these functions."""

    def react() -> None:
        for call in (reopen, *calls):
            call()

    if not has_terminal():
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, react)


def interruption() -> asyncio.Event:
    interrupted = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupted.set)
    return interrupted


async def done_before(work: "asyncio.Task[Any]", event: asyncio.Event) -> bool:
    """Wait until the work is done or the event is set; return whether the work is done."""
    setting = asyncio.create_task(event.wait())
    try:
        await asyncio.wait({work, setting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        setting.cancel()
    return work.done()
