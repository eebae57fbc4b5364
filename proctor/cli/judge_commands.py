"""``proctor judge``: how well a model judges a scenario, and tells drafts apart, by cases whose verdict is known."""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from langchain_core.language_models import BaseChatModel
from rich.console import Console
from rich.table import Table
from rich.text import Text

from proctor.activities.characters.draft_cases import DraftOutcome, check_drafts, draft_cases
from proctor.activities.characters.prompts import PROMPT_VERSION
from proctor.activities.judging.agreement import Agreement, Pair, agreement
from proctor.activities.judging.calibration import Calibration, CaseOutcome, calibrate, keep
from proctor.activities.judging.cases import CalibrationCase, CasesError, FactCase, fact_cases, read_cases, sample
from proctor.activities.judging.panel import Judge
from proctor.activities.models.endpoint_queue import set_requests_at_once
from proctor.activities.models.factory import LLMFactory, ModelError, ModelSettingsError
from proctor.activities.scenario_code.manager import ScenarioManager
from proctor.activities.scenario_code.paraphrases import ParaphrasesError, read_paraphrases
from proctor.cli.scenario_commands import held_to_paraphrases, load_scenario
from proctor.common.console import make_console, plain_table, show
from proctor.common.errors import CommandError, UnreachableError, UsageError
from proctor.common.phrases import clean
from proctor.common.settings import read_settings
from proctor.common.state import make_folder
from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol.provenance import ModelUse
from purple_sdk.settings.prices import PricesError, read_prices

_LONGEST_REASON = 100


@dataclass(frozen=True)
class CalibrateOptions:
    scenario_id: str
    model: str | None = None
    base_url: str | None = None
    limit: int | None = None
    at_once: int = 4
    json_file: str | None = None
    scenarios_dir: str | None = None
    state: str | None = None


def run_calibrate(options: CalibrateOptions) -> None:
    """Show a model a scenario's cases, print how far it agrees with their author, and keep that in the state folder."""
    config = read_settings(
        GreenAgentConfig,
        scenarios_dir=options.scenarios_dir,
        state=options.state,
        evaluation_model=options.model,
        evaluation_base_url=options.base_url,
    )
    package = load_scenario(ScenarioManager(config.scenarios_dir), options.scenario_id)
    try:
        prices = read_prices(config.prices)
        shipped = read_cases(package.directory, package.config)
        paraphrases = read_paraphrases(package.directory)
    except (PricesError, CasesError, ParaphrasesError) as problem:
        raise CommandError(clean(str(problem))) from None
    audit = asyncio.run(held_to_paraphrases(package.directory))
    facts = fact_cases(paraphrases, audit.statements)
    if not shipped and not facts:
        raise UsageError(f"{options.scenario_id} ships no cases: write them into its folder calibration/, as *.jsonl")
    cases: list[CalibrationCase | FactCase] = [*sample(shipped, options.limit), *facts]
    if options.limit is not None and len(cases) > options.limit:
        of_facts = min(len(facts), options.limit // 2 if shipped else options.limit)
        cases = [*sample(shipped, options.limit - of_facts), *facts[:of_facts]]
    state = Path(config.state)
    make_folder(state)
    progress = _progress(make_console(sys.stderr), len(cases))
    with asking_model(config, config.evaluation_model, config.evaluation_base_url, "; nothing was kept") as model:
        calibration = asyncio.run(
            calibrate(
                package.config,
                cases,
                Judge(config.evaluation_model, model),
                prices,
                shipped=len(shipped) + len(facts),
                window=config.judge_window,
                at_once=options.at_once,
                on_case=progress,
            )
        )
    try:
        kept = keep(calibration, state)
        if options.json_file and options.json_file != "-":
            Path(options.json_file).write_text(calibration.model_dump_json(indent=1) + "\n", encoding="utf-8")
    except OSError as problem:
        raise CommandError(f"the calibration can't be written: {problem}") from None
    if options.json_file == "-":
        print(calibration.model_dump_json(indent=1))
        return
    _print(make_console(), calibration)
    print(f"kept in {kept}")


@contextmanager
def asking_model(config: GreenAgentConfig, name: str, base_url: str | None, lost: str = "") -> Iterator[BaseChatModel]:
    """A model with the temperature and the limits of a judge in an assessment (``ConfiguredModels``).

    Args:
        config: the evaluator's settings.
        name, base_url: the model's; None for its provider's own address.
        lost: what a failure costs, for the sentence.

    Raises:
        UsageError: a setting of the model is missing or wrong.
        UnreachableError: it doesn't answer.
    """
    set_requests_at_once(config.model_requests_at_once)
    try:
        yield LLMFactory.create(
            name,
            temperature=0.0,
            seed=0,
            base_url=base_url,
            timeout=config.judge_timeout,
            max_tokens=config.judge_max_tokens,
        )
    except ModelSettingsError as problem:
        raise UsageError(clean(str(problem))) from None
    except ModelError as problem:
        raise UnreachableError(f"{clean(str(problem))}{lost}; calibrate again") from None


def _progress(console: Console, total: int) -> Callable[[CaseOutcome], None]:
    """Prints one line a case."""
    numbers = count(1)

    def show_case(outcome: CaseOutcome) -> None:
        points = "refused" if outcome.judge is None else str(outcome.judge)
        line = f"{next(numbers):>4}/{total}  {outcome.id}: judge {points}, author {outcome.author} of {outcome.most}"
        if outcome.judge is None:
            line += f" ({clean(outcome.reason)[:_LONGEST_REASON]})"
        console.print(Text(line, style="" if outcome.judge == outcome.author else "yellow"))

    return show_case


def _print(console: Console, result: Calibration) -> None:
    overall = result.overall
    console.print(Text(f"{result.model} as judge of {result.scenario_id}", style="bold"))
    console.print(
        f"{overall.cases} of {result.shipped_cases} cases, prompt version {result.prompt_version}, "
        f"{result.date:%Y-%m-%d}"
    )
    console.print(
        f"accuracy {overall.accuracy:.1%}, Cohen's kappa {_kappa(overall)}, {overall.refused} answers refused"
    )
    if (fault := result.find_fault()) is not None:
        console.print(Text(f"{fault}. Every result of this judge says so.", style="yellow"))
    console.print(f"{_tokens(result.usage)}\n")
    table = agreement_table("too high", "too low", "refused")
    table.add_column("author, judge: cases", overflow="fold")
    for name, row in [*result.by_kind.items(), *result.by_item.items()]:
        confusion = "; ".join(f"{labels}: {count}" for labels, count in row.confusion.items())
        table.add_row(clean(name), *figures_in_row(row), confusion)
    show(console, table)


def agreement_table(*differing: str) -> Table:
    """A table for rows of ``figures_in_row``, with the names of the cases that a judge sees otherwise."""
    table = plain_table()
    for name in ("", "cases", "right", *differing, "kappa"):
        table.add_column(name, justify="left" if not name else "right")
    return table


def figures_in_row(row: Agreement) -> tuple[str, ...]:
    return (*map(str, (row.cases, row.right, row.too_high, row.too_low, row.refused)), _kappa(row))


def _kappa(row: Agreement) -> str:
    return "-" if row.kappa is None else f"{row.kappa:.2f}"


def _tokens(use: ModelUse | None) -> str:
    if use is None or use.input_tokens is None or use.output_tokens is None:
        return "tokens and cost unknown"
    cached = "" if use.cached_tokens is None else f" ({use.cached_tokens:,} cached)"
    cost = "unknown" if use.cost is None else f"{use.cost:.4f} {use.currency or ''}".rstrip()
    return f"{use.calls} calls, {use.input_tokens:,} tokens in{cached}, {use.output_tokens:,} out; cost {cost}"


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
        _write_drafts(options, figures)
    if options.json_file != "-":
        _print_drafts(options.scenario_id, len(cases), figures)


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


def _write_drafts(options: CalibrateOptions, figures: dict[str, dict[str, Agreement]]) -> None:
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


def _print_drafts(scenario_id: str, count: int, figures: dict[str, dict[str, Agreement]]) -> None:
    console = make_console()
    console.print(Text(f"{count} drafts in the names of people of {scenario_id}", style="bold"))
    table = agreement_table("passed wrongly", "refused wrongly", "unreadable")
    for by, rows in figures.items():
        for kind, row in rows.items():
            table.add_row(f"{by}: {kind}", *figures_in_row(row))
    show(console, table)
