"""The leftovers of dead workers on an engine: the next worker removes them."""

from collections.abc import Awaitable, Callable
from typing import Any

from proctor.terminal.engine import RUN, TRIAL, Engine, labelled
from proctor.terminal.images import remove_images
from proctor.terminal.removing import remove_labelled


async def runs_on(engine: Engine) -> set[tuple[str, str | None]]:
    """Runs and trials that anything on this engine is labelled with; the trial is None for images.

    Raises EngineUnavailableError (the engine doesn't answer).
    """
    things: list[dict[str, Any]] = [
        *await engine.ask("GET", "containers/json", {"all": True, "filters": labelled()}),
        *await engine.ask("GET", "networks", {"filters": labelled()}),
        *((await engine.ask("GET", "volumes", {"filters": labelled()}))["Volumes"] or []),
    ]
    return {(each["Labels"][RUN], each["Labels"].get(TRIAL)) for each in things}


async def sweep(engine: Engine, is_over: Callable[[str, str | None], Awaitable[bool]]) -> int:
    """Remove everything of runs and trials that are over; returns how many of them something was removed of.

    Args:
        is_over: whether a run (with None) or one of its trials is over, so that its leftovers aren't needed.

    Raises:
        EngineUnavailableError: the engine doesn't answer.
    """
    count = 0
    for run, trial in sorted(await runs_on(engine), key=lambda each: (each[0], each[1] is None, each[1] or "")):
        if not await is_over(run, trial):
            continue
        count += 1
        if trial is not None:
            await remove_labelled(engine, labelled(run, trial))
        else:
            await remove_images(engine, run)
    return count
