"""Calibration: measures a judging model by cases with known verdicts.

The figures are kept in the state folder, and results show them (``list_calibrations``). They hold for one scenario, one
model and one version of the judge's prompt.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from pydantic import Field, ValidationError

from proctor.activities.judging.agreement import Agreement, Pair, agreement
from proctor.activities.judging.cases import (
    KINDS,
    CalibrationCase,
    FactCase,
    digest_cases,
    find_criterion,
    find_item,
    records_of_case,
)
from proctor.activities.judging.facts_by_model import criterion_of_facts
from proctor.activities.judging.model_judge import PROMPT_VERSION, Quote, list_item_ids, vote
from proctor.activities.judging.panel import Judge
from proctor.activities.judging.records import Record, windows
from proctor.activities.models.factory import ModelAnswerError, ModelUnavailableError
from proctor.activities.models.usage import Meter
from proctor.activities.plan import Model
from proctor.activities.scenario_code.facts_asked import FactAsked
from proctor.protocol.scenario import ScenarioConfig
from purple_sdk.processes.together import do_all
from purple_sdk.protocol.provenance import ModelUse
from purple_sdk.settings.prices import Prices

FEWEST_KAPPA = 0.6
"""The lowest kappa of a reliable judge. Results warn of judges below it. The value is the lower end of "substantial"
agreement (Landis and Koch, "The Measurement of Observer Agreement for Categorical Data", Biometrics 33, 1977).
"""

Asked = Literal["items", "facts"]
"""The subject of judging: items of rubrics, or facts in texts."""

_TRIES = 4
_FOLDER = "calibrations"
_FACT = "fact"


class CaseOutcome(Model):
    """The author's and the judge's points for one case. If ``judge`` is None, ``reason`` says why the judge's answers
    aren't credible. ``quotes`` are the words of the evidence on which the judge based its verdict.
    """

    id: str
    kind: str
    criterion: str
    item: str
    author: int
    judge: int | None
    most: int
    reason: str
    quotes: list[Quote] = Field(default_factory=list)

    @property
    def pair(self) -> Pair:
        return Pair(self.author, self.judge, self.most)


class Calibration(Model):
    """The figures of a model on a scenario's cases.

    ``cases_digest`` identifies the cases. ``usage`` is None if the model never answered. ``covers`` lists the subjects:
    "items" of rubrics or "facts" in texts.
    """

    scenario_id: str
    model: str
    prompt_version: str
    date: datetime
    cases_digest: str
    shipped_cases: int
    overall: Agreement
    by_kind: dict[str, Agreement]
    by_item: dict[str, Agreement]
    usage: ModelUse | None
    outcomes: list[CaseOutcome]
    covers: list[Asked] = Field(default_factory=lambda: list[Asked](["items"]))

    @property
    def kappa(self) -> float | None:
        """The kappa of items or of facts, the lower of the two. None if either isn't defined."""
        kappas = [
            agreement([outcome.pair for outcome in self.outcomes if (outcome.kind == _FACT) == (what == "facts")]).kappa
            for what in self.covers
        ]
        return None if None in kappas else min((kappa for kappa in kappas if kappa is not None), default=None)

    def find_fault(self) -> str | None:
        """Return why this judge's points aren't reliable; None if they are reliable."""
        kappa = self.kappa
        if kappa is None:
            return f"judge {self.model}: its kappa on the cases of {self.scenario_id} isn't defined"
        if kappa >= FEWEST_KAPPA:
            return None
        return (
            f"judge {self.model}: kappa {kappa:.2f} on the cases of {self.scenario_id}, below {FEWEST_KAPPA}: "
            "its points agree too little with the author's"
        )

    def sum_up(self) -> dict[str, Any]:
        return {
            "judge": self.model,
            "is_calibrated": True,
            "warning": self.find_fault(),
            "covers": self.covers,
            "kappa": self.kappa,
            "accuracy": self.overall.accuracy,
            "cases": self.overall.cases,
            "refused": self.overall.refused,
            "date": self.date.date().isoformat(),
            "prompt_version": self.prompt_version,
            "cases_digest": self.cases_digest,
        }


async def calibrate(
    scenario: ScenarioConfig,
    cases: Sequence[CalibrationCase | FactCase],
    judge: Judge,
    prices: Prices,
    *,
    shipped: int | None = None,
    window: int = 60_000,
    at_once: int = 1,
    on_case: Callable[[CaseOutcome], None] = lambda _outcome: None,
) -> Calibration:
    """Show a judge cases, and compare its verdicts with the author's.

    Each case asks only for its own item. Otherwise, the judge works as in an assessment.

    Args:
        scenario: the scenario of the cases.
        cases: the cases to judge.
        judge: the model.
        prices: the operator's table.
        shipped: how many cases the scenario has, if it has more than ``cases``.
        window: how many characters of evidence the model reads at once.
        at_once: how many cases are judged at a time.
        on_case: called with each case when it is done.

    Raises:
        ModelUnavailableError: the model couldn't be reached, several times in a row.
        ModelSettingsError: the model can't be used as it is configured.
    """
    item_ids = list_item_ids(scenario)
    places = asyncio.Semaphore(at_once)

    async def one(case: CalibrationCase | FactCase) -> CaseOutcome:
        async with places:
            outcome = await _judge_case(case, scenario, judge, item_ids, window)
        on_case(outcome)
        return outcome

    meter = Meter(prices)
    judge = Judge(judge.name, meter.on(judge.llm, judge.name, PROMPT_VERSION))
    outcomes = await do_all(*map(one, cases))
    by_item: dict[str, list[Pair]] = {}
    for outcome in outcomes:
        by_item.setdefault(f"{outcome.criterion}.{outcome.item}", []).append(outcome.pair)
    kinds = [*KINDS, *([_FACT] if any(isinstance(case, FactCase) for case in cases) else [])]
    return Calibration(
        scenario_id=scenario.scenario_id,
        model=judge.name,
        prompt_version=PROMPT_VERSION,
        date=datetime.now(UTC).replace(microsecond=0),
        cases_digest=digest_cases(cases),
        shipped_cases=shipped or len(cases),
        overall=agreement([outcome.pair for outcome in outcomes]),
        by_kind={kind: agreement([result.pair for result in outcomes if result.kind == kind]) for kind in kinds},
        by_item={name: agreement(pairs) for name, pairs in sorted(by_item.items())},
        usage=next(iter(meter.read()), None),
        outcomes=outcomes,
        covers=[
            *(["items"] if any(isinstance(case, CalibrationCase) for case in cases) else []),
            *(["facts"] if any(isinstance(case, FactCase) for case in cases) else []),
        ],
    )


async def _judge_case(
    case: CalibrationCase | FactCase, scenario: ScenarioConfig, judge: Judge, item_ids: tuple[str, ...], window: int
) -> CaseOutcome:
    about: dict[str, Any]
    if isinstance(case, FactCase):
        item_ids = (case.fact,)
        evidence = windows([Record("w1", "writing", case.text, sender="assistant")], window)
        criterion = criterion_of_facts([FactAsked(id=case.fact, statement=case.statement, text=0)])
        about = {"kind": _FACT, "criterion": "facts", "item": case.fact, "author": int(case.is_said), "most": 1}
    else:
        evidence = windows(records_of_case(case, scenario), window)
        criterion = find_criterion(case, scenario)
        about = case.model_dump(include={"kind", "criterion", "item"})
        about |= {"author": case.points, "most": find_item(case, scenario).points}
    outcome = CaseOutcome(id=case.id, judge=None, reason="", **about)
    for number in range(1, _TRIES + 1):
        try:
            ballot = await vote(criterion, item_ids, scenario.user_prompt, evidence, judge.llm, judge.name)
        except ModelAnswerError as error:
            return outcome.model_copy(update={"reason": str(error)[:400]})
        except ModelUnavailableError:
            if number == _TRIES:
                raise
            await asyncio.sleep(2**number)
        else:
            item = ballot.items[0]
            return outcome.model_copy(update={"judge": item.points or 0, "reason": item.reason, "quotes": item.quotes})
    raise AssertionError("the last try returns or raises")


def keep(calibration: Calibration, state: Path) -> Path:
    """Store a calibration in the state folder, and return its file. An earlier calibration of the same scenario, model
    and prompt is replaced.
    """
    path = _file(state, calibration.scenario_id, calibration.model)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    draft.write_text(calibration.model_dump_json(indent=1) + "\n", encoding="utf-8")
    draft.replace(path)
    return path


def find_calibration(state: Path, scenario_id: str, model: str) -> Calibration | None:
    """Return the last calibration of a model on a scenario with today's prompt. None if there is none, or if it can't
    be read.
    """
    try:
        return Calibration.model_validate_json(_file(state, scenario_id, model).read_text(encoding="utf-8"))
    except (OSError, UnicodeError, ValidationError):
        return None


def list_calibrations(state: Path, scenario_id: str, models: Sequence[str], what: Asked) -> list[dict[str, Any]]:
    """Return a result's entries about its judges. Each entry is a short form of a model's calibration, or says that
    there is none.
    """
    rows = []
    for model in dict.fromkeys(models):
        calibration = find_calibration(state, scenario_id, model)
        if calibration is not None and what in calibration.covers:
            rows.append(calibration.sum_up())
            continue
        on = scenario_id if calibration is None else f"the {what} of {scenario_id}"
        warning = f"judge {model}: not calibrated on {on} (`proctor judge calibrate {scenario_id} --model {model}`)"
        rows.append(
            {"judge": model, "is_calibrated": False, "warning": warning, "prompt_version": PROMPT_VERSION},
        )
    return rows


def _file(state: Path, scenario_id: str, model: str) -> Path:
    name = f"{scenario_id}@{quote(model, safe='')}@prompt-{PROMPT_VERSION}.json"
    return state / _FOLDER / name
