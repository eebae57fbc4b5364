"""The logs of a trial, out of its container."""

from pydantic import BaseModel, ConfigDict

from activities.terminal.engine import Engine
from activities.terminal.references import EnvironmentRef
from activities.terminal.tasks import TerminalTask


class CollectedFile(BaseModel):
    """A file of a trial: its path below the trial's folder, such as ``agent-logs/run.log``."""

    model_config = ConfigDict(frozen=True)

    name: str
    content: bytes
    is_cut: bool = False


async def collect(
    engine: Engine, task: TerminalTask, environment: EnvironmentRef, most_bytes: int = 20_000_000
) -> list[CollectedFile]:
    """Logs that the format keeps, and each service's output; nothing where the container is gone.

    Raises:
        EngineUnavailableError: the engine doesn't answer.
    """
    raise NotImplementedError
