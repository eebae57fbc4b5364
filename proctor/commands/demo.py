"""``proctor demo``: play a scenario with the baseline agent. Needs no model; writes assessment_results.json here."""

from typing import Annotated

import typer


def demo(
    scenario: Annotated[str, typer.Option(metavar="ID", help="The scenario to play.")] = "email_triage_basic",
    seed: Annotated[int, typer.Option(metavar="N", help="What every random choice derives from.")] = 42,
    keep: Annotated[bool, typer.Option("--keep", help="Stay up afterwards, until Ctrl-C.")] = False,
) -> None:
    """Play a scenario with the baseline agent. Needs no model; writes assessment_results.json here.

    The assessment is kept in the archive: `proctor list` shows it.
    """
    from proctor.demo import run_demo

    raise typer.Exit(run_demo(scenario, seed, keep))
