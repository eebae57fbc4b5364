"""What participants answer to a turn, as agents on real models and other SDKs write it."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from a2a.helpers.proto_helpers import new_data_part, new_text_part
from a2a.types.a2a_pb2 import Artifact, Message, StreamResponse, TaskArtifactUpdateEvent
from starlette.responses import StreamingResponse
from temporalio.exceptions import ApplicationError

from proctor.activities.attempts import failures
from proctor.activities.participant import Answer, ParticipantClients
from proctor.activities.participant.answer import UnreadableTurnError
from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol.messages import EarlyCompletionMessage, TurnCompleteMessage, TurnStartMessage
from tests.assessments.participants import Json, by_hand, message, task, text
from tests.sentences import says

TURN: Json = {"message_type": "turn_complete", "actions": [], "notes": "all {done}"}
TURN_START = TurnStartMessage(turn_number=1, current_time=datetime(2026, 3, 2, 9, tzinfo=UTC), events_processed=0)


def said(*texts: str, data: Any = None) -> Answer:
    """An answer with these text parts, and a data part."""
    parts = [new_text_part(content) for content in texts] + ([] if data is None else [new_data_part(data)])
    answer = Answer()
    answer.take(StreamResponse(message=Message(message_id="an answer", parts=parts)))
    return answer


READ = {
    "fenced": f"```json\n{json.dumps(TURN, indent=2)}\n```",
    "fenced, with prose around it": f"Here you are:\n\n```\n{json.dumps(TURN)}\n```\nIs that all?",
    "prose around it": f"I am done {{really}}. {json.dumps(TURN)} Good bye.",
    "a draft before it": f'{{"message_type": "early_completion"}} Or rather: {json.dumps(TURN)}',
    "another object after it": f'{json.dumps(TURN)} I logged {{"message_type": "action_log_entry"}}.',
}


@pytest.mark.parametrize("form", READ)
def test_json_in_a_text_is_read(form: str) -> None:
    assert said(READ[form]).to_turn() == TurnCompleteMessage(actions=[], notes="all {done}")


def test_a_text_that_came_in_pieces_is_read() -> None:
    answer, whole = Answer(), json.dumps(TURN)
    for piece in (whole[:20], whole[20:45], whole[45:]):
        artifact = Artifact(artifact_id="one", parts=[new_text_part(piece)])
        answer.take(StreamResponse(artifact_update=TaskArtifactUpdateEvent(artifact=artifact, append=True)))
    assert answer.to_turn() == TurnCompleteMessage(actions=[], notes="all {done}")


def test_the_structured_output_of_pydantic_ai_is_read() -> None:
    answer = said(data={"result": {"message_type": "early_completion", "reason": "nothing to do"}})
    assert answer.to_turn() == EarlyCompletionMessage(reason="nothing to do")


def test_a_turn_complete_without_actions_reports_none() -> None:
    assert said('{"message_type": "turn_complete"}').to_turn() == TurnCompleteMessage(actions=[])


UNREADABLE = {
    "prose": ("I have answered all mails.", "message_type"),
    "cut off": ('```json\n{"message_type": "turn_complete", "actions": [{"action": "em', "JSON"),
    "broken": ('{"message_type": "turn_complete", actions: []}', "JSON"),
    "of another type": ('{"message_type": "turn_done"}', "message_type"),
    "with a bad field": ('{"message_type": "turn_complete", "time_step": "soon"}', "turn_complete.time_step"),
}


@pytest.mark.parametrize("form", UNREADABLE)
def test_what_is_wrong_is_said(form: str) -> None:
    answer, fact = UNREADABLE[form]
    with pytest.raises(UnreadableTurnError) as problem:
        said(answer).read_turn()
    assert str(problem.value) == says(fact)
    assert "char 0" not in str(problem.value)
    with pytest.raises(ApplicationError) as failed:
        said(answer).to_turn()
    assert failed.value.type == failures.PARTICIPANT_MISBEHAVED


async def heard(answer: Any, *, streams: bool = False) -> Answer:
    """What is heard of a participant that answers a turn so."""
    clients = ParticipantClients(GreenAgentConfig())
    try:
        async with (
            by_hand(lambda _said: answer, streams=streams) as participant,
            clients.talk(participant.url, "an assessment") as line,
        ):
            return await line.send(TURN_START, "an id")
    finally:
        await clients.aclose()


@pytest.mark.parametrize("streams", [False, True], ids=["waits", "streams"])
async def test_timestamps_without_a_zone_are_read(streams: bool) -> None:
    """As ``fasta2a`` writes them, which serves agents of pydantic-ai."""
    answer = task("completed", text(json.dumps(TURN)))
    answer["status"]["timestamp"] = "2026-11-23T15:24:27.133555"
    assert (await heard(answer, streams=streams)).to_turn().message_type == "turn_complete"


async def test_an_agent_that_raises_while_it_streams_has_failed() -> None:
    async def raising() -> AsyncIterator[str]:
        yield ": at work\n\n"
        raise RuntimeError("the model ran out of memory")

    with pytest.raises(ApplicationError) as problem:
        await heard(StreamingResponse(raising(), media_type="text/event-stream"), streams=True)
    assert problem.value.type == failures.PARTICIPANT_FAILED
    assert not problem.value.non_retryable
    assert says().within(problem.value.message)


async def test_messages_say_which_media_types_are_accepted() -> None:
    """``fasta2a`` answers requests that don't with HTTP 500."""
    clients, configurations = ParticipantClients(GreenAgentConfig()), []
    async with by_hand(lambda _said: message(text("fine"))) as participant:
        async with clients.talk(participant.url, "an assessment") as line:
            await line.send(TURN_START, "an id")
        configurations = participant.configurations
    await clients.aclose()
    assert configurations[0]["acceptedOutputModes"] == ["application/json", "text/plain"]
