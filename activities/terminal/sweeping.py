"""What dead workers left on an engine: whoever comes next removes it."""

from collections.abc import Awaitable, Callable

from activities.terminal.engine import Engine


async def runs_on(engine: Engine) -> set[tuple[str, str | None]]:
    """Runs and trials that anything on this engine is labelled with; the trial is None for images."""
    raise NotImplementedError


async def sweep(engine: Engine, is_over: Callable[[str, str | None], Awaitable[bool]]) -> int:
    """Remove everything of runs and trials that are over; returns how many things were removed.

    Args:
        is_over: whether a run (with None) or one of its trials is over, so that nobody needs what it left.
    """
    raise NotImplementedError
