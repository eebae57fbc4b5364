"""Check whether a service can serve. Everything that it needs is checked in parallel, each with a time limit."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping

from purple_sdk.processes.together import do_all

Look = Callable[[], Awaitable[str | None]]
"""Checks one thing that a service needs: returns None if it works, else a sentence with the remedy."""

LOOKS_FOR = 3.0
"""Seconds after which an unfinished check counts as a problem."""


async def check_needs(needs: Mapping[str, Look], seconds: float = LOOKS_FOR) -> dict[str, str]:
    """Run all checks in parallel; returns ``ok`` or a sentence for each."""

    async def one(name: str, look: Look) -> str:
        try:
            async with asyncio.timeout(seconds):
                return await look() or "ok"
        except TimeoutError:
            return f"The check of {name} did not end within {seconds:g} s: {name} hangs."
        except Exception as error:  # a failing check is a finding
            return f"The check of {name} failed ({type(error).__name__}: {error})."

    return dict(zip(needs, await do_all(*map(one, needs.keys(), needs.values())), strict=True))


async def log_problems(log: logging.Logger, needs: Mapping[str, Look]) -> None:
    """Log a warning for each problem, at a service's start."""
    for problem in (await check_needs(needs)).values():
        if problem != "ok":
            log.warning(problem)


def remember_success(seconds: float, look: Look) -> Look:
    """Return a check that skips ``look`` for some seconds after a success. After a problem, it runs every time."""
    well_until = 0.0

    async def rarely() -> str | None:
        nonlocal well_until
        if time.monotonic() < well_until:
            return None
        problem = await look()
        well_until = 0.0 if problem else time.monotonic() + seconds
        return problem

    return rarely
