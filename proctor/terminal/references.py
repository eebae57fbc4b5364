"""What names an image, an environment and a process in it, as it goes through payloads."""

from collections.abc import Mapping

from pydantic import BaseModel, Field


class ImageRef(BaseModel, frozen=True):
    """A task's image on this engine.

    Attributes:
        name: the image of the container that the agent works in.
        services: the images of all services that were built, by service, where there are several.
    """

    name: str
    services: Mapping[str, str] = Field(default_factory=dict)


class Process(BaseModel, frozen=True):
    """A process in a container: its number there, and when it began (clock ticks since the machine's start)."""

    pid: int
    began: int
    command: str = ""


class EnvironmentRef(BaseModel, frozen=True):
    """A trial's environment, as it is named in payloads.

    Attributes:
        container: the name of the container that the agent works in, for ``docker exec``.
        container_id: the engine's own id; another container of the same name is another environment.
        project: the name that compose knows the services by; None where there is one container.
        workdir: where commands run.
        agent_user: who the agent's commands run as; None is the container's own user.
        own_processes: the processes from before the agent, which are not ended.
        had_tests: the image has a folder ``/tests`` of its own, which is not removed before the tests come.
    """

    run: str
    trial: str
    container: str
    container_id: str
    project: str | None = None
    workdir: str = "/"
    agent_user: str | None = None
    own_processes: tuple[Process, ...] = ()
    had_tests: bool = False
