"""Whoever calls gets the whole story, and whoever can answer at all can be assessed: both sides of A2A, old and new."""

import base64
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from a2a.types import GetTaskRequest, StreamResponse, Task
from a2a.utils.constants import TransportProtocol
from google.protobuf.json_format import MessageToDict

from proctor.activities.participant import ParticipantClients
from proctor.protocol.updates import MILESTONES, SimulationAdvancedUpdate, TaskUpdate, parse_update
from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol.messages import TurnCompleteMessage, TurnStartMessage
from purple_sdk.protocol.results import AssessmentResults
from tests.a2a_gateway.callers import (
    JSONRPC,
    REST,
    collect,
    data_part,
    message,
    message03,
    sdk_client,
    send,
    state_name,
    stream03,
    text03,
)
from tests.assessments import participants
from tests.assessments.participants import DONE, Answer, Json, by_hand
from tests.assessments.scripts import diligent
from tests.sentences import says
from tests.stack import Stack, assess, serving
from tests.work import only_nightly

ONE_TURN = ["turn_started", "action_observed", "turn_completed"]
STORY = [
    "assessment_started",
    "scenario_loaded",
    *ONE_TURN,
    "responses_generated",
    "simulation_advanced",
    *ONE_TURN,
    "evaluation_started",
    *["criterion_evaluated"] * 3,
    "assessment_completed",
]
"""The updates of a diligent participant's assessment, in order."""


def request_for(url: str, **config: Any) -> Json:
    return {
        "participants": {"personal_assistant": url},
        "config": {"scenario_id": "tiny", "offline": True, "seed": 7, **config},
    }


@pytest.mark.parametrize("binding", [JSONRPC, pytest.param(REST, marks=only_nightly)])
async def test_a_streaming_caller_of_today_gets_the_whole_story(stack: Stack, binding: TransportProtocol) -> None:
    """One that asks the same again and doesn't stream gets the ended task."""
    async with serving(diligent) as url, sdk_client(stack.gateway_url, binding) as caller:
        asked = message(data_part(request_for(url)))
        events = await collect(caller.send_message(asked))
    async with sdk_client(stack.gateway_url, REST, streaming=False) as caller:
        task = await send(caller, asked)
        again = await caller.get_task(GetTaskRequest(id=task.id))
    assert task.id == events[0].task.id
    for seen in (task, again):
        assert_ended_well(seen)
    assert state_name(events[0].task.status.state) == "submitted"
    *updates, artifact, end = events[1:]
    assert_story(map(numbered_update, updates), STORY)
    results = assert_artifact([part_of(part) for part in artifact.artifact_update.artifact.parts])
    assert artifact.artifact_update.artifact.name == "assessment_results"
    assert (results.scores.overall.score, results.coverage) == (18, 0.9)
    assert state_name(end.status_update.status.state) == "completed"


async def test_a_caller_of_protocol_03_gets_the_whole_story(stack: Stack) -> None:
    async with serving(diligent) as url, httpx.AsyncClient(base_url=stack.gateway_url, timeout=120) as http:
        events = [
            event["result"] async for event in stream03(http, "message/stream", message03(text03(request_for(url))))
        ]
    assert (events[0]["kind"], events[0]["status"]["state"]) == ("task", "submitted")
    *updates, artifact, end = events[1:]
    assert {(event["kind"], event["status"]["state"], event["final"]) for event in updates} == {
        ("status-update", "working", False)
    }
    assert_story(map(numbered_update_03, updates), STORY)
    assert artifact["artifact"]["name"] == "assessment_results"
    results = assert_artifact(artifact["artifact"]["parts"])
    assert results.assessment_id == events[0]["id"]
    assert (end["status"]["state"], end["final"]) == ("completed", True)


@only_nightly  # by default: test_bad_requests.py, and the test above but for a caller that comes when all has ended
@pytest.mark.parametrize("binding", [JSONRPC, REST])
async def test_a_caller_that_does_not_stream_gets_the_ended_task(stack: Stack, binding: TransportProtocol) -> None:
    async with serving(diligent) as url, sdk_client(stack.gateway_url, binding, streaming=False) as caller:
        task = await send(caller, message(data_part(request_for(url))))
        again = await caller.get_task(GetTaskRequest(id=task.id))
    for seen in (task, again):
        assert_ended_well(seen)


async def test_without_verbose_updates_only_the_milestones_come(stack: Stack) -> None:
    request = request_for("", verbose_updates=False)
    async with serving(diligent) as url, sdk_client(stack.gateway_url) as caller:
        request["participants"]["personal_assistant"] = url
        events = await collect(caller.send_message(message(data_part(request))))
    *updates, _artifact, end = events[1:]
    assert_story(map(numbered_update, updates), [kind for kind in STORY if f"update_{kind}" in MILESTONES])
    assert state_name(end.status_update.status.state) == "completed"


ANSWERS: dict[str, Answer] = {
    "message with a data part": lambda _said: participants.message(participants.data(DONE)),
    "message with a text part": lambda _said: participants.message(participants.text(DONE)),
    "message with prose, then data": lambda _said: participants.message(
        participants.text("I looked around."), participants.data(DONE)
    ),
    "task with an artifact": lambda _said: participants.task("completed", artifacts=[participants.data(DONE)]),
    "task with a status message": lambda _said: participants.task("completed", participants.text(DONE)),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
async def test_a_participant_of_protocol_03_may_answer_in_any_form(answer: Answer) -> None:
    turn = TurnStartMessage(turn_number=1, current_time=datetime(2026, 3, 2, 9, tzinfo=UTC), events_processed=0)
    clients = ParticipantClients(GreenAgentConfig())
    async with by_hand(answer) as participant, clients.talk(participant.url, "an assessment") as line:
        said = await line.send(turn, "an id")
    await clients.aclose()
    assert said.to_turn() == TurnCompleteMessage(actions=[])
    assert set(participant.methods) == {"message/send"}


@pytest.mark.parametrize(
    "form", [form if "prose" in form else pytest.param(form, marks=only_nightly) for form in ANSWERS]
)
async def test_a_participant_of_protocol_03_is_assessed_by_its_answers(stack: Stack, form: str) -> None:
    """It names no time step, so the scenario's own counts."""
    async with by_hand(ANSWERS[form]) as participant:
        assessed = await assess(stack, participant.url, "half_hours", max_turns=2)
    assert assessed.state == "completed", assessed.sentence
    assert assessed.results is not None
    assert assessed.results.turns_taken == 2
    assert participant.kinds == ["assessment_start", "turn_start", "turn_start", "assessment_complete"]
    assert set(participant.methods) == {"message/send"}
    assert [said["turn_number"] for said in participant.messages[1:3]] == [1, 2]
    moves = [update for update in assessed.updates if isinstance(update, SimulationAdvancedUpdate)]
    assert [move.duration for move in moves] == ["PT30M", "PT30M"]


async def test_a_participant_that_finishes_later_is_asked_until_it_has(stack: Stack) -> None:
    looks: list[str] = []

    def looked_at(params: Json) -> Json:
        looks.append(params["id"])
        if len(looks) % 2:
            return participants.task("working", task_id=params["id"])
        return participants.task("completed", participants.data(DONE), task_id=params["id"])

    async with by_hand(lambda _said: participants.task("working"), looked_at=looked_at) as participant:
        assessed = await assess(stack, participant.url, "tiny", max_turns=2)
    assert assessed.state == "completed", assessed.sentence
    assert len(looks) == 4
    assert looks[0] == looks[1] != looks[2] == looks[3]


async def test_a_participant_by_hand_can_earn_points(stack: Stack) -> None:
    """Nothing of ours on its side: it acts with the address and key that the start message gave it."""

    async def ask_ben(said: Json) -> Json:
        start = participant.messages[0]
        async with httpx.AsyncClient(base_url=start["ues_url"], headers={"X-API-Key": start["api_key"]}) as ues:
            mail = {"to_addresses": ["ben@work.example"], "subject": "Lunch?", "body_text": "Thursday? Thanks!"}
            sent = await ues.post("email/send", json={"from_address": "ana@home.example", **mail})
        assert sent.json()["status"] == "executed", sent.text
        return participants.message(participants.data({"message_type": "early_completion", "reason": "asked"}))

    async with by_hand(ask_ben) as participant:
        assessed = await assess(stack, participant.url, "tiny")
    assert assessed.results is not None, assessed.sentence
    # It said nothing of its actions with its early completion: nobody is blamed for what stands in none.
    assert assessed.results.action_report.unreported == []
    assert {c.criterion_id: c.score for c in assessed.results.criteria_results} == {
        "asked": 10,
        "told": 0,
        "manners": 2,
    }
    start = participant.messages[0]
    assert "Ask Ben by email" in start["assessment_instructions"]
    assert start["initial_state_summary"]["email"]["total_emails"] == 0


def numbered_update(event: StreamResponse) -> tuple[float, str, Any]:
    """An update's sequence number, its sentence and its data."""
    status = event.status_update.status
    assert state_name(status.state) == "working"
    sentence, data = status.message.parts
    return MessageToDict(event.status_update.metadata)["sequence"], sentence.text, MessageToDict(data.data)


def numbered_update_03(event: Json) -> tuple[float, str, Any]:
    sentence, data = event["status"]["message"]["parts"]
    return event["metadata"]["sequence"], sentence["text"], data["data"]


def assert_story(updates: Iterable[tuple[float, str, Any]], expected: list[str]) -> None:
    """Every update is one of the eleven, numbered from 0 without a gap, with its own sentence beside it."""
    told: list[TaskUpdate] = []
    for place, (sequence, sentence, data) in enumerate(updates):
        assert sequence == place
        update = parse_update(data)
        assert sentence == update.sentence()
        told.append(update)
    assert [update.message_type.removeprefix("update_") for update in told] == expected


def part_of(part: Any) -> Json:
    """A part of protocol 1.0 as one of 0.3."""
    if part.HasField("raw"):
        file = {"bytes": base64.b64encode(part.raw).decode(), "mimeType": part.media_type}
        return {"kind": "file", "file": file}
    return participants.data(MessageToDict(part.data)) if part.HasField("data") else participants.text(part.text)


def assert_artifact(parts: list[Json]) -> AssessmentResults:
    """A sentence, the result as data, and its exact JSON as a file, which is returned."""
    sentence, data, exact = parts
    content = base64.b64decode(exact["file"]["bytes"])
    results = AssessmentResults.model_validate_json(content)
    assert json.loads(content) == results.model_dump(mode="json")
    assert exact["file"]["mimeType"] == "application/json"
    assert AssessmentResults.model_validate(data["data"]) == results
    assert sentence["text"] == says("personal_assistant", "18", "20")
    return results


def assert_ended_well(task: Task) -> None:
    assert state_name(task.status.state) == "completed"
    [artifact] = task.artifacts
    assert_artifact([part_of(part) for part in artifact.parts])
