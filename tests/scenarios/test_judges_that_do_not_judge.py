"""reschedule_day before an always-yes, an always-no and a coin-flip judge: points come out, and all output names them.

The facts' cases of a calibration are the scenario's own paraphrases; the endpoint is scripted.
"""

import asyncio
import json
import random
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from proctor.activities.judging.calibration import calibrate, keep
from proctor.activities.judging.cases import CalibrationCase, FactCase, fact_cases, read_cases, sample
from proctor.activities.judging.panel import Judge
from proctor.activities.models.factory import LLMFactory
from proctor.activities.scenario_code.manager import load_evaluators, load_facts, load_package
from proctor.activities.scenario_code.paraphrases import read_paraphrases
from proctor.cli.report import print_report
from purple_sdk.settings.prices import Prices
from tests.openai_endpoint import OpenAIEndpoint
from tests.scenarios.playing import Judging, rehearsing
from tests.scenarios.reschedule_day_scripts import IDEAL, script
from tests.stack import SCENARIOS
from tests.work import only_nightly

_CASES = 12
_CHANCE = random.Random(3)


def judging(says_yes: Callable[[], bool]) -> Callable[[str], dict[str, Any]]:
    """A judge that never looks: it quotes the first record that can be quoted, and says what it says."""

    def verdict(prompt: str) -> dict[str, Any]:
        asked = prompt.rpartition("ow judge this criterion:")[2]
        records = [json.loads(line) for line in prompt.splitlines() if line.startswith('{"id": ')]
        quotes = [{"record": record["id"], "quote": record["text"][:20]} for record in records[:1]]
        items = []
        for name, most in re.findall(r"^- (\S+) \((\d+) points?;", asked, re.MULTILINE):
            points = int(most) if says_yes() else 0
            items.append({"id": name, "quotes": quotes, "reason": "so it says", "points": points})
        return {"items": items, "explanation": "so it says"}

    return verdict


async def _calibrated(model: str, base_url: str, state: Path) -> None:
    package = load_package(SCENARIOS / "reschedule_day")
    load_evaluators(package.directory, package.config.criteria)
    statements = {fact.id: fact.statement for fact in load_facts(package.directory)}
    facts = fact_cases(read_paraphrases(package.directory), statements)
    cases: list[CalibrationCase | FactCase] = [
        *sample(read_cases(package.directory, package.config), _CASES // 2),
        *facts[: _CASES // 2],
    ]
    llm = LLMFactory.create(model, base_url=base_url, temperature=0.0)
    keep(await calibrate(package.config, cases, Judge(model, llm), Prices()), state)


@pytest.mark.parametrize(
    ("kind", "says_yes", "least", "most", "warning"),
    [
        ("yes", lambda: True, 80, 100, "kappa 0.00 on the cases of reschedule_day, below 0.6"),
        pytest.param("no", lambda: False, 0, 80, "not calibrated on reschedule_day", marks=only_nightly),
        pytest.param("coin", lambda: _CHANCE.random() < 0.5, 10, 95, r"kappa -?0\.[0-4]\d", marks=only_nightly),
    ],
)
async def test_a_judge_that_does_not_judge_is_named_wherever_its_points_are(
    kind: str,
    says_yes: Callable[[], bool],
    least: int,
    most: int,
    warning: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = f"openai/always-{kind}"
    with OpenAIEndpoint() as endpoint:
        endpoint.answer("ow judge this criterion", judging(says_yes))
        with rehearsing(evaluation_model=model, evaluation_base_url=endpoint.base_url) as rehearsal:
            if kind != "no":
                kept = _calibrated(model, endpoint.base_url, Path(rehearsal.config.state))
                await asyncio.wrap_future(rehearsal.run(kept))
            results = await rehearsal.play("reschedule_day", script(IDEAL), Judging())
    overall = results.scores.overall
    assert least <= overall.score <= most, "points come out all the same"
    assert results.judge_warnings
    assert all(model in judge_warning for judge_warning in results.judge_warnings)
    assert re.search(warning, results.judge_warnings[0])
    screen = StringIO()
    print_report(Console(file=screen, width=200), results, is_whole=False)
    assert f"warning: {results.judge_warnings[0]}" in screen.getvalue()
    with capsys.disabled():
        print(f"\n{kind}: {overall.score_text}/{overall.max_score}; {'; '.join(results.judge_warnings)}")
