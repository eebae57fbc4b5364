"""What names an image, an environment and a process in it, as it goes through payloads."""

from pydantic import BaseModel, ConfigDict


class ImageRef(BaseModel):
    """A task's image on this engine; ``name`` is None where compose builds and names the images itself."""

    model_config = ConfigDict(frozen=True)

    name: str | None
    is_built: bool = False


class Process(BaseModel):
    """A process in a container: its number there, and when it began (clock ticks since the machine's start)."""

    model_config = ConfigDict(frozen=True)

    pid: int
    began: int
    command: str = ""


class EnvironmentRef(BaseModel):
    """A trial's environment, as it is named in payloads.

    Attributes:
        container: the name of the container that the agent works in, for ``docker exec``.
        container_id: the engine's own id; another container of the same name is another environment.
        project: the name that compose knows the services by; None where there is one container.
        workdir: where commands run.
        own_processes: what ran before the agent came, which nobody ends.
    """

    model_config = ConfigDict(frozen=True)

    run: str
    trial: str
    container: str
    container_id: str
    project: str | None = None
    workdir: str = "/"
    own_processes: tuple[Process, ...] = ()
