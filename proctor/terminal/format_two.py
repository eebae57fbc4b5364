"""Tasks of Terminal-Bench's second format (Harbor's): ``task.toml``, ``instruction.md``, ``environment/``, ``tests/``.

Names and defaults are those of the ``harbor`` package (0.25) and its documentation.
"""

import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from proctor.terminal import compose_files, dockerfiles, host_access
from proctor.terminal.format_one import load_yaml
from proctor.terminal.notes import Notes
from proctor.terminal.parsers import REWARD
from proctor.terminal.task_model import Build, Healthcheck, Limits, Service, Solution, TaskFormat, TerminalTask
from purple_sdk.protocol.problems import describe, show_value

MAIN = "main"
"""The service that the agent works in."""

AGENT_SECONDS = 3600.0
"""Seconds that an agent may work at a task without its own limit."""

_TEMPLATE = re.compile(r"\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}")


class _Section(BaseModel):
    model_config = ConfigDict(extra="allow")


class _Environment(_Section):
    build_timeout_sec: FiniteFloat = Field(default=600.0, gt=0)
    docker_image: str | None = None
    os: str = "linux"
    cpus: FiniteFloat | None = Field(default=None, gt=0)
    memory_mb: int | None = Field(default=None, ge=6)
    storage_mb: int | None = Field(default=None, gt=0)
    memory: str | None = None
    storage: str | None = None
    gpus: int | None = None
    gpu_types: list[str] | None = None
    tpu: dict[str, Any] | None = None
    mcp_servers: list[dict[str, Any]] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    skills_dir: str | None = None
    healthcheck: Healthcheck | None = None
    workdir: str | None = None
    network_mode: Literal["no-network", "public", "allowlist"] | None = None
    allowed_hosts: list[str] | None = None
    allow_internet: bool | None = None

    @model_validator(mode="after")
    def _old_names(self) -> "_Environment":
        for old, new in (("memory", "memory_mb"), ("storage", "storage_mb")):
            text = getattr(self, old)
            if text is not None:
                size = compose_files.parse_size(text) // 2**20
                if getattr(self, new) not in (None, size):
                    raise ValueError(f"{old} is {text} and {new} is {getattr(self, new)}: leave {old} out")
                setattr(self, new, size)
        return self


class _Agent(_Section):
    timeout_sec: FiniteFloat | None = Field(default=None, gt=0)
    user: str | int | None = None
    network_mode: str | None = None
    allowed_hosts: list[str] | None = None


class _Verifier(_Section):
    timeout_sec: FiniteFloat = Field(default=600.0, gt=0)
    env: dict[str, str] = Field(default_factory=dict)
    user: str | int | None = None
    environment_mode: Literal["shared", "separate"] | None = None
    environment: dict[str, Any] | None = None
    collect: list[dict[str, Any]] = Field(default_factory=list)
    network_mode: str | None = None
    allowed_hosts: list[str] | None = None


class _Solution(_Section):
    env: dict[str, str] = Field(default_factory=dict)


class _TaskToml(_Section):
    schema_version: str = "1.4"
    version: str | float | None = None
    task: dict[str, Any] | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    verifier: _Verifier = Field(default_factory=_Verifier)
    agent: _Agent = Field(default_factory=_Agent)
    environment: _Environment = Field(default_factory=_Environment)
    solution: _Solution = Field(default_factory=_Solution)
    source: str | None = None
    multi_step_reward_strategy: Literal["mean", "final"] | None = None
    steps: list[dict[str, Any]] | None = None
    artifacts: list[str | dict[str, Any]] = Field(default_factory=list)


def read(folder: Path, variables: Mapping[str, str], allowed: Collection[str], notes: Notes) -> TerminalTask | None:
    written = _task_toml(folder, notes)
    if written is None:
        return None
    _note_what_is_not_played(written, notes)
    instruction = notes.text(folder / "instruction.md", folder) or ""
    if not instruction.strip() and (folder / "instruction.md").exists():
        notes.fatal("instruction.md is empty: say there what the agent is to do")
    script = folder / "tests" / "test.sh"
    if not script.is_file():
        notes.fatal("tests/test.sh is missing: add the script that tests and writes /logs/verifier/reward.txt")
    environment = written.environment
    own = _resolved(environment.env, "environment.env", variables, notes)
    service, compose_file = _service(folder, environment, own, variables, allowed, notes)
    is_offline = environment.network_mode == "no-network" or (
        environment.network_mode is None and environment.allow_internet is False
    )
    needs_processes = written.metadata.get("needs_processes")
    if needs_processes is not None and not isinstance(needs_processes, bool):
        notes.fatal(f"task.toml: metadata.needs_processes is {show_value(needs_processes)}: write true or false")
    solve = folder / "solution" / "solve.sh"
    if not solve.is_file():
        notes.remark("solution/solve.sh is missing: oracle can't play this task")
    return TerminalTask(
        id=folder.name,
        format=TaskFormat.TWO,
        folder=folder,
        instruction=instruction,
        agent_timeout=written.agent.timeout_sec or AGENT_SECONDS,
        test_timeout=written.verifier.timeout_sec,
        build_timeout=environment.build_timeout_sec,
        limits=Limits(
            cpus=environment.cpus,
            memory_mb=environment.memory_mb,
            storage_mb=environment.storage_mb,
            network="none" if is_offline else "public",
        ),
        parser=REWARD,
        service=service,
        compose_file=compose_file,
        compose_variables=dict(variables) | own,
        compose_main=MAIN,
        workdir=environment.workdir,
        agent_user=None if written.agent.user is None else str(written.agent.user),
        test_user=None if written.verifier.user is None else str(written.verifier.user),
        healthcheck=environment.healthcheck,
        tests=folder / "tests",
        test_script=script,
        test_environment=_resolved(written.verifier.env, "verifier.env", variables, notes),
        needs_processes=needs_processes if isinstance(needs_processes, bool) else None,
        solution=Solution(
            folder=folder / "solution",
            script=solve,
            environment=_resolved(written.solution.env, "solution.env", variables, notes),
        )
        if solve.is_file()
        else None,
        metadata=written.metadata,
    )


def _task_toml(folder: Path, notes: Notes) -> _TaskToml | None:
    text = notes.text(folder / "task.toml", folder)
    if text is None:
        return None
    try:
        written = _TaskToml.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        notes.fatal(f"task.toml isn't TOML ({error}): correct it")
        return None
    except ValidationError as error:
        notes.fatal(f"task.toml: {describe(error)}")
        return None
    notes.unknown("task.toml", written.model_extra or (), _TaskToml.model_fields)
    for name in ("verifier", "agent", "environment", "solution"):
        section = getattr(written, name)
        notes.unknown(f"task.toml [{name}]", section.model_extra or (), type(section).model_fields)
    return written


def _note_what_is_not_played(written: _TaskToml, notes: Notes) -> None:
    """Note features of the format that this evaluator lacks, instead of playing such a task wrongly."""
    environment, verifier = written.environment, written.verifier
    if environment.os.lower() != "linux":
        notes.fatal(f'task.toml: environment.os is "{environment.os}": this evaluator plays linux')
    if environment.gpus:
        notes.fatal(f"task.toml: environment.gpus is {environment.gpus}: this evaluator has none to give")
    if environment.tpu:
        notes.fatal("task.toml: environment.tpu asks for a TPU: this evaluator has none to give")
    for where, mode in (
        ("environment", environment.network_mode),
        ("agent", written.agent.network_mode),
        ("verifier", verifier.network_mode),
    ):
        if mode == "allowlist" or (where != "environment" and mode not in (None, environment.network_mode or "public")):
            notes.fatal(
                f'task.toml: {where}.network_mode is "{mode}": this evaluator knows public and no-network for all'
            )
    if environment.allowed_hosts and environment.network_mode != "allowlist":
        notes.fatal("task.toml: environment.allowed_hosts is only for network_mode allowlist: leave it out")
    if verifier.environment_mode == "separate" or verifier.environment is not None:
        notes.fatal(
            "task.toml: verifier.environment asks for a container of its own: this evaluator tests in the agent's"
        )
    if verifier.collect:
        notes.fatal("task.toml: verifier.collect is not known to this evaluator: collect in tests/test.sh")
    if written.steps:
        notes.fatal(f"task.toml: steps has {len(written.steps)} steps: this evaluator plays tasks of one step")
    if environment.mcp_servers:
        notes.remark(
            "task.toml: environment.mcp_servers is not passed to the agent: say in instruction.md how to reach them"
        )
    if environment.skills_dir:
        notes.remark("task.toml: environment.skills_dir is not passed to the agent: name it in instruction.md")
    if written.artifacts:
        notes.remark("task.toml: artifacts are not collected: write what should be kept below /logs")


def _resolved(values: Mapping[str, str], where: str, variables: Mapping[str, str], notes: Notes) -> dict[str, str]:
    """Fill in variables whose values may be ``${NAME}`` or ``${NAME:-default}``."""

    def fill(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if name not in variables and default is None:
            notes.fatal(f"task.toml: {where} needs {name}, which has no value: give the evaluator one for it")
        return variables.get(name, default or "")

    return {name: _TEMPLATE.sub(fill, value) for name, value in values.items()}


def _service(
    folder: Path,
    written: _Environment,
    own: Mapping[str, str],
    variables: Mapping[str, str],
    allowed: Collection[str],
    notes: Notes,
) -> tuple[Service | None, Path | None]:
    """Return the agent's container, and the compose file if it needs compose."""
    context = folder / "environment"
    has_dockerfile = (context / "Dockerfile").is_file()
    plain = Service(
        build=Build(context=context) if has_dockerfile else None,
        image=written.docker_image,
        command=["sh", "-c", "sleep infinity"],
        environment=own,
        working_dir=written.workdir,
    )
    if has_dockerfile:
        dockerfiles.check(context / "Dockerfile", context, folder, notes)
    compose = next((each for name in ("yaml", "yml") if (each := context / f"docker-compose.{name}").is_file()), None)
    if compose is None:
        if not has_dockerfile and written.docker_image is None:
            notes.fatal(
                "environment/Dockerfile is missing, and environment.docker_image too: say what the container is made of"
            )
        return plain, None
    raw = load_yaml(compose, folder, notes)
    if raw is None:
        return None, None
    if isinstance(raw, dict) and isinstance(raw.get("services"), dict) and MAIN not in raw["services"]:
        raw = {**raw, "services": {MAIN: {}, **raw["services"]}}
    document = compose_files.read(raw, compose_files.PLACEHOLDERS | dict(variables) | dict(own), MAIN, notes)
    if document is None:
        return None, None
    host_access.note_demands(document, compose, folder, allowed, notes, f"environment/{compose.name}")
    for name, definition in document["services"].items():
        build = compose_files.read_build(definition, context)
        if build is not None:
            dockerfiles.check(build.context / build.dockerfile, build.context, folder, notes)
        elif not definition.get("image") and not (name == MAIN and (plain.build or plain.image)):
            notes.fatal(f"environment/{compose.name}: services.{name} has no build and no image: add one of them")
    return plain, compose
