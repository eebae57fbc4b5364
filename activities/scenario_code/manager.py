"""Find and load scenario packages: folders with ``scenario.json``, an initial state and ``evaluators.py`` (seed 000,
3.2).

``load_package`` and ``load_evaluators`` run code of the folder, so the worker runs them by ``processes``.
"""

import importlib.util
import inspect
import json
import os
import re
import stat
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json

from proctor.activities.scenario_code import attached_files
from proctor.activities.scenario_code.evaluator_modules import import_evaluators
from proctor.activities.scenario_code.initial_states import InitialStateError, at_time, read_initial_state
from proctor.language.facts import Fact
from proctor.protocol.evaluation import EvaluatorRegistry
from proctor.protocol.scenario import EvaluationCriterion, ScenarioConfig
from proctor.storage.blobs import BlobRef
from purple_sdk.protocol.instances import Instance, did_you_mean
from purple_sdk.protocol.json_safe import is_too_deep
from purple_sdk.protocol.problems import Problem, describe, find_flaw, show_value

DEFAULT_DIRECTORY = "scenarios"
_SCENARIO_FILE = "scenario.json"
_FAMILIES, FAMILY_FILE = "families", "family.py"
_FACTS_FILE = "facts.py"
_EVALUATORS_FILE = "evaluators.py"
_ID = re.compile(r"[A-Za-z0-9_.-]+")
_MANY_TURNS = 1000
LARGEST_FILE = 64 * 1024 * 1024
"""The limit for reading a file, in bytes."""
_MOST_FILES = 2000
LARGEST_ROLE_STATE = 4_000_000
"""The limit for the initial state of a scenario's role, in bytes."""


class ScenarioError(Exception):
    """A scenario that can't be played; the message is a sentence for its caller."""


class ScenarioNotFoundError(ScenarioError):
    """There is no scenario with this id; ``known`` lists the existing ones."""

    def __init__(self, message: str, known: list[str]) -> None:
        super().__init__(message)
        self.known = known


class ScenarioValidationError(ScenarioError):
    """A file of the package is missing or invalid; the message names file, field, value and remedy."""


class InstanceError(ScenarioValidationError):
    """A family can't make a day of this difficulty and seed, or the day can't be played.

    Attributes:
        instance: the day.
        duty: the duty at fault, if known.
        reason: the fault, as the end of a sentence.
    """

    def __init__(self, instance: Instance, reason: str, duty: str | None = None) -> None:
        blamed = f"duty {duty}: {reason}" if duty else reason
        super().__init__(
            f"family {instance.family} makes no day of difficulty {instance.difficulty} and seed {instance.seed}: "
            f"{blamed}"
        )
        self.instance, self.reason, self.duty = instance, reason, duty


class EvaluatorLoadError(ScenarioError):
    """``evaluators.py`` can't be imported, or lacks a function that a criterion names."""


@dataclass(frozen=True)
class ScenarioPackage:
    """A scenario that can be played.

    Attributes:
        config: the scenario, without its initial state, which may be a whole mailbox.
        initial_state: the UES scenario as JSON, without its outer wrapper: ``{metadata, environment, events}``. The
            clock is at the scenario's start. Empty if the state is very large.
        large_state: the hash and size of a very large state, which is read from the frozen files when needed.
        warnings: sentences about content that is allowed and probably unintended.
        role_states: the initial states of the scenario's roles, in the same form.
    """

    directory: Path
    config: ScenarioConfig
    initial_state: bytes
    warnings: list[str]
    large_state: BlobRef | None = None
    role_states: dict[str, bytes] = field(default_factory=dict)

    @property
    def sides(self) -> "dict[str, ScenarioPackage]":
        """The packages of the roles by name. Without roles, it has only this package, under an empty name."""
        return {
            role: replace(self, config=config, initial_state=self.role_states[role], role_states={})
            for role, config in self.config.roles.items()
        } or {"": self}


Fingerprint = tuple[tuple[str, int, int], ...]


class ScenarioManager:
    def __init__(self, directory: str | Path = DEFAULT_DIRECTORY) -> None:
        """Look for scenarios in ``directory``, then among the installed ones."""
        self.directory = _resolve(directory)

    def list_ids(self) -> list[str]:
        """Return the ids of all scenarios, sorted: the names of the subfolders with a ``scenario.json``."""
        if not self.directory.is_dir():
            raise ScenarioNotFoundError(
                Problem(
                    f"the scenarios folder {self.directory} does not exist",
                    "set scenarios_dir (AGENTBEATS_GREEN_SCENARIOS_DIR) to a folder of scenarios",
                ),
                [],
            )
        return sorted({path.parent.name for folder in self._folders() for path in folder.glob(f"*/{_SCENARIO_FILE}")})

    def find(self, scenario_id: str) -> Path:
        """Return the folder of a scenario. Raises ``ScenarioNotFoundError``."""
        known = self.list_ids()
        # An id is a plain name. A name that could leave the folder (separators, "..", NUL) is never an id.
        if not _ID.fullmatch(scenario_id) or scenario_id not in known:
            there_are = f"known scenarios: {', '.join(known)}" if known else f"there are none in {self.directory}"
            families = self.list_families()
            there_are += f"; families: {', '.join(families)}" if families else ""
            near = did_you_mean(scenario_id, [*known, *families])
            raise ScenarioNotFoundError(f"scenario {show_value(scenario_id)} not found; {there_are}{near}", known)
        paths = [folder / scenario_id for folder in self._folders()]
        return next((path for path in paths if (path / _SCENARIO_FILE).is_file()), paths[0])

    def list_families(self) -> list[str]:
        """Return the names of all families, sorted: the subfolders of ``families`` with a ``family.py``."""
        found = {path.parent.name for folder in self._folders() for path in folder.glob(f"{_FAMILIES}/*/{FAMILY_FILE}")}
        return sorted(filter(_ID.fullmatch, found))

    def find_family(self, name: str) -> Path | None:
        """Return the folder of a family; None if there is none with this name, or a fixed scenario has the name."""
        if name not in self.list_families() or name in self.list_ids():
            return None
        paths = [folder / _FAMILIES / name for folder in self._folders()]
        return next(path for path in paths if (path / FAMILY_FILE).is_file())

    def _folders(self) -> list[Path]:
        """Return the chosen folder, then the folder of the installed scenarios."""
        shipped = _installed_folder()
        return [self.directory] if shipped in (None, self.directory) else [self.directory, shipped]


def is_shipped(directory: Path) -> bool:
    """Return whether a scenario's or a family's folder is among the installed ones."""
    folder, name = _installed_folder(), directory.name
    return folder is not None and directory.resolve() in (
        (folder / name).resolve(),
        (folder / _FAMILIES / name).resolve(),
    )


def shipped_folder(scenario_id: str) -> Path | None:
    """Return the folder of the installed scenario with this id; None if there is none."""
    folder = _installed_folder()
    return folder / scenario_id if folder and (folder / scenario_id / _SCENARIO_FILE).is_file() else None


def _resolve(directory: str | Path) -> Path:
    path = Path(directory)
    if str(directory) == DEFAULT_DIRECTORY and not any(path.glob(f"*/{_SCENARIO_FILE}")):
        return _installed_folder() or path.absolute()
    return path.absolute()


@cache
def _installed_folder() -> Path | None:
    """Find the folder without importing the package: activities know scenarios only as folders."""
    spec = importlib.util.find_spec("proctor.scenarios")
    locations = spec.submodule_search_locations if spec else None
    return next((Path(location) for location in locations or []), None)


def fingerprint(directory: Path) -> Fingerprint:
    """Return a fingerprint of a scenario's files without reading them.

    Raises ``ScenarioValidationError`` if there are too many files, or if one isn't a plain file: a link would bring in
    its target.
    """
    files: list[tuple[str, int, int]] = []
    for path in directory.rglob("*"):
        status = path.lstat()
        if stat.S_ISDIR(status.st_mode) or "__pycache__" in path.parts:
            continue
        if not stat.S_ISREG(status.st_mode):
            kind = "a link" if stat.S_ISLNK(status.st_mode) else "a pipe, device or socket"
            where = f"{directory.name}/{path.relative_to(directory)}"
            raise ScenarioValidationError(f"{where} is {kind}: a scenario has plain files only, so copy or remove it")
        files.append((str(path), status.st_mtime_ns, status.st_size))
        if len(files) > _MOST_FILES:
            raise ScenarioValidationError(
                f"{directory.name} has more than {_MOST_FILES} files: keep what isn't the scenario's elsewhere"
            )
    return tuple(sorted(files))


def load_package(directory: Path) -> ScenarioPackage:
    """Read and check the scenario in one folder, but not its evaluators. Raises ``ScenarioValidationError``."""
    data = _read_json(directory / _SCENARIO_FILE, "every scenario needs one")
    if not isinstance(data, dict):
        raise ScenarioValidationError(f"{_where(directory)}: the document is {show_value(data)}: it must be an object")
    try:
        config = ScenarioConfig.admitted(data)
    except ValidationError as error:
        raise ScenarioValidationError(f"{_where(directory)}: {describe(error)}") from None
    initial_state, state_warnings = _load_initial_state(directory, config)
    attach_files(initial_state, directory)
    warnings = [*_config_warnings(directory, config), *state_warnings]
    state = to_json(at_time(initial_state, config.start_time))
    loaded, roles, role_states = {}, {}, {}
    for name, role in config.roles.items():
        loaded[name], found = _load_initial_state(directory, role)
        attach_files(loaded[name], directory)
        warnings += [f"role {name}: {warning}" for warning in found if warning not in warnings]
    attached_files.share(loaded.values())
    for name, role in config.roles.items():
        role_states[name] = to_json(at_time(loaded[name], config.start_time))
        if len(role_states[name]) > LARGEST_ROLE_STATE:
            raise ScenarioValidationError(
                f"{_where(directory)}: roles.{name}.initial_state has {len(role_states[name])} bytes: at most "
                f"{LARGEST_ROLE_STATE} are read for a role"
            )
        roles[name] = role.model_copy(update={"initial_state": {}})
    without_states = config.model_copy(update={"initial_state": {}, "roles": roles})
    return ScenarioPackage(directory, without_states, state, warnings, role_states=role_states)


def _where(directory: Path, file: str = _SCENARIO_FILE) -> str:
    return f"{directory.name}/{file}"


def _load_initial_state(directory: Path, config: ScenarioConfig) -> tuple[dict[str, Any], list[str]]:
    if isinstance(config.initial_state, dict):
        where, data = f"{_where(directory)}: initial_state", config.initial_state
    else:
        name = config.initial_state
        path = directory / name
        if not _is_inside(name, directory):
            raise ScenarioValidationError(
                f"{_where(directory)}: initial_state is {show_value(name)}: name a file in the scenario's own folder"
            )
        where = _where(directory, name)
        data = _read_json(path, f"initial_state of {_SCENARIO_FILE} names it")
    try:
        return read_initial_state(data, config)
    except InitialStateError as error:
        raise ScenarioValidationError(f"{where}: {error}") from None


def _is_inside(name: str, directory: Path) -> bool:
    """Return whether a name leads to an entry of the folder, after following links."""
    path = directory / name
    try:
        return "\0" not in name and path.resolve().is_relative_to(directory.resolve()) and path != directory
    except (OSError, ValueError):
        return False


def attach_files(initial_state: dict[str, Any], directory: Path) -> None:
    """Put the contents of attached files of a scenario's folder into its initial state, in place. Raises
    ``ScenarioValidationError``.
    """
    try:
        attached_files.insert_contents(initial_state, partial(_read_attached, directory))
    except attached_files.AttachedFileError as error:
        raise ScenarioValidationError(f"{directory.name}: {error}") from None


def _read_attached(directory: Path, name: str) -> bytes | None:
    path = directory / name
    if not _is_inside(name, directory) or not path.is_file():
        return None
    return read_regular(path, f"{directory.name}/{name}")


def _read_json(path: Path, why: str) -> Any:
    where = _where(path.parent, path.name)
    try:
        content = read_regular(path, where)
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        raise ScenarioValidationError(f"{where} does not exist: {why}") from None
    except UnicodeDecodeError as error:
        raise ScenarioValidationError(f"{where} is not UTF-8 (byte {error.start}): save it as UTF-8") from None

    def refuse_constant(name: str) -> NoReturn:
        raise ScenarioValidationError(f"{where} contains {name}, which JSON doesn't know: write a number")

    def refuse_doubled(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        document = dict(pairs)
        if len(document) < len(pairs):
            keys = [key for key, _ in pairs]
            doubled = next(key for key in keys if keys.count(key) > 1)
            raise ScenarioValidationError(f"{where}: the key {show_value(doubled)} appears twice in one object")
        return document

    try:
        data = json.loads(text, parse_constant=refuse_constant, object_pairs_hook=refuse_doubled)
    except json.JSONDecodeError as error:
        raise ScenarioValidationError(
            f"{where} is not JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise ScenarioValidationError(f"{where} is nested too deeply to be read") from None
    if is_too_deep(content):
        raise ScenarioValidationError(f"{where} is nested too deeply to be read")
    try:
        to_json(data)
    except PydanticSerializationError:
        flaw = find_flaw(data)
        what = f"{flaw.path} has {flaw.what}: {flaw.remedy}" if flaw else "it can't be written as JSON again"
        raise ScenarioValidationError(f"{where}: {what}") from None
    return data


def read_regular(path: Path, where: str) -> bytes:
    """Read a plain file within the size limit. Other entries are refused unread, since a pipe blocks and a device never
    ends.

    Raises ``FileNotFoundError`` if the file is missing; otherwise ``ScenarioValidationError``.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise ScenarioValidationError(f"{where} is a pipe, device or socket: it must be a plain file")
            if status.st_size > LARGEST_FILE:
                most = LARGEST_FILE // 1024 // 1024
                raise ScenarioValidationError(
                    f"{where} has {status.st_size // 1024 // 1024} MB: at most {most} MB are read"
                )
            return file.read(LARGEST_FILE)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ScenarioValidationError(f"{where} can't be read: {error.strerror}") from None


def load_evaluators(directory: Path, criteria: Iterable[EvaluationCriterion]) -> EvaluatorRegistry:
    """Import a scenario's ``evaluators.py``, and return its functions by name. Raises ``EvaluatorLoadError`` if the
    import fails, or if a function is missing that a criterion names.
    """
    named = {name: c.criterion_id for c in criteria for name in (c.evaluator_id, c.work_evaluator_id) if name}
    where = _where(directory, _EVALUATORS_FILE)
    if not (directory / _EVALUATORS_FILE).is_file():
        if named:
            function, criterion = next(iter(named.items()))
            raise EvaluatorLoadError(
                f"{where} does not exist, but criterion {criterion!r} needs its function {function!r}: write it"
            )
        return {}
    module = _import(directory, where)
    registry = {
        name: value
        for name, value in vars(module).items()
        if (not name.startswith("_") or name in named) and _is_async(value) and _takes_two(value)
    }
    for function, criterion in named.items():
        if function not in registry:
            raise EvaluatorLoadError(f"{where}: {_what_is_wrong(module, function, criterion, sorted(registry))}")
    return registry


def load_facts(directory: Path) -> list[Fact]:
    """Return the facts in the list ``FACTS`` of ``facts.py``; empty without the file. Raises ``EvaluatorLoadError``."""
    if not (directory / _FACTS_FILE).is_file() or not (directory / _EVALUATORS_FILE).is_file():
        return []
    package = _import(directory, _where(directory, _EVALUATORS_FILE)).__package__
    facts = getattr(sys.modules.get(f"{package}.facts"), "FACTS", None)
    if not isinstance(facts, list) or not all(isinstance(fact, Fact) for fact in facts):
        where = _where(directory, _FACTS_FILE)
        raise EvaluatorLoadError(f"{where} needs FACTS, a list of all its facts, and evaluators.py has to import it")
    return facts


def _import(directory: Path, where: str) -> ModuleType:
    try:
        return import_evaluators(directory)
    except SyntaxError as error:
        file = Path(error.filename).name if error.filename else _EVALUATORS_FILE
        line = f" line {error.lineno}" if error.lineno else ""
        raise EvaluatorLoadError(f"{_where(directory, file)}{line} is not Python: {error.msg}") from error
    except BaseException as error:
        # The last frame in the scenario's own folder is the place that its author can fix.
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if Path(frame.filename).is_relative_to(directory)
        ]
        place = f"{_where(directory, Path(frames[-1].filename).name)} line {frames[-1].lineno}" if frames else where
        raise EvaluatorLoadError(f"{place} can't be imported: {type(error).__name__}: {error}") from error


def _is_async(value: Any) -> bool:
    if isinstance(value, type) or not callable(value):
        return False
    return inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(value.__call__)


def _takes_two(value: Callable[..., Any]) -> bool:
    try:
        inspect.signature(value).bind(None, None)
    except (TypeError, ValueError):
        return False
    return True


def _what_is_wrong(module: ModuleType, function: str, criterion: str, there_are: list[str]) -> str:
    value = getattr(module, function, None)
    if value is None:
        known = f"it has {', '.join(there_are)}" if there_are else "it has no evaluator at all"
        return f"function {function!r}, which criterion {criterion!r} names, is missing; {known}"
    remedy = f"write async def {function}(ctx, params)"
    if not _is_async(value):
        return f"{function!r}, which criterion {criterion!r} names, is not an async function: {remedy}"
    return f"{function!r}, which criterion {criterion!r} names, does not take (ctx, params): {remedy}"


def _config_warnings(directory: Path, config: ScenarioConfig) -> list[str]:
    warnings = []
    if config.scenario_id != directory.name:
        warnings.append(f"scenario_id is {config.scenario_id!r}, but the folder is called {directory.name!r}")
    if config.expected_turns > _MANY_TURNS:
        warnings.append(
            f"{config.default_time_step} steps from start_time to end_time make {config.expected_turns} turns: "
            "check end_time and default_time_step"
        )
    others = {key: person for key, person in config.characters.items() if key != config.user_character}
    answering = [*others.values(), *([config.user] if config.user_talks else [])]
    if others and not config.roles and not any(person.scripted_replies for person in answering):
        warnings.append("no character has scripted_replies: offline, no one answers the participant")
    for key, person in others.items():
        if not person.email and not person.phone:
            warnings.append(f"character {key!r} has neither email nor phone: no one can write to them")
    doubly_judged = (c for c in config.criteria if c.evaluator_id and (c.evaluation_prompt or c.rubric))
    warnings.extend(
        f"criterion {criterion.criterion_id!r} has both an evaluator_id and an evaluation_prompt or rubric: "
        "the evaluator function judges it, the rest is not used"
        for criterion in doubly_judged
    )
    return warnings
