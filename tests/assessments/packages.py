"""Scenario packages for the tests: the tiny one, and copies of it with one thing changed each."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

TINY = Path(__file__).parent / "scenarios" / "tiny"

Change = Callable[[dict[str, Any]], Any]


def write_package(
    directory: Path, name: str, *, change: Change | None = None, files: dict[str, str] | None = None
) -> None:
    """Copy the tiny scenario.

    Args:
        directory: the folder of scenarios.
        name: the copy's id.
        change: changes the parsed ``scenario.json`` in place.
        files: other files of the copy, name to content.
    """
    package = directory / name
    shutil.copytree(TINY, package, ignore=shutil.ignore_patterns("__pycache__"))
    scenario = json.loads((package / "scenario.json").read_text())
    scenario["scenario_id"] = name
    if change:
        change(scenario)
    (package / "scenario.json").write_text(json.dumps(scenario))
    for file, content in (files or {}).items():
        (package / file).write_text(content)


def edited(file: str, change: Change) -> str:
    """A JSON file of the tiny scenario with a change."""
    data = json.loads((TINY / file).read_text())
    change(data)
    return json.dumps(data)
