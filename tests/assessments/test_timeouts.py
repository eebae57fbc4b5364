"""Nothing is waited for without end: the participant's address, a worker, a judge, the whole assessment.

A participant that never finishes its turn, with and without signs of life, stands in ``test_bad_requests``.
"""

import asyncio
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from proctor.activities.attempts import failures
from proctor.activities.participant import ParticipantClients
from proctor.settings.config import GreenAgentConfig
from proctor.storage.temporal import connect
from purple_sdk.protocol.messages import AssessmentCompleteMessage
from purple_sdk.ues import AsyncUESClient
from tests.assessments import participants
from tests.assessments.observers import running, simulations_left
from tests.assessments.scripts import ask_ben, idle
from tests.histories.reading import runs_of
from tests.openai_endpoint import OpenAIEndpoint, quoting
from tests.sentences import says
from tests.stack import Stack, assess, listening, running_stack, serving
from tests.work import only_nightly

DEADLINE = 20.0
JUDGE = 5.0


@pytest.fixture(scope="module")
def endpoint() -> Iterator[OpenAIEndpoint]:
    with OpenAIEndpoint() as server:
        yield server


@pytest.fixture(scope="module")
def hasty(endpoint: OpenAIEndpoint, scenarios_dir: Path) -> Iterator[Stack]:
    """An evaluator with five seconds for a judge and twenty for an assessment."""
    settings: dict[str, str | None] = {
        "OPENAI_API_KEY": "key-of-this-test",
        "AGENTBEATS_GREEN_ASSESSMENT_TIMEOUT": f"PT{DEADLINE:g}S",
        "AGENTBEATS_GREEN_JUDGE_TIMEOUT": f"{JUDGE:g}",
        "AGENTBEATS_GREEN_EVALUATION_MODEL": "openai/judge",
        "AGENTBEATS_GREEN_EVALUATION_BASE_URL": endpoint.base_url,
    }
    with running_stack(scenarios_dir, environment=settings) as stack:
        yield stack


@only_nightly
async def test_an_assessment_ends_at_its_deadline(hasty: Stack) -> None:
    """With exactly what of the result is in ``tests/workflows``: a busy machine may not get to turn 2 in time."""
    played: list[int] = []

    async def slows_down(turn: int, ues: AsyncUESClient, now: datetime) -> None:
        await ask_ben(ues)
        if turn == 2:
            await asyncio.Event().wait()
        played.append(turn)

    async with serving(slows_down) as url:
        assessed = await assess(hasty, url, "tiny")
    assert assessed.state == "failed"
    assert assessed.sentence == says()
    results = assessed.results
    assert results is not None
    assert (results.status, results.completion_reason) == ("timeout", "timeout")
    assert results.duration_seconds >= DEADLINE
    assert [entry.turn for entry in results.action_log] == played[: results.turns_taken]
    assert {criterion.unscored_reason for criterion in results.criteria_results} == {assessed.sentence}
    assert await simulations_left(hasty) == []


@only_nightly
async def test_a_judge_that_hangs_is_asked_again(hasty: Stack, endpoint: OpenAIEndpoint) -> None:
    def hang_once(prompt: str) -> dict[str, object]:
        if endpoint.calls == 1:
            time.sleep(JUDGE + 1)
        items = [{"id": name, "reason": "So it is.", "points": 2} for name in ("thanks", "warm")]
        return quoting({"items": items, "explanation": "Polite."})(prompt)

    endpoint.answer("Now judge this criterion", hang_once)
    async with serving(idle) as url:
        assessed = await assess(hasty, url, "tiny", max_turns=1, offline=False)
    assert assessed.results is not None, assessed.sentence
    manners = assessed.results.criteria_results[2]
    assert (manners.score, manners.judged_by) == (4, "model:openai/judge")
    [run] = await runs_of(await connect(hasty.config), assessed.results.assessment_id)
    begun = [event.activity_task_started_event_attributes for event in run.events]
    assert [attempt for attempt in begun if attempt.last_failure.HasField("timeout_failure_info")]
    assert endpoint.calls >= 2


async def test_a_worker_that_hangs_is_missed_at_its_heartbeat(stack: Stack) -> None:
    played: list[int] = []
    goes_on = asyncio.Event()

    async def wait(turn: int, _ues: AsyncUESClient, _now: datetime) -> None:
        played.append(turn)
        await goes_on.wait()

    worker = stack.supervisor.find_pid("worker")
    assert worker is not None
    async with serving(wait) as url, running(stack, url, "tiny", max_turns=1) as assessment:
        await assessment.until("turn_started")
        while not played:
            await asyncio.sleep(0.02)
        client = await connect(stack.config)
        os.kill(worker, signal.SIGSTOP)
        try:
            while "TIMEOUT_TYPE_HEARTBEAT" not in await pending(client, assessment.task_id):
                await asyncio.sleep(0.5)
        finally:
            os.kill(worker, signal.SIGCONT)
        goes_on.set()
        ended = await assessment.end()
    assert ended.state == "completed", ended.sentence
    assert played == [1]


async def pending(client: Client, task_id: str) -> str:
    """The activities that an assessment waits for, as Temporal describes them."""
    described = await client.get_workflow_handle(task_id).describe()
    return "\n".join(map(str, described.raw_description.pending_activities))


async def test_a_participant_that_is_not_where_its_card_says_is_unreachable() -> None:
    async def card(_request: Request) -> JSONResponse:
        return JSONResponse(participants.card_at("http://127.0.0.1:9"))

    clients = ParticipantClients(GreenAgentConfig(connect_timeout=60))
    routes = [Route("/.well-known/agent.json", card)]
    async with (
        listening(lambda _url: Starlette(routes=routes)) as url,
        clients.talk(url, "an assessment") as participant,
    ):
        with pytest.raises(ApplicationError) as problem:
            await participant.send(AssessmentCompleteMessage(reason="error"), "an id")
    await clients.aclose()
    assert problem.value.type == failures.PARTICIPANT_UNREACHABLE
    assert says("http://127.0.0.1:9", url=url).within(problem.value.message)


async def test_a_participant_whose_address_swallows_connections_is_unreachable(tmp_path: Path) -> None:
    settings = GreenAgentConfig(connect_timeout=0.3, storage_url=str(tmp_path))
    clients = ParticipantClients(settings)
    with black_hole() as url, pytest.raises(ApplicationError) as problem:
        async with clients.talk(url, "an assessment"):
            pass
    await clients.aclose()
    assert (problem.value.type, problem.value.non_retryable) == (failures.PARTICIPANT_UNREACHABLE, False)
    assert says(url=url).within(problem.value.message)


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
