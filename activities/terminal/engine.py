"""The connection to a Docker engine, and the labels by which everything that is made there is found again."""

from pydantic import BaseModel, ConfigDict, Field

RUN = "proctor.run"
"""Label of every container, network, volume and image: the run that it was made for."""

TRIAL = "proctor.trial"
"""Label of every container, network and volume of a trial: the trial's id."""


class DefaultLimits(BaseModel):
    """What a container may use where its task doesn't say."""

    model_config = ConfigDict(frozen=True)

    cpus: float | None = None
    memory_mb: int = Field(default=8192, description="at most half of what the engine's machine has")
    storage_mb: int = 10_240
    processes: int = 4096


class Engine:
    """A Docker engine, over its API.

    Args:
        url: where it listens (``unix:///var/run/docker.sock``, ``tcp://host:2375``); ``DOCKER_HOST`` where None, and
            the usual socket where that isn't set.
    """

    def __init__(self, url: str | None = None, limits: DefaultLimits | None = None) -> None:
        self.url = url
        self.limits = limits or DefaultLimits()

    async def check(self) -> str:
        """The engine's id, which another engine doesn't have.

        Raises:
            activities.terminal.failures.EngineUnavailableError: nobody answers, with the address and what to do.
        """
        raise NotImplementedError

    async def aclose(self) -> None:
        """Close all connections."""
