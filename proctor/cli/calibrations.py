"""Calibrations: how well a model judges a scenario, or checks drafts. They use cases whose verdict is known."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from langchain_core.language_models import BaseChatModel
from rich.console import Console
from rich.table import Table
from rich.text import Text

from proctor.activities.characters.draft_cases import DraftOutcome, check_drafts, draft_cases
from proctor.activities.characters.prompts import PROMPT_VERSION
from proctor.activities.judging.agreement import Agreement, Pair, agreement
from proctor.activities.judging.calibration import Calibration, CaseOutcome
from proctor.activities.models.endpoint_queue import set_requests_at_once
from proctor.activities.models.factory import LLMFactory, ModelError, ModelSettingsError
from proctor.common.console import make_console, plain_table, show
from proctor.common.errors import CommandError, UnreachableError, UsageError
from proctor.common.phrases import clean
from proctor.protocol.scenario import ScenarioConfig
from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol.provenance import ModelUse

_LONGEST_REASON = 100


@contextmanager
def asking_model(config: GreenAgentConfig, name: str, base_url: str | None, lost: str = "") -> Iterator[BaseChatModel]:
    """A model with the temperature and the limits of a judge in an assessment (``ConfiguredModels``).

    Args:
        config: the evaluator's settings.
        name: the model's name.
        base_url: the model's address; None for its provider's address.
        lost: words for the error's sentence: the consequence of a failure.

    Raises:
        UsageError: a setting of the model is missing or wrong.
        UnreachableError: the model doesn't answer.
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
    except ModelSettingsError as error:
        raise UsageError(clean(str(error))) from None
    except ModelError as error:
        raise UnreachableError(f"{clean(str(error))}{lost}; calibrate again") from None


def show_cases(console: Console, total: int) -> Callable[[CaseOutcome], None]:
    """Return a function that prints a line for each case."""
    numbers = count(1)

    def show_case(outcome: CaseOutcome) -> None:
        points = "refused" if outcome.judge is None else str(outcome.judge)
        line = f"{next(numbers):>4}/{total}  {outcome.id}: judge {points}, author {outcome.author} of {outcome.most}"
        if outcome.judge is None:
            line += f" ({clean(outcome.reason)[:_LONGEST_REASON]})"
        console.print(Text(line, style="" if outcome.judge == outcome.author else "yellow"))

    return show_case


def print_calibration(console: Console, result: Calibration) -> None:
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
    """A table for rows of ``figures_in_row``; ``differing`` are headings for the cases that a judge got wrong."""
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


def calibrate_drafts(
    config: GreenAgentConfig, scenario: ScenarioConfig, limit: int | None, json_file: str | None
) -> None:
    """Check drafts in the names of a scenario's people, by the rules alone and with the model. Print the agreement.

    Args:
        limit: the largest number of drafts.
        json_file: the file for the figures; ``-`` is standard output.
    """
    cases = draft_cases(scenario)[:limit]
    if not cases:
        raise UsageError(f"{scenario.scenario_id} has no people with mail addresses: there are no drafts to check")
    checked = {"rules": asyncio.run(check_drafts(cases, scenario, None))}
    name = config.response_checker_model
    if name is not None:
        with asking_model(config, name, config.response_generator_base_url) as model:
            checked[f"rules and {name}"] = asyncio.run(check_drafts(cases, scenario, model))
    figures = {by: _figures(outcomes) for by, outcomes in checked.items()}
    if json_file is not None:
        _write_drafts(scenario.scenario_id, json_file, figures)
    if json_file != "-":
        _print_drafts(scenario.scenario_id, len(cases), figures)


def _figures(outcomes: Sequence[DraftOutcome]) -> dict[str, Agreement]:
    """The agreement on all cases, and on each kind of case. A draft that can be sent has 1 point."""
    pairs = [
        (
            outcome.case.kind,
            Pair(int(outcome.case.kind == "fine"), int(outcome.fault is None) if outcome.is_readable else None, 1),
        )
        for outcome in outcomes
    ]
    kinds = dict.fromkeys(kind for kind, _ in pairs)
    return {
        "all": agreement([pair for _, pair in pairs]),
        **{kind: agreement([pair for name, pair in pairs if name == kind]) for kind in kinds},
    }


def _write_drafts(scenario_id: str, json_file: str | None, figures: dict[str, dict[str, Agreement]]) -> None:
    rows = {by: {kind: row.model_dump() for kind, row in kinds.items()} for by, kinds in figures.items()}
    text = json.dumps({"scenario_id": scenario_id, "prompt_version": PROMPT_VERSION, "checkers": rows}, indent=1)
    if json_file in (None, "-"):
        print(text)
        return
    try:
        Path(str(json_file)).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise CommandError(f"the figures can't be written into {json_file}: {error.strerror}") from None


def _print_drafts(scenario_id: str, count: int, figures: dict[str, dict[str, Agreement]]) -> None:
    console = make_console()
    console.print(Text(f"{count} drafts in the names of people of {scenario_id}", style="bold"))
    table = agreement_table("passed wrongly", "refused wrongly", "unreadable")
    for by, rows in figures.items():
        for kind, row in rows.items():
            table.add_row(f"{by}: {kind}", *figures_in_row(row))
    show(console, table)
