"""Commands over HTTP, for agents on machines that have no Docker socket.

One server for all trials of a worker. ``/trials/NAME`` says in JSON what can be asked for; the bearer token is derived
from the deployment's secret and the trial, and the environment is found by its label, so that another worker with the
same engine answers at the same token with nothing to be handed over.
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from activities.terminal.engine import Engine
from activities.terminal.references import EnvironmentRef


class Access(BaseModel):
    """Where an agent sends its commands, and what it shows; the token must stay out of Temporal's history."""

    model_config = ConfigDict(frozen=True)

    url: str
    token: str


class CommandEndpoint:
    """The server of a worker; it listens from ``open``'s first call on.

    Args:
        secret: the deployment's; tokens are derived from it.
        folder: where transcripts and recordings are kept, a folder for each trial.
        host: the address to listen on.
        port: 0 takes a free one; a fixed one lets a worker that is started again be reached at the address that agents
            were told.
        advertise: the address that agents are told, such as that of a load balancer before several workers; the
            server's own where None.
    """

    def __init__(
        self,
        engine: Engine,
        secret: str,
        folder: Path,
        host: str = "127.0.0.1",
        port: int = 0,
        advertise: str | None = None,
    ) -> None:
        self.folder = folder

    async def open(self, environment: EnvironmentRef, *, record: bool = True) -> Access:
        """Let a trial's agent send commands; opening again, here or on another worker, gives the same token."""
        raise NotImplementedError

    async def close(self, trial: str) -> None:
        """Refuse a trial's commands from now on, and end those that are under way."""
        raise NotImplementedError

    def recorded(self, trial: str) -> dict[str, Path]:
        """What was recorded of a trial on this machine: ``transcript.jsonl`` and ``agent.cast``, if any."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """Stop listening."""
