"""Find and load the scenario packages that commands name, and check their paraphrases."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

from proctor.activities.scenario_code.manager import (
    ScenarioError,
    ScenarioManager,
    ScenarioNotFoundError,
    ScenarioPackage,
)
from proctor.activities.scenario_code.paraphrases import Held
from proctor.activities.scenario_code.processes import ScenarioCode
from proctor.common.errors import CommandError, UsageError, ending_as
from proctor.common.phrases import clean
from proctor.common.settings import read_settings
from proctor.local.families import scenario_code
from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol.instances import did_you_mean


async def held_to_paraphrases(directory: Path) -> Held:
    """Check the patterns of a scenario's facts by its paraphrases, in a separate process."""
    async with aclosing(scenario_code(read_settings(GreenAgentConfig))) as code:
        return await code.hold(directory)


def load_scenario(manager: ScenarioManager, scenario_id: str) -> ScenarioPackage:
    """Load a scenario. The scenario's problems are raised as errors of a command."""
    return require_playable(load_packages([find_scenario(manager, scenario_id)])[0])


def find_scenario(manager: ScenarioManager, scenario_id: str) -> Path:
    with ending_as(UsageError, ScenarioNotFoundError):
        return manager.find(scenario_id)


def load_packages(directories: Sequence[Path]) -> list[ScenarioPackage | ScenarioError]:
    """Load the packages in some folders, with their code in separate processes. Return each package, or its error."""

    async def load() -> list[ScenarioPackage | ScenarioError]:
        async with aclosing(scenario_code(read_settings(GreenAgentConfig))) as code:
            return await load_all(code, directories)

    return asyncio.run(load())


async def load_all(code: ScenarioCode, directories: Sequence[Path]) -> list[ScenarioPackage | ScenarioError]:
    packages: list[ScenarioPackage | ScenarioError] = []
    for directory in directories:
        try:
            packages.append(await code.load(directory))
        except ScenarioError as error:
            packages.append(error)
    return packages


def require_playable(package: ScenarioPackage | ScenarioError) -> ScenarioPackage:
    if isinstance(package, ScenarioError):
        raise CommandError(clean(str(package)))
    return package


def family_folder(manager: ScenarioManager, name: str) -> Path:
    folder = manager.find_family(name)
    if folder is None:
        known = manager.list_families()
        raise UsageError(f"family {name} not found; families: {', '.join(known) or 'none'}{did_you_mean(name, known)}")
    return folder


def make_manager(scenarios_dir: str | None) -> ScenarioManager:
    return ScenarioManager(read_settings(GreenAgentConfig, scenarios_dir=scenarios_dir).scenarios_dir)
