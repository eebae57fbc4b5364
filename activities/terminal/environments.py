"""A trial's containers, from the first to the last; each step may be repeated, by another worker too."""

from collections.abc import Mapping
from pathlib import Path

from activities.terminal.engine import Engine
from activities.terminal.references import EnvironmentRef, ImageRef, Process
from activities.terminal.tasks import TerminalTask


async def start(engine: Engine, task: TerminalTask, image: ImageRef, run: str, trial: str) -> EnvironmentRef:
    """Start a trial's environment, or find the one that stands and that no tests were run in.

    One that has stopped, was left half made, or was closed to its agent is removed and made anew: then
    ``container_id`` is another one than before, and the agent has to begin anew, too.

    Args:
        trial: the trial's id, another one for each attempt at a task; any text, since names are derived from it.

    Raises:
        EnvironmentFailedError: it doesn't start, or its healthcheck fails.
        EngineUnavailableError: the engine doesn't answer.
    """
    raise NotImplementedError


async def stands(engine: Engine, environment: EnvironmentRef) -> bool:
    """Whether this very environment is there and runs."""
    raise NotImplementedError


async def watch(engine: Engine, environment: EnvironmentRef, task: TerminalTask) -> None:
    """Look after an environment while an agent works in it; returns never, to be cancelled.

    Raises:
        LimitExceededError: the agent wrote more than the task's storage allows; the container was stopped.
        EnvironmentLostError: the container stands no more.
    """
    raise NotImplementedError


async def close_to_agent(engine: Engine, environment: EnvironmentRef, task: TerminalTask) -> tuple[Process, ...]:
    """End the agent's time: its commands are refused from now on, and what it left running is ended.

    What listens on a socket is kept, since a task may ask for a service; it is what this returns. Everything else that
    wasn't there when the agent began is killed. ``run_tests`` does this itself where it wasn't done.

    Raises:
        EnvironmentLostError: the container stands no more.
    """
    raise NotImplementedError


async def copy_in(engine: Engine, environment: EnvironmentRef, source: Path | Mapping[str, bytes], target: str) -> None:
    """Copy a folder's content, a file, or files by name into a folder of the container, which is made where missing."""
    raise NotImplementedError


async def copy_out(
    engine: Engine, environment: EnvironmentRef, path: str, most_bytes: int = 10_000_000
) -> dict[str, bytes]:
    """Files at or below a path of the container, by path relative to it, links and devices left out.

    Those that would exceed ``most_bytes`` in all are cut short or left out; nothing where there is no such path.
    """
    raise NotImplementedError


async def remove(engine: Engine, run: str, trial: str) -> None:
    """Remove all containers, networks and volumes of a trial; repeating it does no harm."""
    raise NotImplementedError
