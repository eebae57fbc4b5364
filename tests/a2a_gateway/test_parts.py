"""What participants and newer workers may put into updates must not end a stream."""

import json
import re
from typing import Any

import pytest
from a2a.types import Message, Part, Task, TaskStatusUpdateEvent
from google.protobuf.json_format import MessageToDict

from proctor.a2a_gateway.contexts import context_keyword, decode_context
from proctor.a2a_gateway.events import update_event
from proctor.a2a_gateway.parts import data_parts, extract_request
from proctor.a2a_gateway.subscriptions import Update
from proctor.a2a_gateway.tasks import results_artifact
from purple_sdk.protocol.numbers import restore_integers
from purple_sdk.protocol.results import ActionLogEntryWithTurn, AssessmentResults, seed_form
from tests.a2a_gateway.callers import call03, collect, kinds, message, message03, sdk_client
from tests.a2a_gateway.conftest import Gateway, request
from tests.a2a_gateway.standin import NOON, results_of
from tests.a2a_gateway.test_listing import HOSTILE
from tests.work import some_of


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize("unfit", [nested(150), {"n": 10**400}, {"s": "\ud800"}])
def test_json_that_fits_no_data_part_makes_none(unfit: dict[str, Any]) -> None:
    assert data_parts(unfit) == []


def test_integers_come_back_at_every_depth() -> None:
    sent = {"seed": 12345, "list": [1, 2.5, {"deep": -3}], "edge": 2**53, "text": "1.0", "flag": True, "none": None}
    (part,) = data_parts(sent)
    received = extract_request(Message(parts=[part]))
    assert json.dumps(received, sort_keys=True) == json.dumps(sent, sort_keys=True)


@pytest.mark.parametrize("value", [1e300, 0.5, float(2**60)])
def test_doubles_that_are_no_integer_stay(value: float) -> None:
    assert type(restore_integers(value)) is float


def test_an_update_of_a_newer_worker_is_passed_on() -> None:
    event = update_event(Task(id="t", context_id="c"), Update(3, {"message_type": "update_mood", "mood": "good"})).event
    assert isinstance(event, TaskStatusUpdateEvent)
    text, data = event.status.message.parts
    assert text.text == "update_mood."
    assert MessageToDict(data.data) == {"message_type": "update_mood", "mood": "good"}


def test_a_result_that_fits_no_data_part_is_json_text() -> None:
    """A participant may choose such parameters for an action; leaderboards keep data parts and JSON text."""
    action = ActionLogEntryWithTurn(turn=1, timestamp=NOON, action="a", parameters=nested(60), success=True)
    results = results_of("t", 1).model_copy(update={"action_log": [action]})
    sentence, text, exact = results_artifact(results).parts
    assert sentence.text.startswith("http://participant earned")
    assert exact.raw.decode() == results.model_dump_json()
    assert json.loads(text.text) == seed_form(results)


def test_strict_readers_of_the_seeds_can_parse_the_data_part() -> None:
    action = ActionLogEntryWithTurn(turn=1, timestamp=NOON, action="chat.send", parameters={}, success=True)
    results = results_of("t", 1).model_copy(update={"action_log": [action], "actions_taken": 1})
    _, data, exact = results_artifact(results).parts
    found = MessageToDict(data.data)
    assert "message_type" not in found["action_log"][0]
    assert found["unscored_criteria"] == []
    assert AssessmentResults.model_validate_json(exact.raw) == results


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(("levels", "parts"), some_of([(25, 2), (45, 1), (30, 1), (150, 1)], 2))
async def test_what_is_nested_too_deeply_leaves_the_sentence(gateway: Gateway, levels: int, parts: int) -> None:
    """No receiver can read a data part of more levels; the sentence and what follows must still come."""
    asked = request(turns=1, note=nested(levels))
    async with sdk_client(gateway.url) as client:
        events = await collect(client.send_message(message(Part(text=json.dumps(asked)))))
    assert kinds(events)[-1] == "completed"
    assert len(events[2].status_update.status.message.parts) == parts


@pytest.mark.parametrize("protocol", ["1.0", "0.3"])
async def test_a_request_that_is_nested_too_deeply_is_refused(gateway: Gateway, protocol: str) -> None:
    for levels in (25, 35, 45, 150):
        data = request(hold=True, note=nested(levels))
        if protocol == "1.0":
            params: dict[str, Any] = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"data": data}]}}
            params["configuration"] = {"returnImmediately": True}
            body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
            answer = (await gateway.http.post("/", json=body, headers={"A2A-Version": "1.0"})).json()
        else:
            params = {**message03({"kind": "data", "data": data}), "configuration": {"blocking": False}}
            answer = await call03(gateway.http, "message/send", params)
        if levels == 25:
            assert "result" in answer
        else:
            assert re.search("too deep|maxdepth", json.dumps(answer["error"]), re.IGNORECASE)


@pytest.mark.parametrize("context", [*HOSTILE, "", "plain-id_1.2", "already%20encoded"])
def test_context_keywords_can_be_read_back_and_hold_nothing_but_text(context: str) -> None:
    keyword = context_keyword(context)
    assert decode_context(keyword) == context
    assert not set(keyword) & set("'\"\\\n`;")
