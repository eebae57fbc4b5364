"""The families of a scenarios folder, for commands and the Python API.

``proctor.families`` is the function of the API, not this module.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.text import Text

from proctor.activities.scenario_code.allowance import Allowance
from proctor.activities.scenario_code.confinement import Limits
from proctor.activities.scenario_code.families import Family, list_families, write_day
from proctor.activities.scenario_code.manager import (
    FAMILY_FILE,
    ScenarioError,
    ScenarioManager,
    ScenarioNotFoundError,
    ScenarioPackage,
)
from proctor.activities.scenario_code.processes import ScenarioCode
from proctor.common.console import plain_table, show
from proctor.common.errors import CommandError, UsageError, ending_as
from proctor.common.phrases import clean
from proctor.common.settings import read_settings
from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol.instances import Instance

Check = Callable[[ScenarioPackage, str], Awaitable[None]]
"""A function that checks a scenario with a given name, and prints that it can be played."""


def load_families(scenarios_dir: str | Path | None = None) -> list[Family]:
    """All families, sorted by name: those of a folder (by default the settings' folder), and proctor's own."""
    folder = None if scenarios_dir is None else str(scenarios_dir)
    manager = ScenarioManager(read_settings(GreenAgentConfig, scenarios_dir=folder).scenarios_dir)
    with ending_as(UsageError, ScenarioNotFoundError):
        families = list_families(manager)
    if broken := next((family for family in families if not isinstance(family, Family)), None):
        raise CommandError(str(broken))
    return [family for family in families if isinstance(family, Family)]


def is_family(folder: Path) -> bool:
    return (folder / FAMILY_FILE).is_file()


def show_families(console: Console, manager: ScenarioManager) -> bool:
    """Print a line for each family, if there are any; return whether a family's description is broken."""
    families = list_families(manager)
    table = plain_table("family", "name", "ability")
    for family in families:
        if isinstance(family, Family):
            table.add_row(family.name, Text(clean(family.title)), Text(clean(family.ability)))
        else:
            table.add_row(str(family).partition("/")[0], Text(clean(str(family)), style="red"))
    if families:
        console.print()
        show(console, table)
    return not all(isinstance(family, Family) for family in families)


async def check_days(code: ScenarioCode, directory: Path, instances: Sequence[Instance], check: Check) -> None:
    """Make days of the family in a folder, and check each day as a scenario.

    Raises:
        CommandError: a day can't be made, or can't be played; the message names the day.
    """
    for instance in instances:
        with TemporaryDirectory(prefix="proctor-day-") as folder:
            day = Path(folder) / directory.name
            try:
                allowance = Allowance(instance.title)
                files = await code.make(directory, instance, allowance)
                await asyncio.to_thread(write_day, files, day)
                package = await code.load(day, allowance)
            except ScenarioError as error:
                raise CommandError(clean(str(error))) from None
            await check(package, instance.title)


def scenario_code(config: GreenAgentConfig) -> ScenarioCode:
    """Make the processes for scenarios' code, with the limits of the settings. The caller closes them."""
    return ScenarioCode(Limits(seconds=config.evaluator_timeout, memory_mb=config.evaluator_memory_mb))
