"""A terminal task, in either of the two formats."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field


class TaskFormat(StrEnum):
    """The format of a task."""

    ONE = "task.yaml"
    """Terminal-Bench 0.x: ``task.yaml``, ``Dockerfile``, ``docker-compose.yaml``, ``run-tests.sh``, ``tests/``."""

    TWO = "task.toml"
    """Its successor's (Harbor): ``task.toml``, ``instruction.md``, ``environment/``, ``tests/test.sh``."""


class Limits(BaseModel, frozen=True):
    """Limits of each of a task's containers; None is the evaluator's own default (``engine.DefaultLimits``)."""

    cpus: float | None = Field(default=None, gt=0)
    memory_mb: int | None = Field(default=None, ge=6)
    storage_mb: int | None = Field(default=None, gt=0)
    network: Literal["public", "none"] = "public"


class Build(BaseModel, frozen=True):
    """A build of an image: the context's folder, and the Dockerfile's path in it."""

    context: Path
    dockerfile: str = "Dockerfile"
    args: Mapping[str, str] = Field(default_factory=dict)
    target: str | None = None


class Healthcheck(BaseModel, frozen=True):
    """A command that must exit with 0 before the agent begins, as the second format writes it."""

    command: str
    interval_sec: float = Field(default=5.0, gt=0)
    timeout_sec: float = Field(default=30.0, gt=0)
    start_period_sec: float = Field(default=0.0, ge=0)
    start_interval_sec: float = Field(default=5.0, gt=0)
    retries: int = Field(default=3, ge=1)


class Service(BaseModel, frozen=True):
    """Settings of the agent's container, if it is the only one.

    Attributes:
        image: an image by name; with ``build``, the image is built if the name can't be pulled.
        command: in place of the image's own.
        entrypoint: in place of the image's own.
        environment: variables besides the image's.
        working_dir: in place of the image's own.
        user: in place of the image's own.
        more: further settings of the engine's API (``HostConfig``), from the compose file.
    """

    build: Build | None = None
    image: str | None = None
    command: Sequence[str] | None = None
    entrypoint: Sequence[str] | None = None
    environment: Mapping[str, str] = Field(default_factory=dict)
    working_dir: str | None = None
    user: str | None = None
    hostname: str | None = None
    more: Mapping[str, object] = Field(default_factory=dict)


class SolutionCommand(BaseModel):
    """A step of a ``solution.yaml``; times in seconds."""

    command: str
    min_timeout_sec: float = 0.0
    max_timeout_sec: float = 180.0
    block: bool = False
    append_enter: bool = True


class Solution(BaseModel, frozen=True):
    """A task's own solution: a script with the folder that it needs beside it, or a sequence of commands."""

    folder: Path | None = None
    script: Path | None = None
    commands: Sequence[SolutionCommand] = ()
    environment: Mapping[str, str] = Field(default_factory=dict)


class TerminalTask(BaseModel, frozen=True):
    """A playable task; all times in seconds.

    Attributes:
        id: the name of its folder.
        build_timeout: time limit for the build of its image; None if the task sets none.
        parser: the name of the parser that reads the tests' output (``parsers.PARSERS``).
        run_tests_in_same_shell: whether the tests are typed into the agent's shell.
        service: the agent's container. With ``compose_file``, it has values for settings that the file lacks.
        compose_variables: values of ``${NAME}`` in the compose file, besides the formats' own names.
        compose_main: the name of the service that the agent works in.
        agent_user: the user of the agent's commands; None is the image's own user.
        test_user: the user of the tests; None is the image's own user.
        test_script: the script that runs the tests.
        test_environment: variables for the tests besides the container's.
        needs_processes: whether the tests need the processes that the agent left; None if the task doesn't say.
        solution: None if the task has none.
    """

    id: str
    format: TaskFormat
    folder: Path
    instruction: str
    agent_timeout: float
    test_timeout: float
    build_timeout: float | None = None
    limits: Limits = Limits()
    parser: str
    run_tests_in_same_shell: bool = False
    service: Service | None = None
    compose_file: Path | None = None
    compose_variables: Mapping[str, str] = Field(default_factory=dict)
    compose_main: str = "client"
    workdir: str | None = None
    agent_user: str | None = None
    test_user: str | None = None
    healthcheck: Healthcheck | None = None
    tests: Path | None = None
    test_script: Path
    test_environment: Mapping[str, str] = Field(default_factory=dict)
    needs_processes: bool | None = None
    solution: Solution | None = None
    metadata: Mapping[str, object] = Field(default_factory=dict)
