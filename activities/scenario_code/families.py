"""Families: folders of code that make days, each from a difficulty and a seed.

A family is a folder ``families/NAME`` in a folder of scenarios, with ``family.py`` and ``family.toml``. Its code only
runs in a confined process (``processes.ScenarioCode.make``). This module reads its description.
"""

import ast
import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proctor.activities.scenario_code.evaluator_modules import KIT, KIT_NAMES, READER, installed_kit, installed_reader
from proctor.activities.scenario_code.manager import ScenarioManager, ScenarioValidationError, read_regular
from purple_sdk.protocol.problems import describe

_DESCRIPTION = "family.toml"


class Family(BaseModel):
    """The content of ``family.toml``: a family's title, the ability that it measures, and the number of days in a
    group.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    title: str
    ability: str = ""
    group: int = Field(default=1, ge=1, le=100)


def list_families(manager: ScenarioManager) -> list[Family | ScenarioValidationError]:
    """Return all families: each one's description, or the error in it."""
    found: list[Family | ScenarioValidationError] = []
    for name in manager.list_families():
        directory = manager.find_family(name)
        if directory is None:  # a fixed scenario has this name
            continue
        try:
            found.append(read_family(directory))
        except ScenarioValidationError as error:
            found.append(error)
    return found


def read_family(directory: Path) -> Family:
    """Read the description of the family in a folder. Raises ``ScenarioValidationError``, which names the file and the
    field.
    """
    where = f"{directory.name}/{_DESCRIPTION}"
    try:
        description = tomllib.loads(read_regular(directory / _DESCRIPTION, where).decode())
        return Family.model_validate({**description, "name": directory.name})
    except FileNotFoundError:
        raise ScenarioValidationError(
            f"{where} does not exist: every family needs one, with title and ability"
        ) from None
    except ValidationError as error:
        raise ScenarioValidationError(f"{where}: {describe(error)}") from None
    except (ValueError, RecursionError) as error:  # invalid TOML or Unicode, too many digits or levels
        raise ScenarioValidationError(f"{where} isn't TOML: {error}") from None


def write_day(files: dict[str, bytes], folder: Path) -> None:
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def has_only_the_kit(directory: Path) -> bool:
    """Return whether a frozen scenario's folder has only the installed kit and imports from it.

    A day that a family made has such code: all of its behaviour comes from proctor.
    """
    return all(
        _is_installed(path) if path.parent in (directory / KIT, directory / READER) else _only_imports_the_kit(path)
        for path in directory.rglob("*.py")
    )


def _is_installed(path: Path) -> bool:
    installed = (installed_kit() if path.parent.name == KIT else installed_reader()) / path.name
    return installed.is_file() and installed.read_bytes() == path.read_bytes()


def _only_imports_the_kit(path: Path) -> bool:
    try:
        statements = ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError):
        return False
    return all(map(_does_nothing, statements))


def _does_nothing(statement: ast.stmt) -> bool:
    """Return whether a statement is a docstring, an import of the kit, or an assignment of ``__all__``."""
    match statement:
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.ImportFrom(module=str(module), level=0):
            return f"{module}.".startswith(tuple(f"{name}." for name in KIT_NAMES))
        case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=names)):
            return all(isinstance(name, ast.Constant) for name in names)
        case _:
            return False
