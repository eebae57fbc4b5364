"""Names of an image, an environment and a process in it, for payloads."""

from collections.abc import Mapping

from pydantic import BaseModel, Field


class ImageRef(BaseModel, frozen=True):
    """A task's image on this engine.

    Attributes:
        name: the image of the container that the agent works in.
        services: the images of all services that were built, by service, if there are several.
    """

    name: str
    services: Mapping[str, str] = Field(default_factory=dict)


class Process(BaseModel, frozen=True):
    """A process in a container: its number there, and its start (clock ticks since the machine's start)."""

    pid: int
    began: int
    command: str = ""


class EnvironmentRef(BaseModel, frozen=True):
    """A trial's environment, as payloads name it.

    Attributes:
        container: the name of the container that the agent works in, for ``docker exec``.
        container_id: the engine's own id; another container of the same name is another environment.
        project: compose's name for the services; None if there is one container.
        workdir: the working directory of commands.
        agent_user: the user of the agent's commands; None is the container's own user.
        own_processes: the processes that ran before the agent began; they are not killed.
        had_tests: whether the image has its own folder ``/tests``, which is then not removed before the tests.
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
