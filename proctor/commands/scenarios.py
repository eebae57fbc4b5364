"""``proctor scenarios``: List, show and check scenarios."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from proctor.commands import options
from proctor.commands.options import option

app = typer.Typer(no_args_is_help=True, help="List, show and check scenarios.", rich_markup_mode=None)


@app.command("list")
def list_scenarios(scenarios_dir: options.Scenarios = None) -> None:
    """List the scenarios and families that there are."""
    from proctor.scenario_commands import list_scenarios

    raise typer.Exit(list_scenarios(scenarios_dir))


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
    if seed is None:
        from proctor.scenario_commands import show_scenario

        show_scenario(scenario_id, scenarios_dir)
    else:
        from proctor.audit.showing import show_day

        show_day(scenario_id, scenarios_dir, difficulty, seed, truth=truth)


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
    from proctor.audit.command import audit_families

    raise typer.Exit(
        audit_families(
            families or [], scenarios_dir, difficulty, seeds, processes=processes, quick=quick, json_file=json_file
        )
    )


@app.command("validate")
def validate_scenario(
    scenario: options.Scenario,
    scenarios_dir: options.Scenarios = None,
    difficulty: int | None = option(None, "N", "Of a family's day.  [default: each of 1 to 4]", min=1, max=4),
    seed: int | None = option(None, "N", "Of a family's day.  [default: 1]"),
) -> None:
    """Check a scenario, or the days of a family. Exit code 1 if one can't be played."""
    from proctor.scenario_commands import validate_scenario

    validate_scenario(scenario, scenarios_dir, difficulty, seed)


@app.command("paraphrases")
def hold_paraphrases(
    scenario: options.Scenario,
    scenarios_dir: options.Scenarios = None,
    by_fact: bool = Option(False, "--by-fact", help="Print the error on held-out lines for each fact."),
) -> None:
    """Hold a scenario's patterns to its paraphrases. Prints the share that they can't tell; exit code 1 if they
    differ.
    """
    from proctor.scenario_commands import hold_paraphrases

    hold_paraphrases(scenario, scenarios_dir, by_fact=by_fact)
