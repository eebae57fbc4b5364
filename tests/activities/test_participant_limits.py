"""What participants send is bounded while it is read: whatever the size, only so much of it is taken."""

import json
import resource
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import repeat
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_core import to_json
from temporalio.exceptions import ApplicationError

from proctor.activities.attempts import failures
from proctor.activities.participant import Answer, ParticipantClient, ParticipantClients, bounded_http, earlier_tasks
from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol.json_safe import is_too_deep
from purple_sdk.protocol.messages import AssessmentCompleteMessage
from tests.hostile import (
    MEGABYTE,
    Answers,
    Hostile,
    Json,
    Request,
    Response,
    announced,
    card,
    events,
    hostile,
    much,
    packed,
)
from tests.sentences import says
from tests.work import some_of

CARD = "/.well-known/agent-card.json"
IN_BUFFERS = 30 * MEGABYTE
"""What a server may have sent off before it notices that nobody reads on: the kernel's buffers, on both ends."""

WAYS = {
    "JSON-RPC": ({}, "/rpc"),
    "JSON-RPC 0.3": ({"protocol": "0.3.0"}, "/rpc"),
    "REST": ({"binding": "HTTP+JSON"}, "/rpc/message:send"),
    "REST 0.3": ({"binding": "HTTP+JSON", "protocol": "0.3.0"}, "/rpc/v1/message:send"),
}
STREAMS = {
    "JSON-RPC": ({}, "/rpc"),
    "JSON-RPC 0.3": ({"protocol": "0.3.0"}, "/rpc"),
    "REST": ({"binding": "HTTP+JSON"}, "/rpc/message:stream"),
    "REST 0.3": ({"binding": "HTTP+JSON", "protocol": "0.3.0"}, "/rpc/v1/message:stream"),
}


@asynccontextmanager
async def talking(server: Hostile, **settings: Any) -> AsyncIterator[ParticipantClient]:
    clients = ParticipantClients(GreenAgentConfig(**settings))
    try:
        async with clients.talk(server.url, "an assessment") as participant:
            yield participant
    finally:
        await clients.aclose()


async def refusal(server: Hostile, **settings: Any) -> str:
    """The sentence with which a participant fails that is told something; more tries would not help."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ApplicationError) as problem:
        async with talking(server, **settings) as participant:
            (await participant.send(AssessmentCompleteMessage(reason="error"), "an id")).to_turn()
    assert (problem.value.type, problem.value.non_retryable) == (failures.PARTICIPANT_MISBEHAVED, True)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150 * 1024
    return problem.value.message.replace(server.url, "URL")


TOO_LARGE: dict[str, tuple[Callable[[], Response], str]] = {
    "that says so": (lambda: announced(500), "500,000,000"),
    "that doesn't say so": (lambda: Response(much(500)), "more than {}"),
    "packed": (lambda: packed(250), "more than {}"),
}


@pytest.mark.parametrize("body", TOO_LARGE)
async def test_a_card_of_500_megabytes(body: str) -> None:
    make, amount = TOO_LARGE[body]
    with hostile({CARD: lambda _: make()}) as server:
        sentence = await refusal(server)
    assert sentence == says(amount.format("1,000,000"), "AGENTBEATS_GREEN_PARTICIPANT_CARD_BYTES")
    assert server.sent < IN_BUFFERS


@pytest.mark.parametrize("body", TOO_LARGE)
@pytest.mark.parametrize("way", WAYS)
async def test_an_answer_of_500_megabytes(way: str, body: str) -> None:
    make, amount = TOO_LARGE[body]
    with speaking(WAYS[way], lambda _: make()) as server:
        sentence = await refusal(server)
    assert sentence == says(amount.format("4,000,000"), "AGENTBEATS_GREEN_PARTICIPANT_ANSWER_BYTES")
    assert server.sent < IN_BUFFERS


@pytest.mark.parametrize("way", some_of(STREAMS, 2))
async def test_one_event_that_never_ends(way: str) -> None:
    with speaking(STREAMS[way], lambda _: events(b"data: " + b"x" * MEGABYTE), streams=True) as server:
        sentence = await refusal(server)
    assert sentence == says("4,000,000", "AGENTBEATS_GREEN_PARTICIPANT_ANSWER_BYTES")
    assert server.sent < IN_BUFFERS


@pytest.mark.parametrize("way", STREAMS)
async def test_a_stream_of_keep_alives_without_end(way: str) -> None:
    with speaking(STREAMS[way], lambda _: events(b": still here\r\n\r\n"), streams=True) as server:
        sentence = await refusal(server, participant_stream_events=1000)
    assert sentence == says("1,000", "AGENTBEATS_GREEN_PARTICIPANT_STREAM_EVENTS")


async def test_a_stream_whose_events_end_in_ways_that_only_some_readers_know() -> None:
    working = {"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}}
    event = b"data: " + json.dumps({"jsonrpc": "2.0", "id": 1, "result": working}).encode() + b"\x0b\x0b"
    with speaking(STREAMS["JSON-RPC"], lambda _: events(event * 100), streams=True) as server:
        sentence = await refusal(server, participant_stream_events=1000)
    assert "1,000 events" in sentence or "4,000,000 bytes" in sentence or "JSON values" in sentence


async def test_a_stream_that_is_long_in_all() -> None:
    with speaking(STREAMS["JSON-RPC"], lambda _: events(b": " + b"x" * MEGABYTE + b"\n\n"), streams=True) as server:
        sentence = await refusal(server, participant_stream_bytes=5 * MEGABYTE)
    assert says("5,000,000").within(sentence)
    assert server.sent < 5 * MEGABYTE + IN_BUFFERS


async def test_a_small_answer_of_very_many_values() -> None:
    answer = (
        b'{"jsonrpc": "2.0", "id": 1, "result": {"message": {"parts": [{"data": [' + b"[]," * MEGABYTE + b"[]]}]}}}"
    )
    with speaking(WAYS["JSON-RPC"], lambda _: Response([answer])) as server:
        sentence = await refusal(server)
    assert says("200,000", "AGENTBEATS_GREEN_PARTICIPANT_ANSWER_VALUES").within(sentence)


async def test_a_small_answer_in_very_many_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_http, "_MOST_PIECES", 10_000)
    with speaking(WAYS["JSON-RPC"], lambda _: Response(repeat(b" "))) as server:
        sentence = await refusal(server)
    assert sentence == says("10,000")


@pytest.mark.parametrize("way", WAYS)
async def test_an_answer_that_is_nested_too_deeply(way: str) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    with speaking(WAYS[way], lambda _: Response([b'{"jsonrpc": "2.0", "id": 1, "result": ', deep, b"}"])) as server:
        sentence = await refusal(server)
    assert sentence == says()


async def test_headers_that_never_end() -> None:
    many = {f"x-{number}": "x" * 1000 for number in range(500)}
    with hostile({CARD: lambda _: Response([b"{}"], headers=many)}) as server:
        assert await refusal(server) == says("100")


async def test_an_answer_that_is_packed_as_nobody_asked() -> None:
    with speaking(WAYS["JSON-RPC"], lambda _: Response([b"x"], headers={"content-encoding": "br"})) as server:
        sentence = await refusal(server)
    assert sentence == says()


async def test_what_is_packed_small_is_unpacked() -> None:
    import gzip

    answer = gzip.compress(json.dumps(turn(notes="Done.")).encode())
    with speaking(WAYS["JSON-RPC"], lambda _: Response([answer], headers={"content-encoding": "gzip"})) as server:
        async with talking(server) as participant:
            said = (await participant.send(AssessmentCompleteMessage(reason="error"), "an id")).to_turn()
    assert said.model_dump()["notes"] == "Done."


def nested(levels: int) -> Any:
    """Lists in lists, as deep as that."""
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


ACTION = {"timestamp": "2026-01-05T09:00:00Z", "action": "email.send", "parameters": {}, "success": True}

TOO_MUCH: dict[str, tuple[Json, list[str]]] = {
    "actions": ({"actions": [0] * 100_000}, ["100,000", "1,000", "AGENTBEATS_GREEN_PARTICIPANT_ACTIONS"]),
    "notes": ({"notes": "é" * 40_000}, ["80,000", "64,000", "AGENTBEATS_GREEN_PARTICIPANT_NOTES_BYTES"]),
    "reason": (
        {"message_type": "early_completion", "reason": "x" * 64_001},
        ["64,001", "64,000", "AGENTBEATS_GREEN_PARTICIPANT_NOTES_BYTES"],
    ),
    "report": (
        {"actions": [{**ACTION, "parameters": {"body_text": "x" * 600_000}}]},
        ["600,160", "500,000", "AGENTBEATS_GREEN_PARTICIPANT_REPORT_BYTES"],
    ),
    "values": ({"actions": [{**ACTION, "parameters": {"to": [0] * 20_000}}]}, ["20,009", "20,000"]),
}


@pytest.mark.parametrize("what", TOO_MUCH)
async def test_a_report_of_a_turn_that_is_too_much(what: str) -> None:
    fields, facts = TOO_MUCH[what]
    with speaking(WAYS["JSON-RPC"], lambda _: turn(**fields)) as server:
        assert await refusal(server) == says(*facts)


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"notes": "done \ud83d"}, "notes"),
        ({"notes": "done \0"}, "notes"),
        ({"actions": [{**ACTION, "parameters": {"to": ["a", "b\udc00"]}}]}, "actions[0].parameters.to[1]"),
        ({"actions": [{**ACTION, "parameters": {"\0": 1}}]}, "actions[0].parameters"),
        ({"trajectory": {"cost": float("nan")}}, "trajectory.cost"),
        ({"actions": [{**ACTION, "parameters": {"n": 10**400}}]}, "actions[0].parameters.n"),
        ({"trajectory": {"a": nested(150)}}, "trajectory.a" + "[0]" * 28),
        ({"actions": [{**ACTION, "parameters": {"a": nested(230)}}]}, "actions[0].parameters.a" + "[0]" * 26),
    ],
)
async def test_what_no_store_can_keep_is_the_participants_failure_at_once(fields: Json, place: str) -> None:
    with speaking(WAYS["JSON-RPC"], lambda _: turn(**fields)) as server:
        assert await refusal(server) == says("turn_start", place)


async def test_a_report_that_is_just_enough() -> None:
    with speaking(WAYS["JSON-RPC"], lambda _: turn(actions=[ACTION] * 1000, notes="x" * 64_000)) as server:
        async with talking(server) as participant:
            said = (await participant.send(AssessmentCompleteMessage(reason="error"), "an id")).to_turn()
    assert len(said.model_dump()["actions"]) == 1000


async def test_a_task_with_an_endless_name() -> None:
    task = {"task": {"id": "x" * 1_000_000, "status": {"state": "TASK_STATE_WORKING"}}}
    with speaking(WAYS["JSON-RPC"], lambda _: {"jsonrpc": "2.0", "id": 1, "result": task}) as server:
        assert await refusal(server) == says("1,000,000", "256")


async def test_a_participant_with_very_many_tasks_is_asked_to_stop_some_of_them() -> None:
    """Each request takes a connection, of which a worker has no more than files; those that are known come first."""
    canceled: list[str] = []

    async def list_unfinished() -> list[str]:
        return [f"task-{number}" for number in range(5_000)]

    async def cancel(task_id: str) -> None:
        canceled.append(task_id)

    participant: Any = SimpleNamespace(list_unfinished=list_unfinished, cancel=cancel)
    await earlier_tasks.cancel_all(participant, ["known"])
    assert (canceled[0], len(canceled)) == ("known", 100)


def test_levels_are_counted_outside_of_texts() -> None:
    text = "[{" * 500
    assert not is_too_deep(to_json([text, [{}] * 300]))
    assert not is_too_deep(to_json(nested(100)))
    assert is_too_deep(to_json([text, nested(100)]))
    assert is_too_deep(b"[" * 200 + b'"\\' * 1_000_000), "also where it is not JSON, without an end"


async def test_a_task_that_is_asked_for_again_and_again_is_kept_once() -> None:
    """It is the same task each time."""
    looked: list[Answer] = []
    part = {"data": {"text": "x" * 1000}}

    async def look(answer: Answer) -> None:
        looked.append(answer)

    def answer(request: Request) -> Json:
        state = "TASK_STATE_WORKING" if len(server.paths) < 20 else "TASK_STATE_COMPLETED"
        artifacts = [{"artifactId": "a", "parts": [part]}]
        task = {"id": "t", "status": {"state": state}, "artifacts": artifacts}
        is_send = request.json["method"] == "SendMessage"
        return {"jsonrpc": "2.0", "id": 1, "result": {"task": task} if is_send else task}

    with speaking(WAYS["JSON-RPC"], answer) as server:
        async with talking(server) as participant:
            ended = await participant.send(AssessmentCompleteMessage(reason="error"), "an id", look)
    assert len(looked) > 10
    assert len(ended.parts) == 1


def speaking(way: tuple[Json, str], answer: Callable[[Request], Response | Json], streams: bool = False) -> Any:
    """A server with a good card, whose every answer is this one."""
    of_card, path = way

    def answers(url: str) -> Answers:
        return {CARD: lambda _: card(url, streams=streams, **of_card), path: answer}

    return hostile(answers)


def turn(**fields: Any) -> Json:
    """A JSON-RPC response with an answer to a turn."""
    said = {"message_type": "turn_complete", "actions": [], **fields}
    message = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": json.dumps(said)}]}
    return {"jsonrpc": "2.0", "id": 1, "result": {"message": message}}
