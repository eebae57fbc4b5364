"""``proctor scenarios``: List, show and check scenarios."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from proctor.cli import options
from proctor.cli.options import option

app = typer.Typer(no_args_is_help=True, help="List, show and check scenarios.", rich_markup_mode=None)


@app.command("list")
def list_scenarios(scenarios_dir: options.Scenarios = None) -> None:
    """List the scenarios and families that there are."""
    from rich.text import Text

    from proctor.activities.scenario_code.manager import ScenarioError, ScenarioNotFoundError
    from proctor.cli.scenario_packages import load_packages, make_manager
    from proctor.common.console import make_console, plain_table, show
    from proctor.common.errors import ExitCode, UsageError, ending_as
    from proctor.common.phrases import clean
    from proctor.local.families import show_families

    manager = make_manager(scenarios_dir)
    table = plain_table("id", "name")
    for name in ("turns", "criteria", "points"):
        table.add_column(name, justify="right", overflow="fold")
    code = ExitCode.DONE
    with ending_as(UsageError, ScenarioNotFoundError):
        scenario_ids = manager.list_ids()
    packages = load_packages([manager.find(scenario_id) for scenario_id in scenario_ids])
    for scenario_id, package in zip(scenario_ids, packages, strict=True):
        if isinstance(package, ScenarioError):
            code = ExitCode.FAILED
            table.add_row(scenario_id, Text(clean(str(package)), style="red"))
            continue
        config = package.config
        points = sum(criterion.max_score for criterion in config.criteria)
        numbers = (config.expected_turns, len(config.criteria), points)
        table.add_row(scenario_id, Text(clean(config.name)), *map(str, numbers))
    console = make_console()
    show(console, table if table.row_count else Text(f"no scenarios in {manager.directory}"))
    has_faults = show_families(console, manager)
    raise typer.Exit(ExitCode.FAILED if has_faults else code)


@app.command("show")
def show_scenario(
    scenario_id: Annotated[str, Argument(metavar="ID", help="The scenario's or family's id.")],
    scenarios_dir: options.Scenarios = None,
    seed: int | None = Option(None, help="Show the day that a family makes of this seed."),
    difficulty: int = Option(2, min=1, max=4, help="The day's difficulty."),
    truth: bool = Option(False, "--truth", help="Show what is right, too; only for practice seeds."),
) -> None:
    """Show a scenario. What the user wants, who is in it, what is scored and who judges it. With --seed, show the day
    of a family: everything that a participant can read.
    """
    from proctor.cli.scenario_packages import family_folder, load_scenario, make_manager

    if seed is not None:
        from proctor.cli.showing import show_day

        show_day(family_folder(make_manager(scenarios_dir), scenario_id), difficulty, seed, truth=truth)
        return
    from proctor.cli.showing import show_package

    show_package(load_scenario(make_manager(scenarios_dir), scenario_id))


@app.command("audit")
def audit_families(
    families: Annotated[list[str] | None, Argument(metavar="[FAMILY]...", help="All of them by default.")] = None,
    seeds: str = Option("1-5", help="Seeds, such as 1-25 or 3,7."),
    difficulty: str = Option("1-4", help="Difficulties, such as 1-4."),
    scenarios_dir: options.Scenarios = None,
    processes: int = Option(0, min=0, help="Instances at once; 0 for one per processor."),
    quick: bool = Option(False, "--quick", help="Play fewer lapses; leave out checks that need many seeds."),
    json_file: Path | None = Option(None, "--json", help="Write the figures to this file."),
) -> None:
    """Audit families. Each instance must pass all checks before it is played; exit code 1 if one fails."""
    import json
    import os
    import time

    from rich.text import Text

    from proctor.cli.audit import CHECKS, collect_figures, coverage_in_words, make_table, watched
    from proctor.cli.scenario_packages import family_folder, make_manager
    from proctor.client.run_settings import parse_seeds
    from proctor.common.console import make_console, show
    from proctor.common.errors import ExitCode, UsageError
    from proctor.local.audit.families import make_cells, run_studies, summed_up, write_command
    from purple_sdk.protocol.instances import DIFFICULTIES

    levels = parse_seeds(difficulty)
    if wrong := [level for level in levels if level not in DIFFICULTIES]:
        raise UsageError(f"--difficulty {difficulty}: {wrong[0]} isn't one of 1 to 4")
    manager = make_manager(scenarios_dir)
    directories = [family_folder(manager, name) for name in families or manager.list_families()]
    if not directories:
        raise UsageError(f"there are no families in {manager.directory}")
    cells = make_cells(directories, levels, parse_seeds(seeds), quick=quick)
    began, console = time.monotonic(), make_console()
    processes = processes or os.cpu_count() or 1
    reports = watched(cells, processes, console)
    with console.status("looking for shortcuts in 250 days of each family and difficulty"):
        studies = [] if quick else list(run_studies(cells, processes))
    audits = summed_up(reports, studies, quick=quick)
    show(console, make_table(audits))
    for sentence in [] if quick else coverage_in_words(audits):
        show(console, Text(sentence))
    violations = [(audit.name, *violation) for audit in audits for violation in audit.violations]
    for name, check, level, seed, sentence in violations:
        where = f"{name}, difficulty {level}" + (f", seed {seed}" if seed is not None else "")
        console.print(Text(f"check {check} ({CHECKS[check]}), {where}: {sentence}", style="red"))
        console.print(Text(f"  {write_command(name, level, seed, scenarios_dir)}"))
    plays = sum(report.plays for report in reports)
    console.print(
        f"{len(reports)} instances, {plays:,} plays, {len(violations)} violations, {time.monotonic() - began:.0f} s",
        highlight=False,
    )
    if json_file is not None:
        json_file.write_text(json.dumps(collect_figures(audits), indent=1) + "\n", encoding="utf-8")
    raise typer.Exit(ExitCode.FAILED if violations else ExitCode.DONE)


@app.command("validate")
def validate_scenario(
    scenario: options.Scenario,
    scenarios_dir: options.Scenarios = None,
    difficulty: int | None = option(None, "N", "Of a family's day.  [default: each of 1 to 4]", min=1, max=4),
    seed: int | None = option(None, "N", "Of a family's day.  [default: 1]"),
) -> None:
    """Check a scenario, or the days of a family. Exit code 1 if one can't be played."""
    import asyncio
    from contextlib import aclosing

    from proctor.activities.scenario_code.manager import ScenarioPackage
    from proctor.cli.scenario_checks import check_package
    from proctor.cli.scenario_packages import find_scenario, load_all, make_manager, require_playable
    from proctor.common.errors import UsageError
    from proctor.common.settings import read_settings
    from proctor.local.families import check_days, is_family, scenario_code
    from proctor.settings.config import GreenAgentConfig
    from purple_sdk.protocol.instances import DIFFICULTIES, Instance

    folder = Path(scenario)
    if folder.name == "scenario.json":
        folder = folder.parent
    is_path = folder.is_dir() or "/" in scenario
    if is_path and not folder.is_dir():
        raise UsageError(f"{scenario} isn't a folder: name a scenario's folder or its id")
    if is_path:
        family = folder.resolve() if is_family(folder) else None
    else:
        family = make_manager(scenarios_dir).find_family(scenario)
    if family is None and (difficulty is not None or seed is not None):
        raise UsageError(f"{scenario} is a fixed scenario: leave out --difficulty and --seed")
    settings = read_settings(GreenAgentConfig)

    async def validate() -> None:
        async with aclosing(scenario_code(settings)) as code:  # one fork server loads, makes and tries all days

            async def check(package: ScenarioPackage, name: str) -> None:
                await check_package(package, name, settings, code)

            if family is not None:
                difficulties = DIFFICULTIES if difficulty is None else (difficulty,)
                chosen = 1 if seed is None else seed
                days = [Instance(family=family.name, difficulty=level, seed=chosen) for level in difficulties]
                await check_days(code, family, days, check)
                return
            directory = folder.resolve() if is_path else find_scenario(make_manager(scenarios_dir), scenario)
            package = require_playable((await load_all(code, [directory]))[0])
            await check(package, package.config.scenario_id)

    asyncio.run(validate())


@app.command("paraphrases")
def hold_paraphrases(
    scenario: options.Scenario,
    scenarios_dir: options.Scenarios = None,
    by_fact: bool = Option(False, "--by-fact", help="Print the error on held-out lines for each fact."),
) -> None:
    """Hold a scenario's patterns to its paraphrases. Prints the share that they can't tell; exit code 1 if they
    differ.
    """
    import asyncio

    from rich.text import Text

    from proctor.activities.scenario_code.paraphrases import AUTHORS, FOLDER
    from proctor.cli.scenario_checks import FAULTS_TOLD, lines_on_facts
    from proctor.cli.scenario_packages import held_to_paraphrases, load_scenario, make_manager
    from proctor.common.console import make_console
    from proctor.common.errors import CommandError, UsageError
    from proctor.common.phrases import clean

    folder = Path(scenario)
    directory = folder.resolve() if folder.is_dir() else load_scenario(make_manager(scenarios_dir), scenario).directory
    if not any((directory / FOLDER).rglob("*.txt")):
        raise UsageError(f"{scenario} ships no paraphrases: write them into its folder {FOLDER}/{AUTHORS}/, as *.txt")
    audit = asyncio.run(held_to_paraphrases(directory))
    console = make_console()
    if audit.faults:
        faults = [clean(fault) for fault in audit.faults[:FAULTS_TOLD]]
        more = len(audit.faults) - len(faults)
        raise CommandError(
            "\n  ".join(["patterns and paraphrases differ:", *faults, *([f"and {more} more"] * bool(more))])
        )
    console.print(
        Text(
            f"{directory.name}: {audit.facts} facts, {audit.lines:,} paraphrases; patterns can't tell {audit.doubtful} "
            f"of them and misread {audit.misread}, {audit.uncertain_share:.1%} in all"
        )
    )
    for line in lines_on_facts(audit.audited, by_fact=by_fact):
        console.print(Text(line))
