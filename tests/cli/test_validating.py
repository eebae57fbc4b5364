"""``proctor scenarios validate``: authors are told what is wrong with data and evaluators before anybody plays."""

import json
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import from_json

from proctor.local.families import scenario_code
from proctor.local.scenario_data import data_problems, unknown_settings
from proctor.local.scenario_trial import try_evaluators
from proctor.settings.config import GreenAgentConfig
from tests.assessments.packages import TINY, edited, write_package
from tests.cli.commands import Sandbox
from tests.sentences import says
from tests.stack import SCENARIOS

MAIL = {
    "modality_type": "email",
    "operation": "receive",
    "timestamp": "2026-03-02T10:00:00+00:00",
    "from_address": "ben@work.example",
    "to_addresses": ["ana@home.example"],
    "subject": "Lunch",
    "body_text": "Yes.",
}


def state(**changes: Any) -> dict[str, Any]:
    return {"metadata": {}, "environment": {"modality_states": {}}, "events": {"events": []}, **changes}


def event(modality: str = "email", **data: Any) -> dict[str, Any]:
    events = [{"scheduled_time": "2026-03-02T10:00:00+00:00", "modality": modality, "data": {**MAIL, **data}}]
    return state(events={"events": events})


@pytest.mark.parametrize("folder", [SCENARIOS / "reschedule_day", SCENARIOS / "email_triage_basic", TINY])
def test_data_that_is_as_the_simulator_knows_it_is_no_problem(folder: Path) -> None:
    assert data_problems(from_json((folder / "initial_state.json").read_bytes())) == []
    assert unknown_settings((folder / "scenario.json").read_bytes()) == []


@pytest.mark.parametrize(
    "data",
    [
        state(event={}),
        state(environment={"modality_states": {"emails": {}}}),
        state(environment={"modality_states": {"email": {"user_email_adress": "a@b.example"}}}),
        state(environment={"modality_states": {"email": {"emails": {"m1": {"is_raed": True}}}}}),
        event(operation="recieve"),
        event(body="x"),
        event("mail"),
        event(to_addresses="ana"),
    ],
)
def test_a_fault_in_the_data_is_named_with_what_may_be_meant(data: dict[str, Any]) -> None:
    problems = data_problems(data)
    assert len(problems) == 1
    assert says().within(problems[0])


EVALUATOR = """
async def {name}(ctx, params):
    {does}
    assert (await ctx.get_state("email"))["emails"] is not None
    return {{"score": 1, "max_score": 1, "explanation": str(len(ctx.action_log))}}
"""

FAULTS = {
    "hasty": "ctx.action_log[0]",
    "narrow": "assert not [a for a in ctx.action_log if 'a' * 9000 in str(a.parameters)]",
    "dependent": "ctx.llm.invoke",
}
"""Evaluators, and what each does."""

HOLDS, CURIOUS = "holds", "curious"


def write_tried(directory: Path) -> Path:
    """A scenario with a criterion for each evaluator, one of which holds."""
    asks = "answer = ctx.llm and await ctx.llm.ainvoke('Was he polite?')"
    does = {HOLDS: "pass", CURIOUS: asks, **FAULTS}

    def one_for_each(scenario: dict[str, Any]) -> None:
        asked = scenario["criteria"][0]
        scenario["criteria"] = [{**asked, "criterion_id": name, "evaluator_id": name} for name in does]

    evaluators = "".join(EVALUATOR.format(name=name, does=what) for name, what in does.items())
    write_package(directory, "tried", change=one_for_each, files={"evaluators.py": evaluators})
    return directory / "tried"


async def test_an_evaluator_that_would_fail_is_named_with_when_and_one_that_holds_is_not(tmp_path: Path) -> None:
    settings = GreenAgentConfig()
    async with aclosing(scenario_code(settings)) as code:
        found = await try_evaluators(await code.load(write_tried(tmp_path)), settings, code)
    for name in FAULTS:
        without_a_model = [said for said in found.faults if f"evaluator {name}" in said and "without" in said]
        assert without_a_model[0] == says(name)
    assert not [said for said in found.faults + found.warnings if said.startswith(f"criterion {HOLDS}")], found
    assert not [said for said in found.faults if said.startswith(f"criterion {CURIOUS}")], found
    [warned] = [
        said for said in found.warnings if said.startswith(f"criterion {CURIOUS}") and "needs_model_for" in said
    ]
    assert says().within(warned)


def test_faults_are_told_all_at_once_and_end_with_1(sandbox: Sandbox) -> None:
    def misspell(state: dict[str, Any]) -> None:
        state["environment"]["modality_states"]["email"]["user_adress"] = "a@b.example"
        state["evnts"] = {}

    broken = edited("initial_state.json", misspell)
    write_package(sandbox.folder, "broken", files={"initial_state.json": broken})
    done = sandbox.call("scenarios", "validate", "./broken")
    assert done.returncode == 1
    assert "broken has 2 faults:" in done.stderr
    assert says().within(done.stderr)
    assert says("user_adress").within(done.stderr)
    assert "Traceback" not in done.stderr


def by_model(points: int) -> Callable[[dict[str, Any]], None]:
    """Add a criterion that a model judges to those of the scenario, which has 20 points of others."""

    def change(scenario: dict[str, Any]) -> None:
        first = scenario["criteria"][0]
        others = {**first, "criterion_id": "counted", "max_score": 20, "evaluator_id": "counted"}
        asked = {**first, "criterion_id": "tact", "max_score": points, "evaluation_prompt": "Was it tactful?"}
        asked = {name: asked[name] for name in asked if name not in ("evaluator_id", "params", "rubric")}
        scenario["criteria"] = [others, asked]

    return change


@pytest.mark.parametrize(
    ("points", "flags", "is_warned"), [(3, ("--offline",), True), (2, ("--offline",), False), (3, (), False)]
)
def test_assess_warns_before_the_start_of_many_unscored_points(
    sandbox: Sandbox, points: int, flags: tuple[str, ...], is_warned: bool
) -> None:
    """It warns before it reaches for the evaluator, which isn't there in this test."""
    write_package(sandbox.folder / "scenarios", "asked", change=by_model(points))
    asked = ("assess", "asked", "--agent", "http://127.0.0.1:9", "--gateway", "http://127.0.0.1:9", *flags)
    done = sandbox.call(*asked)
    assert done.returncode != 0
    assert ("tact (3)" in done.stderr) is is_warned


def test_what_a_scenario_lacks_is_warned_of_and_which_points_need_a_model(sandbox: Sandbox) -> None:
    def misspell(scenario: dict[str, Any]) -> None:
        by_model(2)(scenario)
        scenario["criteria"][0]["params_"] = {}

    counted = EVALUATOR.format(name="counted", does="pass")
    write_package(sandbox.folder, "plain", change=misspell, files={"evaluators.py": counted})
    done = sandbox.call("scenarios", "validate", "./plain")
    assert done.returncode == 0, done.stderr
    assert " ".join(done.stdout.split()) == says("scenario.json", "criteria.0.params_", "2 of 22", "tact (2)")
    assert json.loads((sandbox.folder / "plain" / "scenario.json").read_text())["criteria"]
