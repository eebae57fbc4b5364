"""Removes the leftovers of dead workers on an engine; the next worker runs it."""

from collections.abc import Awaitable, Callable
from typing import Any

from proctor.terminal.engine import RUN, TRIAL, Engine, labelled
from proctor.terminal.images import remove_images
from proctor.terminal.removing import remove_labelled


async def list_runs(engine: Engine) -> set[tuple[str, str | None]]:
    """Return the runs and trials in the labels of this engine's objects. The trial is None for a run's own objects.

    Raises EngineUnavailableError (the engine doesn't answer).
    """
    things: list[dict[str, Any]] = [
        *await engine.ask("GET", "containers/json", {"all": True, "filters": labelled()}),
        *await engine.ask("GET", "networks", {"filters": labelled()}),
        *((await engine.ask("GET", "volumes", {"filters": labelled()}))["Volumes"] or []),
    ]
    return {(thing["Labels"][RUN], thing["Labels"].get(TRIAL)) for thing in things}


async def sweep(engine: Engine, is_over: Callable[[str, str | None], Awaitable[bool]]) -> int:
    """Remove all objects of runs and trials that are over; returns the number of runs and trials that had some.

    Args:
        is_over: returns whether a trial is over; if the trial is None, whether the run is over.

    Raises:
        EngineUnavailableError: the engine doesn't answer.
    """
    count = 0
    for run, trial in sorted(await list_runs(engine), key=lambda each: (each[0], each[1] is None, each[1] or "")):
        if not await is_over(run, trial):
            continue
        count += 1
        if trial is not None:
            await remove_labelled(engine, labelled(run, trial))
        else:
            await remove_images(engine, run)
    return count
