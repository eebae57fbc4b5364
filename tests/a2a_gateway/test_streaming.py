"""Both kinds of callers get every update in order, the artifact and a terminal state."""

import base64
import json
from typing import Any

import pytest
from a2a.types import StreamResponse
from google.protobuf.json_format import MessageToDict

from proctor.protocol.updates import parse_update
from purple_sdk.protocol.results import AssessmentResults
from tests.a2a_gateway.callers import (
    JSONRPC,
    REST,
    collect,
    data_part,
    kinds,
    kinds03,
    message,
    message03,
    sdk_client,
    stream03,
    text03,
)
from tests.a2a_gateway.conftest import Gateway, request
from tests.a2a_gateway.standin import results_of
from tests.sentences import says

pytestmark = pytest.mark.usefixtures("worker")

WHOLE_STORY = ["task submitted", *(f"working {n}" for n in range(6)), "artifact assessment_results", "completed"]


def updates_of(events: list[StreamResponse]) -> list[dict[str, Any]]:
    found = []
    for event in events:
        if "sequence" in event.status_update.metadata:
            text, data = event.status_update.status.message.parts
            update = parse_update(MessageToDict(data.data))
            assert text.text == update.sentence()
            found.append(update.model_dump(mode="json"))
    return found


@pytest.mark.parametrize("binding", [JSONRPC, REST])
async def test_sdk_caller_with_data_part_gets_the_whole_story(gateway: Gateway, binding: Any) -> None:
    async with sdk_client(gateway.url, binding) as client:
        events = await collect(client.send_message(message(data_part(request()))))
    assert kinds(events) == WHOLE_STORY
    assert [update["message_type"] for update in updates_of(events)] == [
        "update_assessment_started",
        "update_action_observed",
        "update_turn_completed",
        "update_action_observed",
        "update_turn_completed",
        "update_assessment_completed",
    ]
    task = events[0].task
    assert {event.status_update.task_id for event in events if event.HasField("status_update")} == {task.id}
    sentence, data, exact = events[-2].artifact_update.artifact.parts
    results = results_of(task.id, 2)
    assert sentence.text == says("http://participant", "10", "email_triage_basic")
    assert AssessmentResults.model_validate(MessageToDict(data.data)).scores == results.scores
    assert exact.raw.decode() == results.model_dump_json()
    assert exact.media_type == "application/json"
    assert events[-1].status_update.status.message.parts[0].text == sentence.text


async def test_hand_written_03_caller_with_text_part_gets_the_whole_story(gateway: Gateway) -> None:
    params = message03(text03(request()))
    events = [event async for event in stream03(gateway.http, "message/stream", params)]
    assert kinds03(events) == WHOLE_STORY
    assert {event["id"] for event in events} == {1}
    updates = [event["result"] for event in events[1:-2]]
    assert [update["final"] for update in updates] == [False] * 6
    text, data = updates[2]["status"]["message"]["parts"]
    assert text == {"kind": "text", "text": "Turn 1 completed with 1 action."}
    assert data["kind"] == "data"
    assert parse_update(data["data"]).model_dump()["turn_number"] == 1
    sentence, structured, exact = events[-2]["result"]["artifact"]["parts"]
    assert sentence["text"].startswith("http://participant earned 7 of 10")
    assert structured["data"]["message_type"] == "assessment_results"
    file = json.loads(base64.b64decode(exact["file"]["bytes"]))
    assert file == results_of(events[0]["result"]["id"], 2).model_dump(mode="json")
    assert events[-1]["result"]["final"] is True
