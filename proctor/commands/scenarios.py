"""``proctor scenarios``: List, show and check scenarios."""

from typing import Annotated

import typer

from proctor.commands.options import ScenarioArgument, ScenariosOption

app = typer.Typer(no_args_is_help=True, help="List, show and check scenarios.", rich_markup_mode=None)


@app.command("list")
def list_scenarios(scenarios_dir: ScenariosOption = None) -> None:
    """List the scenarios that there are."""
    from proctor.scenario_commands import list_scenarios

    raise typer.Exit(list_scenarios(scenarios_dir))


@app.command("show")
def show_scenario(
    scenario_id: Annotated[str, typer.Argument(metavar="ID", help="The scenario's id.")],
    scenarios_dir: ScenariosOption = None,
) -> None:
    """Show a scenario. What the user wants, who is in it, what is scored and who judges it."""
    from proctor.scenario_commands import show_scenario

    show_scenario(scenario_id, scenarios_dir)


@app.command("validate")
def validate_scenario(
    scenario: ScenarioArgument,
    scenarios_dir: ScenariosOption = None,
) -> None:
    """Check a scenario. Exit code 1 where it can't be played."""
    from proctor.scenario_commands import validate_scenario

    validate_scenario(scenario, scenarios_dir)


@app.command("paraphrases")
def hold_paraphrases(
    scenario: ScenarioArgument,
    scenarios_dir: ScenariosOption = None,
    by_fact: Annotated[
        bool, typer.Option("--by-fact", help="Print the error on held-out lines for each fact.")
    ] = False,
) -> None:
    """Hold a scenario's patterns to its paraphrases. Prints the share that they can't tell; exit code 1 where they
    differ.
    """
    from proctor.scenario_commands import hold_paraphrases

    hold_paraphrases(scenario, scenarios_dir, by_fact=by_fact)
