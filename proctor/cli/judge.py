"""``proctor judge``: The models that judge."""

from typing import Annotated

import typer
from typer import Argument, Option

from proctor.cli import options
from proctor.cli.options import option

app = typer.Typer(no_args_is_help=True, help="The models that judge.", rich_markup_mode=None)


@app.command("calibrate")
def calibrate_judge(
    scenario_id: Annotated[str, Argument(metavar="SCENARIO", help="The scenario whose cases are judged.")],
    model: str | None = option(None, "M", "The judge's model.  [default: the evaluation model]"),
    base_url: options.BaseUrl = None,
    limit: int | None = option(None, "N", "The largest number of cases, evenly from all kinds.", min=1),
    at_once: int = option(4, "N", "Cases that are asked at a time.", min=1, max=64),
    json_file: str | None = option(None, "FILE", "Write all of it there; - is standard output.", "--json"),
    drafts: bool = Option(False, "--drafts", help="Calibrate the checker of the characters' drafts instead."),
    scenarios_dir: options.Scenarios = None,
    state: options.State = None,
) -> None:
    """Show a model cases whose verdict is known, and say how far it agrees. Results name this calibration."""
    from proctor.cli.judge_commands import CalibrateOptions, run_calibrate, run_calibrate_drafts

    asked = CalibrateOptions(scenario_id, model, base_url, limit, at_once, json_file, scenarios_dir, state)
    (run_calibrate_drafts if drafts else run_calibrate)(asked)


@app.command("again")
def judge_again(
    names: Annotated[list[str], Argument(metavar="ID...", help="Campaigns or assessments, or beginnings of ids.")],
    judge: str | None = option(None, "MODEL", "The model for what needs one.  [default: such verdicts stay]"),
    base_url: options.BaseUrl = None,
    current: bool = Option(False, "--current", help="Today's evaluators, and not those of the time."),
    as_json: bool = Option(False, "--json", help="All of the shift, as JSON."),
    archive: options.Archive = None,
    storage: options.Storage = None,
    scenarios_dir: options.Scenarios = None,
    state: options.State = None,
) -> None:
    """Judge archived runs again, and show the shift. The first verdicts stay; needs nothing that runs."""
    from proctor.cli.judge_again import AgainOptions, judge_again

    asked = AgainOptions(names, judge, base_url, current, as_json, archive, storage, state, scenarios_dir)
    raise typer.Exit(judge_again(asked))
