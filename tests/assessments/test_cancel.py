"""An assessment that is cancelled waits for nothing that it is at, and leaves nothing behind.

How soon it ends is measured by ``make chaos``.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import ClassVar

import pytest
from a2a.types import CancelTaskRequest, GetTaskRequest, Part
from temporalio.client import WorkflowExecutionStatus

from proctor.storage.temporal import connect
from purple_sdk import BasePurpleAgent, create_app
from purple_sdk.protocol.messages import AssessmentCompleteMessage, AssessmentStartMessage, TurnCompleteMessage
from purple_sdk.protocol.results import AssessmentResults
from tests.a2a_gateway.callers import at_once, message, sdk_client, send, state_name
from tests.assessments.observers import running, simulations_left
from tests.sentences import says
from tests.stack import Stack, agent_config, listening, request_json
from tests.waiting import eventually
from tests.work import only_nightly


class Dawdler(BasePurpleAgent):
    """Never ends what it is told to dawdle at; ``seen`` is what happened to it."""

    dawdles_at: ClassVar[str]
    seen: ClassVar[list[str]]

    async def on_assessment_start(self, message: AssessmentStartMessage) -> None:
        await self._do("start")

    async def execute_turn(self) -> TurnCompleteMessage:
        await self._do("turn")
        return self.complete_turn()

    async def on_assessment_complete(self, message: AssessmentCompleteMessage) -> None:
        self.seen.append(f"told {message.reason}")

    async def _do(self, what: str) -> None:
        self.seen.append(what)
        if self.dawdles_at == what:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.seen.append(f"{what} canceled")
                raise


@asynccontextmanager
async def dawdling(at: str) -> AsyncIterator[tuple[str, list[str]]]:
    """Serve one; gives its address and what it will have seen."""
    seen: list[str] = []
    agent = type("Agent", (Dawdler,), {"dawdles_at": at, "seen": seen})
    async with listening(lambda url: create_app(agent, agent_config(url), name="dawdler")) as url:
        yield url, seen


CASES = {
    "set-up": ("start", "tiny", "scenario_loaded", ["start", "start canceled"]),
    "mid-turn": ("turn", "tiny", "turn_started", ["start", "turn", "turn canceled", "told error"]),
    "judging": ("nothing", "evaluator_waits", "evaluation_started", ["start", "turn", "told error"]),
}
CASE_OF = {at: name for name, (at, *_) in CASES.items()}


@pytest.mark.parametrize(
    ("at", "scenario", "update", "expected"),
    # mid-turn by default: test_archiving.py
    [pytest.param(*case, id=name, marks=[only_nightly] * (name == "mid-turn")) for name, case in CASES.items()],
)
async def test_canceled(stack: Stack, at: str, scenario: str, update: str, expected: list[str]) -> None:
    async with (
        dawdling(at) as (url, seen),
        running(stack, url, scenario, max_turns=1) as assessment,
        sdk_client(stack.gateway_url) as caller,
    ):
        await assessment.until(update)
        while at not in (*seen, "nothing"):
            await asyncio.sleep(0.02)
        task = await caller.cancel_task(CancelTaskRequest(id=assessment.task_id))
        ended = await assessment.end()
        assert state_name(task.status.state) == "canceled"
        assert ended.state == "canceled"
        assert ended.sentence == says()
        results = ended.results
        assert results is not None
        assert results == AssessmentResults.model_validate_json(task.artifacts[0].parts[2].raw)
        turns = {"set-up": 0, "mid-turn": 0, "judging": 1}[CASE_OF[at]]
        assert (results.status, results.completion_reason, results.turns_taken) == ("canceled", "canceled", turns)
        assert says().within({criterion.unscored_reason or "" for criterion in results.criteria_results})
        again = await caller.get_task(GetTaskRequest(id=assessment.task_id))
        assert state_name(again.status.state) == "canceled"
        assert await simulations_left(stack) == []
        assert seen == expected
    described = await (await connect(stack.config)).get_workflow_handle(assessment.task_id).describe()
    assert described.status == WorkflowExecutionStatus.CANCELED


async def test_canceled_while_it_waits_for_another_of_its_context(stack: Stack) -> None:
    async with dawdling("turn") as (url, seen), sdk_client(stack.gateway_url, streaming=False) as caller:

        async def ask() -> str:
            request = message(Part(text=request_json(url, "tiny", max_turns=1)), context="a desk with a queue")
            return (await send(caller, at_once(request))).id

        first = await ask()
        while "turn" not in seen:
            await asyncio.sleep(0.02)
        second, third = await ask(), await ask()
        waiting = await caller.cancel_task(CancelTaskRequest(id=second))
        assert state_name(waiting.status.state) == "canceled"
        assert seen == ["start", "turn"]
        await caller.cancel_task(CancelTaskRequest(id=first))
        while seen.count("turn") < 2:
            await asyncio.sleep(0.02)
        assert state_name((await caller.get_task(GetTaskRequest(id=third))).status.state) == "working"
        await caller.cancel_task(CancelTaskRequest(id=third))
        assert seen == ["start", "turn", "turn canceled", "told error"] * 2
    assert await simulations_left(stack) == []


async def test_terminated(stack: Stack) -> None:
    """Whoever terminates an assessment in Temporal lets nobody clean up; workers find what is left."""
    async with dawdling("turn") as (url, seen), running(stack, url, "tiny", max_turns=1) as assessment:
        await assessment.until("turn_started")
        while "turn" not in seen:
            await asyncio.sleep(0.02)
        assert await simulations_left(stack) == [assessment.task_id[:36]]  # participants see no more of it
        await (await connect(stack.config)).get_workflow_handle(assessment.task_id).terminate()
        while await simulations_left(stack):
            await asyncio.sleep(0.1)
        await eventually(lambda: seen == ["start", "turn", "turn canceled"])
