"""A task's image: named by the content that it is built from, and so built once for all trials and runs."""

from activities.terminal.engine import Engine
from activities.terminal.references import ImageRef
from activities.terminal.tasks import TerminalTask


async def prepare_image(engine: Engine, task: TerminalTask, run: str, timeout: float | None = None) -> ImageRef:
    """Have a task's image: found, built or pulled; who comes while it is being built waits for it.

    Args:
        run: who it is for; ``remove_images`` removes what no run needs any more.
        timeout: seconds for a build, in place of the task's own.

    Raises:
        ImageFailedError: the Dockerfile fails or takes too long, or there is no such image; with the log's end.
        EngineUnavailableError: the engine doesn't answer.
    """
    raise NotImplementedError


async def remove_images(engine: Engine, run: str) -> None:
    """Remove the images that were built for a run and that no other run uses; repeating it does no harm."""
    raise NotImplementedError
