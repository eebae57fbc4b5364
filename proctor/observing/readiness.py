"""Whether a service can serve: the services it needs are checked in parallel, each with a time limit."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping

from purple_sdk.processes.together import do_all

Look = Callable[[], Awaitable[str | None]]
"""Looks at one thing that a service needs: None where all is well, else a sentence that says what to mend."""

LOOKS_FOR = 3.0
"""Seconds after which a look that brings nothing counts as a problem."""


async def look_at(needs: Mapping[str, Look], seconds: float = LOOKS_FOR) -> dict[str, str]:
    """What each need says: ``ok`` or a sentence."""

    async def one(name: str, look: Look) -> str:
        try:
            async with asyncio.timeout(seconds):
                return await look() or "ok"
        except TimeoutError:
            return f"The look at {name} did not end within {seconds:g} s: what it needs hangs."
        except Exception as problem:  # a look must never be what fails
            return f"The {name} can't be looked at ({type(problem).__name__}: {problem})."

    return dict(zip(needs, await do_all(*map(one, needs.keys(), needs.values())), strict=True))


async def log_problems(log: logging.Logger, needs: Mapping[str, Look]) -> None:
    """Log a warning for each need that has a problem: for a service's start."""
    for problem in (await look_at(needs)).values():
        if problem != "ok":
            log.warning(problem)


def kept_for(seconds: float, look: Look) -> Look:
    """Limit how often an expensive check runs; after a problem it runs every time."""
    well_until = 0.0

    async def rarely() -> str | None:
        nonlocal well_until
        if time.monotonic() < well_until:
            return None
        problem = await look()
        well_until = 0.0 if problem else time.monotonic() + seconds
        return problem

    return rarely
