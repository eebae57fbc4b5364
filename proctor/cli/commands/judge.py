"""``proctor judge``: The models that judge."""

from typing import Annotated

import typer
from typer import Argument, Option

from proctor.cli import options
from proctor.cli.commands.results import archive_problems
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
    import asyncio
    import sys
    from pathlib import Path

    from proctor.activities.judging.calibration import calibrate, keep
    from proctor.activities.judging.cases import CalibrationCase, CasesError, FactCase, fact_cases, read_cases, sample
    from proctor.activities.judging.panel import Judge
    from proctor.activities.scenario_code.paraphrases import ParaphrasesError, read_paraphrases
    from proctor.cli.calibrations import asking_model, calibrate_drafts, print_calibration, show_cases
    from proctor.cli.scenario_packages import held_to_paraphrases, load_scenario, make_manager
    from proctor.common.console import make_console
    from proctor.common.errors import CommandError, UsageError
    from proctor.common.phrases import clean
    from proctor.common.settings import read_settings
    from proctor.common.state import make_folder
    from proctor.settings.config import GreenAgentConfig
    from purple_sdk.settings.prices import PricesError, read_prices

    if drafts:
        checker = {"response_checker_model": model, "response_generator_base_url": base_url}
        config = read_settings(GreenAgentConfig, scenarios_dir=scenarios_dir, **checker)
        scenario = load_scenario(make_manager(scenarios_dir), scenario_id).config
        calibrate_drafts(config, scenario, limit, json_file)
        return
    config = read_settings(
        GreenAgentConfig,
        scenarios_dir=scenarios_dir,
        state=state,
        evaluation_model=model,
        evaluation_base_url=base_url,
    )
    package = load_scenario(make_manager(scenarios_dir), scenario_id)
    try:
        prices = read_prices(config.prices)
        shipped = read_cases(package.directory, package.config)
        paraphrases = read_paraphrases(package.directory)
    except (PricesError, CasesError, ParaphrasesError) as error:
        raise CommandError(clean(str(error))) from None
    audit = asyncio.run(held_to_paraphrases(package.directory))
    facts = fact_cases(paraphrases, audit.statements)
    if not shipped and not facts:
        raise UsageError(f"{scenario_id} ships no cases: write them into its folder calibration/, as *.jsonl")
    cases: list[CalibrationCase | FactCase] = [*sample(shipped, limit), *facts]
    if limit is not None and len(cases) > limit:
        of_facts = min(len(facts), limit // 2 if shipped else limit)
        cases = [*sample(shipped, limit - of_facts), *facts[:of_facts]]
    folder = Path(config.state)
    make_folder(folder)
    with asking_model(config, config.evaluation_model, config.evaluation_base_url, "; nothing was kept") as judge:
        calibration = asyncio.run(
            calibrate(
                package.config,
                cases,
                Judge(config.evaluation_model, judge),
                prices,
                shipped=len(shipped) + len(facts),
                window=config.judge_window,
                at_once=at_once,
                on_case=show_cases(make_console(sys.stderr), len(cases)),
            )
        )
    try:
        kept = keep(calibration, folder)
        if json_file and json_file != "-":
            Path(json_file).write_text(calibration.model_dump_json(indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise CommandError(f"the calibration can't be written: {error}") from None
    if json_file == "-":
        print(calibration.model_dump_json(indent=1))
        return
    print_calibration(make_console(), calibration)
    print(f"kept in {kept}")


@app.command("again")
@archive_problems()
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
    import asyncio
    import sys
    import time

    from proctor.cli.judging_again import WORST, choose, compute_shift, judge_all, print_shift, require_model
    from proctor.client.opened_archive import deployment_settings
    from proctor.common.console import make_console
    from proctor.common.errors import CancelledError, CommandError, ExitCode, UsageError
    from proctor.common.phrases import counted
    from proctor.local.court import Court
    from proctor.storage.archive import open_archive

    config = deployment_settings(
        *names,
        archive_url=archive,
        storage_url=storage,
        state=state,
        scenarios_dir=scenarios_dir,
        evaluation_model=judge,
        evaluation_base_url=base_url,
    )
    kept = open_archive(config)
    if judge is not None:
        require_model(judge, config.evaluation_base_url)
    work = choose(kept, names)
    if not work.entries:
        raise UsageError("; ".join(f"{refusal.assessment_id}: {refusal.reason}" for refusal in work.refused))
    court = Court(config, kept, is_current=current, judge=judge)
    began = time.monotonic()
    is_interrupted = asyncio.run(judge_all(court, kept, work))
    seconds = time.monotonic() - began
    if not work.done and is_interrupted:
        raise CancelledError("interrupted before anything was judged again")
    if not work.done:
        reason = "; ".join(f"{refusal.assessment_id}: {refusal.reason}" for refusal in work.refused[:WORST])
        raise CommandError(f"nothing was judged again; {reason}" if reason else "nothing was judged again")
    only = work.campaigns[0] if len(work.campaigns) == 1 else None
    shift = compute_shift(court, kept, work, work.entries, seconds, only)
    for campaign in work.campaigns if not is_interrupted else ():
        members = [entry for entry in work.entries if entry.campaign == campaign.id]
        is_all = campaign is only and len(members) == len(work.entries)
        own = shift if is_all else compute_shift(court, kept, work, members, seconds, campaign)
        ids = {entry.id for entry in members}
        not_judged = [refusal for refusal in own.not_judged if refusal.assessment_id in ids]
        kept.keep_judgement(campaign, own.model_copy(update={"not_judged": not_judged}))
    if as_json:
        print(shift.model_dump_json(indent=1))
    else:
        print_shift(make_console(), shift, len(work.entries), has_judge=judge is not None)
    if is_interrupted:
        left = len(work.entries) - len(work.done)
        print(f"interrupted: {counted(left, 'run')} left; the same command continues there", file=sys.stderr)
        raise typer.Exit(ExitCode.CANCELLED)
    raise typer.Exit(ExitCode.FAILED if work.refused else ExitCode.DONE)
