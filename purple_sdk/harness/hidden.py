"""The folders that a CLI agent must not read: those with the truth of scenarios, and those of other assessments."""

import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path

_SCENARIOS = "scenarios"


def hidden_folders(homes: Path, configured: str = "") -> list[str]:
    """The scenarios that came with proctor, the homes of all assessments, and the folders that are configured.

    Args:
        homes: holds the folders of all assessments.
        configured: more folders, separated as in PATH.
    """
    named = [Path(folder).expanduser() for folder in configured.split(os.pathsep) if folder]
    return sorted({str(folder.resolve()) for folder in (homes, *_shipped_scenarios(), *named)})


def _shipped_scenarios() -> Iterable[Path]:
    """The folders of the installed package ``scenarios``. In a source checkout the whole checkout: tests and history
    tell the truth, too. Found without importing it.
    """
    spec = importlib.util.find_spec(_SCENARIOS)
    for location in (spec.submodule_search_locations if spec else None) or ():
        folder = Path(location)
        yield folder.parent if (folder.parent / "pyproject.toml").is_file() else folder
