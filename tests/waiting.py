"""Waiting for what must come, on a machine of any speed.

No test of the default run measures time. What must happen is waited for with a limit that only a hang reaches. What
must happen *soon* is counted in work instead (requests, attempts, calls), or measured by ``make chaos``.
"""

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 120.0
"""Seconds after which something that has not come hangs, however busy the machine is; a whole test may take longer."""


async def eventually(condition: Callable[[], Any], seconds: float = PATIENCE) -> None:
    """Wait until a condition (which may be a coroutine function) holds; it is looked at ever more rarely."""
    pause = 0.005
    async with asyncio.timeout(seconds):
        while True:
            holds = condition()
            if await holds if inspect.isawaitable(holds) else holds:
                return
            await asyncio.sleep(pause)
            pause = min(1.2 * pause, 0.25)


def wait_until(is_so: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    """Look again and again until something is so, or the time is over; whether it is so."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
