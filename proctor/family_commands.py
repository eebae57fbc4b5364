"""The families of a scenarios folder, for commands and the Python API.

It is not called ``families``: ``proctor.families`` is the function of the API.
"""

from pathlib import Path

from activities.scenario_code.families import Family, list_families
from activities.scenario_code.manager import ScenarioManager, ScenarioNotFoundError
from proctor.errors import CommandError, UsageError
from proctor.settings import read_settings
from proctor_settings.config import GreenAgentConfig


def families_in(scenarios_dir: str | Path | None = None) -> list[Family]:
    """All families, by name: of a folder, by default the one that the settings name, and those that are shipped.

    Raises:
        UsageError: there is no such folder.
        CommandError: the description of one is missing or broken.
    """
    folder = None if scenarios_dir is None else str(scenarios_dir)
    manager = ScenarioManager(read_settings(GreenAgentConfig, scenarios_dir=folder).scenarios_dir)
    try:
        found = list_families(manager)
    except ScenarioNotFoundError as problem:
        raise UsageError(str(problem)) from None
    if broken := next((each for each in found if not isinstance(each, Family)), None):
        raise CommandError(str(broken))
    return [each for each in found if isinstance(each, Family)]
