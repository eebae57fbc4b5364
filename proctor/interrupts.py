"""Ctrl-C and its like, for commands that end in an orderly way."""

import asyncio
import signal
from collections.abc import Callable

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def on_signals(stopping: asyncio.Event) -> list[Callable[[], None]]:
    """Let the first Ctrl-C (SIGTERM, SIGHUP) set ``stopping``, and a second one call what is in the list returned."""
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


def interruption() -> asyncio.Event:
    """An event that a Ctrl-C, or SIGTERM, sets."""
    interrupted = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupted.set)
    return interrupted
