"""Scenarios' code that judges as it should, in the processes of one fork server."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from proctor.activities.scenario_code.manager import ScenarioValidationError
from proctor.activities.scenario_code.processes import (
    AT_ONCE,
    EvaluatorFailedError,
    EvaluatorRetryError,
    JudgeJob,
    ScenarioCode,
)
from tests.activities.scenario_code import GOOD, LIMITS, Write, bench_of, criterion_by, judged_by, nobody
from tests.sentences import says

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("quick_fork_servers")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def code() -> AsyncIterator[ScenarioCode]:
    code = ScenarioCode(LIMITS)
    yield code
    await code.aclose()


async def test_an_evaluator_sees_the_evidence_and_its_verdict_comes_back(
    write_scenario: Write, code: ScenarioCode
) -> None:
    directory = write_scenario(files={"evaluators.py": GOOD}) / "small"
    verdict = await judged_by(code, directory, "check")
    assert (verdict.score, verdict.max_score, verdict.judged_by) == (3, 4, "evaluator:check")
    assert verdict.explanation == "{1: 'done'} ['email']"


async def test_the_criteria_of_an_assessment_share_processes_and_the_evidence_is_sent_to_each_once(
    write_scenario: Write, code: ScenarioCode
) -> None:
    files = {
        "evaluators.py": GOOD + "\nimport os\nasync def pid(ctx, params): return EvalResult(1, 1, str(os.getpid()))"
    }
    directory = write_scenario(files=files) / "small"
    fetched = 0
    given = bench_of(directory)

    async def fetch() -> bytes:
        nonlocal fetched
        fetched += 1
        return await given.fetch()

    bench = JudgeJob(given.task, "e", fetch)
    verdicts = await asyncio.gather(*(code.judge(bench, criterion_by("pid"), nobody) for _ in range(19)))
    assert len({verdict.explanation for verdict in verdicts}) <= AT_ONCE
    assert fetched <= AT_ONCE


async def test_a_mended_evaluator_judges_at_once(write_scenario: Write, code: ScenarioCode) -> None:
    directory = write_scenario(files={"evaluators.py": "async def check(ctx, params): return 1 / 0"}) / "small"
    with pytest.raises(EvaluatorFailedError, check=says("evaluators.py")):
        await judged_by(code, directory, "check")
    (directory / "evaluators.py").write_text(GOOD)
    assert (await judged_by(code, directory, "check")).score == 3


async def test_a_lost_simulator_is_no_fault_of_the_scenario(write_scenario: Write, code: ScenarioCode) -> None:
    files = {"evaluators.py": "async def check(ctx, params): await ctx.client.email.get_state()"}
    with pytest.raises(EvaluatorRetryError, check=says()):
        await judged_by(code, write_scenario(files=files) / "small", "check")


async def test_an_evaluator_asks_the_model_through_the_worker(write_scenario: Write, code: ScenarioCode) -> None:
    source = """
from pydantic import BaseModel
class Tone(BaseModel):
    kind: bool
async def check(ctx, params):
    plain = await ctx.llm.ainvoke("How kind?")
    tone = await ctx.llm.with_structured_output(Tone).ainvoke("Kind?")
    return {"score": 1, "max_score": 4, "explanation": f"{plain.content} {tone.kind}"}
"""
    asked = []

    async def ask(question: dict[str, Any]) -> bytes:
        asked.append(question)
        call = {"name": "Tone", "args": {"kind": True}, "id": "1", "type": "tool_call"}
        data = {"content": "Very.", "tool_calls": [call] if question["options"].get("tools") else []}
        return json.dumps({"type": "ai", "data": data}).encode()

    verdict = await judged_by(code, write_scenario(files={"evaluators.py": source}) / "small", "check", ask)
    assert verdict.explanation == "Very. True"
    assert [question["messages"][0]["data"]["content"] for question in asked] == ["How kind?", "Kind?"]


async def test_scenario_json_and_evaluators_may_be_no_pipes_either(write_scenario: Write, code: ScenarioCode) -> None:
    directory = write_scenario() / "small"
    os.mkfifo(directory / "helper.py")
    with pytest.raises(ScenarioValidationError, check=says("helper.py")):
        await code.load(directory)
    (directory / "helper.py").unlink()
    (directory / "scenario.json").unlink()
    os.mkfifo(directory / "scenario.json")
    with pytest.raises(ScenarioValidationError, check=says("scenario.json")):
        await code.load(directory)
