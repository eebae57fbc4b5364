"""Agents that have ``POST /agent/messages`` and no A2A: reached, read, blamed; over real connections."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from temporalio.exceptions import ApplicationError

from proctor.activities.attempts import failures
from proctor.activities.participant import Answer, ParticipantClient, ParticipantClients, PlainParticipant
from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol.terminal import TerminalTaskMessage
from tests.sentences import says
from tests.stack import listening

MESSAGE = TerminalTaskMessage(task_id="t", instruction="Do it.", container="c")
CARD = {
    "name": "n",
    "description": "d",
    "version": "1",
    "protocolVersion": "0.3.0",
    "capabilities": {},
    "skills": [],
    "defaultInputModes": [],
    "defaultOutputModes": [],
}


@asynccontextmanager
async def agent(
    answer: Callable[[], Response] | None, card: Callable[[str], Any] | None = None
) -> AsyncIterator[tuple[ParticipantClient | PlainParticipant, list[dict[str, Any]]]]:
    """A conversation with an agent that answers so, and the messages that it has got."""
    got: list[dict[str, Any]] = []

    async def messages(request: Request) -> Response:
        got.append((await request.json())["message"])
        assert answer is not None
        return answer()

    def make(url: str) -> Starlette:
        routes = [Route("/agent/messages", messages, methods=["POST"])] if answer else []
        if card is not None:
            routes.append(Route("/.well-known/agent.json", lambda _: JSONResponse(card(url))))
        return Starlette(routes=routes)

    clients = ParticipantClients(GreenAgentConfig(participants_allowed="127.0.0.1"))
    async with listening(make) as url:
        try:
            async with clients.talk_in_any_way(url, "a trial") as participant:
                yield participant, got
        finally:
            await clients.aclose()


def parts(*found: Any) -> Callable[[], Response]:
    return lambda: JSONResponse({"result": {"parts": list(found)}})


STREAM = (
    'data: {"status": {"text": "at work"}}\n\n'
    'data: {"result": {"parts": [{"text": "done"}, {"data": {"usage": {"model": "m"}}}]}}\n\n'
)


@pytest.mark.parametrize(
    "answer",
    [
        parts({"text": "done"}, {"data": {"usage": {"model": "m"}}}),
        parts({"root": {"kind": "text", "text": "done"}}, {"kind": "data", "data": {"usage": {"model": "m"}}}),
        lambda: PlainTextResponse(STREAM, media_type="text/event-stream"),
    ],
)
async def test_it_is_told_in_words_and_its_answer_is_read(answer: Callable[[], Response]) -> None:
    noted: list[str | None] = []

    async def note(each: Answer) -> None:
        noted.append(each.task_id)

    async with agent(answer) as (participant, got):
        said = await participant.send(MESSAGE, "an-id", note, text="TASK: Do it.")
    assert said.find_text(100) == "done"
    assert list(said.find_documents()) == [{"usage": {"model": "m"}}]
    assert not said.has_failed
    assert [part["text"] for part in got[0]["parts"]] == ["TASK: Do it."]
    assert noted == ["an-id"]  # before it is sent: an attempt that comes later knows that it was


@pytest.mark.parametrize(
    "answer",
    [
        lambda: JSONResponse({"error": {"message": "no idea"}}, 500),
        lambda: PlainTextResponse("oops", 500),
        lambda: PlainTextResponse("fine"),
    ],
)
async def test_it_says_that_it_failed(answer: Callable[[], Response]) -> None:
    async with agent(answer) as (participant, _):
        said = await participant.send(MESSAGE, "an-id", text="TASK")
    assert said.has_failed
    with pytest.raises(ApplicationError, check=says()):
        said.require_success()


@pytest.mark.parametrize(
    "answer",
    [
        lambda: PlainTextResponse('{"result": {"parts": [{"text": "\\ud83d"}]}}', media_type="application/json"),
        lambda: PlainTextResponse('{"result": {"parts": []}}', media_type="application/json; charset=hex"),
    ],
    ids=["half a surrogate pair", "no character set"],
)
async def test_an_answer_that_cannot_be_read_is_its_own_fault(answer: Callable[[], Response]) -> None:
    async with agent(answer) as (participant, _):
        with pytest.raises(ApplicationError, check=says()) as refused:
            await participant.send(MESSAGE, "an-id", text="TASK")
    assert refused.value.type == failures.PARTICIPANT_MISBEHAVED


async def test_what_is_lost_with_a_worker_begins_again() -> None:
    async with agent(parts({"text": "done"})) as (participant, got):
        with pytest.raises(ApplicationError) as lost:
            await participant.rejoin("an-id")
    assert (lost.value.type, lost.value.non_retryable, got) == (failures.ENVIRONMENT_LOST, True, [])


async def test_its_card_may_name_the_path() -> None:
    async with agent(parts({"text": "done"}), lambda url: {**CARD, "url": f"{url}/agent/messages"}) as (participant, _):
        assert isinstance(participant, PlainParticipant)
        assert (await participant.send(MESSAGE, "an-id", text="TASK")).find_text(100) == "done"


async def test_a_card_of_a2a_is_believed() -> None:
    async with agent(parts({"text": "done"}), lambda url: {**CARD, "url": f"{url}/rpc"}) as (participant, _):
        assert isinstance(participant, ParticipantClient)


async def test_an_address_with_neither_is_told_as_before() -> None:
    with pytest.raises(ApplicationError, check=says()) as refused:
        async with agent(None) as (participant, _):
            await participant.send(MESSAGE, "an-id", text="TASK")
    assert refused.value.type == failures.PARTICIPANT_MISBEHAVED
