"""Nothing is waited for without end: the participant's address, a judge, the whole assessment."""

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from activities import failures
from activities.participant_client import ParticipantClients
from purple_sdk.ues import AsyncUESClient
from storage.temporal import connect
from tests.assessments.observers import simulations_left
from tests.assessments.scripts import ask_ben, idle
from tests.histories.reading import runs_of
from tests.openai_endpoint import OpenAIEndpoint
from tests.stack import Stack, assess, running_stack, serving

DEADLINE = 8.0
JUDGE = 2.0


@pytest.fixture(scope="module")
def endpoint() -> Iterator[OpenAIEndpoint]:
    with OpenAIEndpoint() as server:
        yield server


@pytest.fixture(scope="module")
def hasty(endpoint: OpenAIEndpoint, scenarios_dir: Path) -> Iterator[Stack]:
    """An evaluator with two seconds for a judge and eight for an assessment."""
    settings: dict[str, str | None] = {
        "OPENAI_API_KEY": "key-of-this-test",
        "AGENTBEATS_GREEN_ASSESSMENT_TIMEOUT": f"PT{DEADLINE:g}S",
        "AGENTBEATS_GREEN_JUDGE_TIMEOUT": f"{JUDGE:g}",
        "AGENTBEATS_GREEN_EVALUATION_MODEL": "openai/judge",
        "AGENTBEATS_GREEN_EVALUATION_BASE_URL": endpoint.base_url,
    }
    with running_stack(scenarios_dir, environment=settings) as stack:
        yield stack


async def test_an_assessment_ends_at_its_deadline(hasty: Stack) -> None:
    async def slows_down(turn: int, ues: AsyncUESClient, now: datetime) -> None:
        await ask_ben(ues)
        if turn == 2:
            await asyncio.sleep(60)

    async with serving(slows_down) as url:
        began = time.monotonic()
        assessed = await assess(hasty, url, "tiny")
        took = time.monotonic() - began
    assert DEADLINE <= took < 30
    assert (assessed.state, assessed.sentence) == (
        "failed",
        "The assessment took longer than it may: its deadline has passed.",
    )
    results = assessed.results
    assert results is not None
    assert (results.status, results.completion_reason, results.turns_taken) == ("timeout", "timeout", 1)
    assert [entry.turn for entry in results.action_log] == [1]
    assert {criterion.unscored_reason for criterion in results.criteria_results} == {assessed.sentence}
    assert await simulations_left(hasty) == []


async def test_a_judge_that_hangs_is_asked_again(hasty: Stack, endpoint: OpenAIEndpoint) -> None:
    def hang_once(_prompt: str) -> dict[str, object]:
        if endpoint.calls == 1:
            time.sleep(JUDGE + 1)
        items = [{"id": name, "reason": "So it is.", "points": 2} for name in ("thanks", "warm")]
        return {"items": items, "explanation": "Polite."}

    endpoint.answer("Now judge the criterion", hang_once)
    async with serving(idle) as url:
        assessed = await assess(hasty, url, "tiny", max_turns=1, offline=False)
    assert assessed.results is not None, assessed.sentence
    manners = assessed.results.criteria_results[2]
    assert (manners.score, manners.judged_by) == (4, "model:openai/judge")
    [run] = await runs_of(await connect(hasty.config), assessed.results.assessment_id)
    begun = [event.activity_task_started_event_attributes for event in run.events]
    assert [attempt for attempt in begun if attempt.last_failure.HasField("timeout_failure_info")]
    assert endpoint.calls >= 2


async def test_a_participant_whose_address_swallows_connections_is_unreachable() -> None:
    clients = ParticipantClients(connect_timeout=0.3)
    began = time.monotonic()
    with black_hole() as url, pytest.raises(ApplicationError) as problem:
        async with clients.talk(url, "an assessment"):
            pass
    await clients.aclose()
    assert time.monotonic() - began < 2
    assert (problem.value.type, problem.value.non_retryable) == (failures.PARTICIPANT_UNREACHABLE, False)
    assert f"Nobody answers at the participant's address {url} (" in problem.value.message


@contextmanager
def black_hole() -> Iterator[str]:
    """An address at which a connection is neither taken nor refused: a listener whose queue is full."""
    waiting: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        try:
            for _ in range(8):
                caller = socket.socket()
                caller.setblocking(False)
                caller.connect_ex(listener.getsockname())
                waiting.append(caller)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            for caller in waiting:
                caller.close()
