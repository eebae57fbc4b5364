"""Commands in a trial's container: with a time limit that holds, and output that is capped."""

from collections.abc import Callable, Mapping

from pydantic import BaseModel, ConfigDict

from activities.terminal.engine import Engine
from activities.terminal.references import EnvironmentRef


class Executed(BaseModel):
    """What became of a command.

    Attributes:
        exit_code: None where it was ended at its time limit.
        output: what it printed to both standard streams, in order; the middle is left out where it is too long.
        dropped: how many bytes of it were left out.
        seconds: how long it took.
    """

    model_config = ConfigDict(frozen=True)

    exit_code: int | None
    output: str
    dropped: int = 0
    seconds: float = 0.0
    is_timed_out: bool = False


async def execute(
    engine: Engine,
    environment: EnvironmentRef,
    command: str,
    *,
    timeout: float | None = None,
    cwd: str | None = None,
    user: str | None = None,
    variables: Mapping[str, str] | None = None,
    output_cap: int = 1_000_000,
    on_output: Callable[[bytes], None] | None = None,
) -> Executed:
    """Run a command with ``bash -c`` (``sh`` where there is no bash) and wait for its end.

    At the time limit the command and what it started is killed, as long as that stayed in its session.

    Raises:
        EnvironmentLostError: the container stands no more.
        EngineUnavailableError: the engine doesn't answer.
    """
    raise NotImplementedError
