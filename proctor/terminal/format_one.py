"""Tasks of Terminal-Bench's first format: ``task.yaml`` and the files beside it.

Names and defaults are those of the ``terminal-bench`` package (0.2.18) and its documentation.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from proctor.terminal import compose_files, dockerfiles, host_access
from proctor.terminal.notes import Notes
from proctor.terminal.parsers import PARSERS
from proctor.terminal.task_model import Build, Service, Solution, SolutionCommand, TaskFormat, TerminalTask
from purple_sdk.protocol.problems import describe, show_value

MAIN = "client"
"""The service that the agent works in."""


class _Description(BaseModel):
    """An instruction among several, as the earliest tasks have them."""

    key: str
    description: str


class _TaskYaml(BaseModel):
    model_config = ConfigDict(extra="allow")

    instruction: str = ""
    descriptions: list[_Description] = Field(default_factory=list)
    author_name: str = "unknown"
    author_email: str = "unknown"
    difficulty: str = "unknown"
    category: str = "software_engineering"
    tags: list[str] = Field(default_factory=list)
    parser_name: str = "pytest"
    max_agent_timeout_sec: FiniteFloat = Field(default=360.0, gt=0)
    max_test_timeout_sec: FiniteFloat = Field(default=60.0, gt=0)
    run_tests_in_same_shell: bool = False
    disable_asciinema: bool = False
    needs_processes: bool | None = None
    estimated_duration_sec: float | None = None
    expert_time_estimate_min: float | None = None
    junior_time_estimate_min: float | None = None


def read(folder: Path, variables: Mapping[str, str], allowed: Collection[str], notes: Notes) -> TerminalTask | None:
    """Read a task and note its problems. Returns None if the task can't be used.

    Args:
        variables: values for the ``${NAME}`` in its files.
        allowed: names out of ``proctor.settings.config.ALLOWANCES``.
    """
    written = _task_yaml(folder, notes)
    if written is None:
        return None
    instruction = written.instruction or next(
        (description.description for description in written.descriptions if description.key == "base"), ""
    )
    if not instruction.strip():
        notes.fatal("task.yaml: instruction is missing: say there what the agent is to do")
    if written.parser_name not in PARSERS:
        known = ", ".join(sorted(PARSERS))
        notes.fatal(f'task.yaml: parser_name is "{written.parser_name}": use one of {known}')
    script = folder / "run-tests.sh"
    if not script.is_file():
        notes.fatal("run-tests.sh is missing: add the script that runs the tests")
    service, needs_compose = _service(folder, variables, allowed, notes)
    return TerminalTask(
        id=folder.name,
        format=TaskFormat.ONE,
        folder=folder,
        instruction=instruction,
        agent_timeout=written.max_agent_timeout_sec,
        test_timeout=written.max_test_timeout_sec,
        parser=written.parser_name,
        run_tests_in_same_shell=written.run_tests_in_same_shell,
        service=service,
        compose_file=folder / "docker-compose.yaml" if needs_compose else None,
        compose_variables=dict(variables),
        compose_main=MAIN,
        test_user="root",
        tests=folder / "tests" if (folder / "tests").is_dir() else None,
        test_script=script,
        needs_processes=written.needs_processes,
        solution=_solution(folder, notes),
        metadata={
            "difficulty": written.difficulty,
            "category": written.category,
            "tags": written.tags,
            "author_name": written.author_name,
        },
    )


def _task_yaml(folder: Path, notes: Notes) -> _TaskYaml | None:
    raw = load_yaml(folder / "task.yaml", folder, notes)
    if raw is None:
        return None
    if not isinstance(raw, dict):
        notes.fatal(f"task.yaml is {show_value(raw)}: write fields there, such as instruction: …")
        return None
    try:
        written = _TaskYaml.model_validate({str(name): value for name, value in raw.items() if value is not None})
    except ValidationError as error:
        notes.fatal(f"task.yaml: {describe(error)}")
        return None
    notes.unknown("task.yaml", written.model_extra or (), _TaskYaml.model_fields)
    if written.difficulty not in ("easy", "medium", "hard", "unknown"):
        notes.remark(f'task.yaml: difficulty is "{written.difficulty}": use easy, medium or hard')
    return written


def load_yaml(file: Path, folder: Path, notes: Notes) -> Any:
    """Return a YAML file's content; None, with a note, if it can't be read or is empty."""
    text = notes.text(file, folder)
    if text is None:
        return None
    name = file.relative_to(folder)
    try:
        value = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        notes.fatal(f"{name}{where} isn't YAML ({error.problem or error.context}): correct it")
        return None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        notes.fatal(f"{name} isn't YAML ({' '.join(str(error).split())[:200]}): correct it")
        return None
    if value is None:
        notes.fatal(f"{name} is empty: write the task there")
    return value


def _service(
    folder: Path, variables: Mapping[str, str], allowed: Collection[str], notes: Notes
) -> tuple[Service | None, bool]:
    """Return the agent's container, and whether it needs compose."""
    compose = folder / "docker-compose.yaml"
    if not compose.is_file():
        if not (folder / "Dockerfile").is_file():
            notes.fatal("neither docker-compose.yaml nor Dockerfile is there: add what the container is made of")
            return None, False
        notes.remark("docker-compose.yaml is missing: the Dockerfile alone is used, with sleep infinity as its command")
        dockerfiles.check(folder / "Dockerfile", folder, folder, notes)
        return Service(build=Build(context=folder), command=["sh", "-c", "sleep infinity"]), False
    raw = load_yaml(compose, folder, notes)
    if raw is None:
        return None, False
    values = compose_files.PLACEHOLDERS | dict(variables)
    document = compose_files.read(raw, values, MAIN, notes)
    if document is None:
        return None, False
    host_access.note_demands(document, compose, folder, allowed, notes, compose.name)
    for name, definition in document["services"].items():
        build = compose_files.read_build(definition, folder)
        if build is not None:
            dockerfiles.check(build.context / build.dockerfile, build.context, folder, notes)
        elif name == MAIN and definition.get("image") in (None, values[compose_files.IMAGE_NAME]):
            notes.fatal(f"docker-compose.yaml: services.{MAIN} has no build and no image of its own: add build: .")
    service = compose_files.as_service(document, MAIN, folder)
    return service, service is None


def _solution(folder: Path, notes: Notes) -> Solution | None:
    script, commands = folder / "solution.sh", folder / "solution.yaml"
    if script.is_file():
        return Solution(script=script)
    if not commands.is_file():
        notes.remark("there is no solution.sh or solution.yaml: oracle can't play this task")
        return None
    raw = load_yaml(commands, folder, notes)
    if raw is None:
        return None
    try:
        if not isinstance(raw, list):
            raise TypeError
        return Solution(commands=[SolutionCommand.model_validate(command) for command in raw])
    except TypeError:
        notes.fatal(f"solution.yaml is {show_value(raw)}: write a list of commands there, each with command: …")
    except ValidationError as error:
        notes.fatal(f"solution.yaml: {describe(error)}")
    return None
