"""``proctor judge``: The models that judge."""

from typing import Annotated

import typer
from typer import Argument, Option

from proctor.commands import options

app = typer.Typer(no_args_is_help=True, help="The models that judge.", rich_markup_mode=None)


@app.command("calibrate")
def calibrate_judge(
    scenario_id: Annotated[str, Argument(metavar="SCENARIO", help="The scenario whose cases are judged.")],
    model: Annotated[
        str | None, Option(metavar="M", help="The judge's model.  [default: the evaluation model]")
    ] = None,
    base_url: options.BaseUrl = None,
    limit: Annotated[
        int | None, Option(metavar="N", min=1, help="The largest number of cases, evenly from all kinds.")
    ] = None,
    at_once: Annotated[int, Option(metavar="N", min=1, max=64, help="Cases that are asked at a time.")] = 4,
    json_file: Annotated[
        str | None, Option("--json", metavar="FILE", help="Write all of it there; - is standard output.")
    ] = None,
    drafts: Annotated[
        bool, Option("--drafts", help="Calibrate the checker of the characters' drafts instead.")
    ] = False,
    scenarios_dir: options.Scenarios = None,
    state: options.State = None,
) -> None:
    """Show a model cases whose verdict is known, and say how far it agrees. Results name this calibration."""
    from proctor.judge_commands import CalibrateOptions, run_calibrate, run_calibrate_drafts

    asked = CalibrateOptions(scenario_id, model, base_url, limit, at_once, json_file, scenarios_dir, state)
    (run_calibrate_drafts if drafts else run_calibrate)(asked)
