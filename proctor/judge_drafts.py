"""``proctor judge calibrate --drafts``: how well rules and a model tell drafts apart that can be sent, or can't."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from activities.characters.draft_cases import DraftOutcome, check_drafts, draft_cases
from activities.characters.prompts import PROMPT_VERSION
from activities.judging.agreement import Agreement, Pair, agreement
from activities.scenario_code.manager import ScenarioManager
from proctor.console import make_console, show
from proctor.errors import CommandError, UsageError
from proctor.judge_commands import CalibrateOptions, agreement_table, asking_model, figures_in_row
from proctor.scenario_commands import load_scenario
from proctor.settings import read_settings
from proctor_settings.config import GreenAgentConfig


def run_calibrate_drafts(options: CalibrateOptions) -> None:
    """Check drafts made from a scenario's people, by the rules alone and with the model; print the agreement."""
    config = read_settings(
        GreenAgentConfig,
        scenarios_dir=options.scenarios_dir,
        response_checker_model=options.model,
        response_generator_base_url=options.base_url,
    )
    scenario = load_scenario(ScenarioManager(config.scenarios_dir), options.scenario_id).config
    cases = draft_cases(scenario)[: options.limit]
    if not cases:
        raise UsageError(f"{options.scenario_id} has no people with mail addresses: there are no drafts to check")
    checked = {"rules": asyncio.run(check_drafts(cases, scenario, None))}
    name = config.response_checker_model
    if name is not None:
        with asking_model(config, name, config.response_generator_base_url) as model:
            checked[f"rules and {name}"] = asyncio.run(check_drafts(cases, scenario, model))
    figures = {by: _figures(outcomes) for by, outcomes in checked.items()}
    if options.json_file is not None:
        _write(options, figures)
    if options.json_file != "-":
        _print(options.scenario_id, len(cases), figures)


def _figures(outcomes: Sequence[DraftOutcome]) -> dict[str, Agreement]:
    """The agreement on all cases and on each kind; a draft that can be sent has 1 point."""
    pairs = [
        (each.case.kind, Pair(int(each.case.kind == "fine"), int(each.fault is None) if each.is_readable else None, 1))
        for each in outcomes
    ]
    kinds = dict.fromkeys(kind for kind, _ in pairs)
    return {
        "all": agreement([pair for _, pair in pairs]),
        **{kind: agreement([pair for name, pair in pairs if name == kind]) for kind in kinds},
    }


def _write(options: CalibrateOptions, figures: dict[str, dict[str, Agreement]]) -> None:
    rows = {by: {kind: row.model_dump() for kind, row in each.items()} for by, each in figures.items()}
    text = json.dumps(
        {"scenario_id": options.scenario_id, "prompt_version": PROMPT_VERSION, "checkers": rows}, indent=1
    )
    if options.json_file in (None, "-"):
        print(text)
        return
    try:
        Path(str(options.json_file)).write_text(text + "\n", encoding="utf-8")
    except OSError as problem:
        raise CommandError(f"the figures can't be written into {options.json_file}: {problem.strerror}") from None


def _print(scenario_id: str, count: int, figures: dict[str, dict[str, Agreement]]) -> None:
    console = make_console()
    console.print(Text(f"{count} drafts in the names of people of {scenario_id}", style="bold"))
    table = agreement_table("passed wrongly", "refused wrongly", "unreadable")
    for by, rows in figures.items():
        for kind, row in rows.items():
            table.add_row(f"{by}: {kind}", *figures_in_row(row))
    show(console, table)
