"""Starting assessments: when the answer comes, what becomes of a repeated message, what is refused."""

import asyncio
import base64
import json
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from a2a.types import GetTaskRequest, Part
from a2a.utils.errors import (
    ContentTypeNotSupportedError,
    InvalidParamsError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from temporalio.client import Client

from proctor.settings.config import GreenAgentConfig
from proctor.workflows.inputs import AssessmentInput
from purple_sdk.protocol.results import AssessmentResults
from tests.a2a_gateway.callers import (
    JSONRPC,
    REST,
    at_once,
    call03,
    collect,
    data_part,
    kinds,
    message,
    message03,
    sdk_client,
    send,
    state_name,
    text03,
)
from tests.a2a_gateway.conftest import Gateway, request, standin_worker
from tests.sentences import says
from tests.waiting import eventually
from tests.work import some_of


async def input_of(client: Client, task_id: str) -> AssessmentInput:
    """What the task's workflow was started with."""
    async for event in client.get_workflow_handle(task_id).fetch_history_events():
        payloads = event.workflow_execution_started_event_attributes.input.payloads
        given: AssessmentInput = (await client.data_converter.decode(payloads, [AssessmentInput]))[0]
        return given
    raise AssertionError("a history without events")


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(("binding", "script"), [(JSONRPC, {"renew": 1}), (REST, {})])
async def test_blocking_send_answers_when_the_assessment_has_ended(
    gateway: Gateway, binding: Any, script: dict[str, Any]
) -> None:
    async with sdk_client(gateway.url, binding, streaming=False) as client:
        task = await send(client, message(data_part(request(**script))))
    assert state_name(task.status.state) == "completed"
    assert [artifact.name for artifact in task.artifacts] == ["assessment_results"]


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("binding", some_of([JSONRPC, REST], 1))
async def test_return_immediately_answers_at_once(gateway: Gateway, client: Client, binding: Any) -> None:
    async with sdk_client(gateway.url, binding, streaming=False) as caller:
        task = await send(caller, at_once(message(data_part(request(hold=True)), context="c-1")))
        assert state_name(task.status.state) == "submitted"
        assert task.context_id == "c-1"
        assert task.metadata["temporal_workflow"] == f"http://ui.example/namespaces/default/workflows/{task.id}"
        await client.get_workflow_handle(task.id).signal("begin")
        await client.get_workflow_handle(task.id).result()


@pytest.mark.usefixtures("worker")
async def test_03_send_blocks_unless_told_not_to(gateway: Gateway) -> None:
    blocking = await call03(gateway.http, "message/send", message03(text03(request())))
    assert blocking["result"]["status"]["state"] == "completed"
    params = {**message03(text03(request())), "configuration": {"blocking": False}}
    waiting = await call03(gateway.http, "message/send", params)
    assert waiting["result"]["status"]["state"] == "submitted"


@pytest.mark.usefixtures("worker")
async def test_the_workflow_gets_the_data_part_with_integers_as_integers(gateway: Gateway, client: Client) -> None:
    asked = request(max_turns=3, turn_timeout=2.5, list=[1, {"deep": 2}])
    async with sdk_client(gateway.url, streaming=False) as caller:
        task = await send(caller, message(Part(text="Please assess this agent."), data_part(asked), context="c-2"))
    given = await input_of(client, task.id)
    assert given.task_id == task.id
    assert given.context_id == "c-2"
    assert given.request == asked
    assert json.dumps(given.request, sort_keys=True) == json.dumps(asked, sort_keys=True)
    assert given.message["contextId"] == "c-2"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([Part(text='{"participants": '), Part(text="{}}")], '{"participants": \n{}}'),
        ([data_part([1, 2])], "[1, 2]"),
        ([Part(raw=b"x", filename="x")], None),
        ([Part(url="http://elsewhere/request.json", media_type="application/json")], None),
        ([Part(text="as attached"), Part(raw=b'{"a": 1}', media_type="application/json; charset=utf-8")], '{"a": 1}'),
        ([Part(raw=b'\xef\xbb\xbf{"a": 1}', filename="Request.JSON")], '{"a": 1}'),
        ([data_part({"a": 1}), data_part({"a": 2})], '{"a": 1}\n{"a": 2}'),
        ([data_part({"a": 1}), Part(raw=b'{"a":1}', filename="same.json")], '{"a": 1}\n{"a":1}'),
    ],
)
async def test_the_workflow_gets_whatever_else_was_sent_unchecked(
    gateway: Gateway, client: Client, parts: list[Part], expected: Any
) -> None:
    async with sdk_client(gateway.url, streaming=False) as caller:
        task = await send(caller, at_once(message(*parts)))
    assert (await input_of(client, task.id)).request == expected


@pytest.mark.usefixtures("worker")
async def test_a_bad_request_is_a_rejected_task_with_a_sentence(gateway: Gateway) -> None:
    async with sdk_client(gateway.url) as client:
        events = await collect(client.send_message(message(Part(text="hello"))))
    assert kinds(events) == ["task submitted", "rejected"]
    assert says().within(events[-1].status_update.status.message.parts[0].text)


@pytest.mark.usefixtures("worker")
async def test_a_repeated_message_joins_its_running_task(gateway: Gateway, client: Client) -> None:
    again = message(data_part(request(pauses=[1])), context="c-3")
    async with sdk_client(gateway.url) as caller:
        first = caller.send_message(again)
        task = (await anext(first)).task
        await anext(first)
        second = asyncio.create_task(collect(caller.send_message(again)))
        await asyncio.sleep(0.3)
        await client.get_workflow_handle(task.id).signal("go_on")
        rest = await collect(first)
        joined = await second
    assert joined[0].task.id == task.id
    assert kinds(joined) == [
        "task submitted",
        *(f"working {n}" for n in range(6)),
        "artifact assessment_results",
        "completed",
    ]
    assert kinds(rest) == kinds(joined)[2:]


@pytest.mark.usefixtures("worker")
async def test_a_message_repeated_after_the_end_gets_the_same_story(gateway: Gateway) -> None:
    again = message(data_part(request()))
    async with sdk_client(gateway.url) as caller:
        first = await collect(caller.send_message(again))
        second = await collect(caller.send_message(again))
    assert second[0].task.id == first[0].task.id
    assert second[0].task.context_id == first[0].task.context_id
    assert kinds(second) == kinds(first)
    ids = [[event.status_update.status.message.message_id for event in events[1:]] for events in (first, second)]
    assert ids[0] == ids[1]


@pytest.mark.usefixtures("worker")
async def test_only_the_same_message_joins(gateway: Gateway) -> None:
    message_id = str(uuid.uuid4())
    variants = [
        message(data_part(request(hold=True)), message_id=message_id),
        message(data_part(request(hold=True)), message_id=message_id, context="c-4"),
        message(data_part(request(hold=True, seed=2)), message_id=message_id),
        message(data_part(request(hold=True)), message_id="1"),
        message(data_part(request(hold=True)), message_id="1"),
    ]
    async with sdk_client(gateway.url, streaming=False) as caller:
        tasks = [await send(caller, at_once(variant)) for variant in variants]
        same = await send(caller, at_once(variants[0]))
    assert len({task.id for task in tasks}) == len(variants)
    assert same.id == tasks[0].id


async def test_a_second_message_to_a_task_is_refused(
    gateway: Gateway, client: Client, config: GreenAgentConfig
) -> None:
    async with sdk_client(gateway.url, streaming=False) as caller:
        task = await send(caller, at_once(message(data_part(request()))))
        follow_up = message(Part(text="and?"), task=task.id)
        with pytest.raises(UnsupportedOperationError, check=says("taskId")):
            await send(caller, follow_up)
        async with standin_worker(client, config):
            await client.get_workflow_handle(task.id).result()
        with pytest.raises(UnsupportedOperationError, check=says("taskId")):
            await send(caller, follow_up)
        with pytest.raises(TaskNotFoundError, check=says("nonesuch")):
            await send(caller, message(Part(text="and?"), task="nonesuch"))


@pytest.mark.parametrize("context", ["x" * 256, "漢" * 40, "tab\there", "nul\0here"])
async def test_a_context_id_that_cannot_be_kept_is_refused(gateway: Gateway, context: str) -> None:
    async with sdk_client(gateway.url, streaming=False) as caller:
        with pytest.raises(InvalidParamsError, check=says("contextId", "255")):
            await send(caller, message(Part(text="{}"), context=context))


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(
    "parts",
    [
        [Part(text=f"Please assess this one:\n```json\n{json.dumps(request(), indent=2)}\n```\nThank you!")],
        [Part(text="Please assess this one:"), Part(text=json.dumps(request())), Part(text="Thank you!")],
        [Part(text="as attached"), Part(raw=json.dumps(request()).encode(), media_type="application/json")],
        [data_part(request()), Part(raw=json.dumps(request()).encode(), filename="request.json")],
    ],
)
async def test_the_request_is_found_however_it_is_sent(gateway: Gateway, parts: list[Part]) -> None:
    async with sdk_client(gateway.url, streaming=False) as client:
        assert state_name((await send(client, message(*parts))).status.state) == "completed"


@pytest.mark.usefixtures("worker")
async def test_03_caller_sends_a_file(gateway: Gateway) -> None:
    content = base64.b64encode(json.dumps(request()).encode()).decode()
    file = {"kind": "file", "file": {"bytes": content, "mimeType": "application/json", "name": "request.json"}}
    task = (await call03(gateway.http, "message/send", message03(file)))["result"]
    assert task["status"]["state"] == "completed"


@pytest.mark.usefixtures("worker")
async def test_two_requests_in_one_message_are_refused(gateway: Gateway) -> None:
    async with sdk_client(gateway.url, streaming=False) as client:
        task = await send(client, message(data_part(request()), data_part(request(seed=2))))
    assert state_name(task.status.state) == "rejected"
    assert says().within(task.status.message.parts[0].text)


TEXT = {"text": "{}"}
TEXT03 = {"kind": "text", "text": "{}"}


async def workflows_started(client: Client, config: GreenAgentConfig) -> int:
    return (await client.count_workflows(f"TaskQueue = '{config.task_queue}'")).count


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"role": "ROLE_USER", "parts": [TEXT]}, "message.messageId"),
        ({"messageId": "m", "parts": [TEXT]}, "message.role"),
        ({"messageId": "m", "role": "ROLE_KING", "parts": [TEXT]}, "message.role"),
        ({"messageId": "m", "role": 7, "parts": [TEXT]}, "message.role"),
        ({"messageId": "m", "role": "ROLE_USER", "parts": []}, "message.parts"),
        ({"messageId": "m", "role": "ROLE_USER"}, "message.parts"),
        ({"messageId": "m", "role": "ROLE_USER", "parts": [TEXT, {}]}, "message.parts[1]"),
    ],
)
async def test_what_the_protocol_requires_is_asked_for_before_anything_starts(
    gateway: Gateway, client: Client, config: GreenAgentConfig, sent: dict[str, Any], field: str
) -> None:
    headers = {"A2A-Version": "1.0"}
    for method in ("SendMessage", "SendStreamingMessage"):
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": sent}}
        error = (await gateway.http.post("/", json=call, headers=headers)).json()["error"]
        assert (error["code"], error["message"].split(" ")[0]) == (-32602, field)
    for path in ("/message:send", "/message:stream"):
        answer = await gateway.http.post(path, json={"message": sent}, headers=headers)
        assert (answer.status_code, answer.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")
        assert answer.json()["error"]["message"].startswith(field)
    assert await workflows_started(client, config) == 0


@pytest.mark.parametrize(
    ("left_out", "instead"),
    [("messageId", {}), ("role", {}), ("role", {"role": "king"}), ("parts", {}), ("parts", {"parts": []})],
)
async def test_what_protocol_03_requires_is_asked_for_before_anything_starts(
    gateway: Gateway, client: Client, config: GreenAgentConfig, left_out: str, instead: dict[str, Any]
) -> None:
    whole = {"messageId": "m", "role": "user", "parts": [TEXT03]}
    sent = {**{name: value for name, value in whole.items() if name != left_out}, **instead}
    error = (await call03(gateway.http, "message/send", {"message": sent}))["error"]
    assert error["code"] == -32602
    assert left_out in error["message"]
    call = {"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": {"message": sent}}
    assert '"code":-32602' in (await gateway.http.post("/", json=call)).text.replace(" ", "")
    rest: dict[str, Any] = {"messageId": "m", "role": "ROLE_USER", "content": [TEXT]}
    del rest["content" if left_out == "parts" else left_out]
    if instead:
        wrong: dict[str, Any] = {"content": []} if left_out == "parts" else {"role": "ROLE_KING"}
        rest |= wrong
    for path in ("/v1/message:send", "/v1/message:stream"):
        answer = await gateway.http.post(path, json={"message": rest})
        assert answer.status_code == 400
        assert left_out in answer.json()["error"]["message"]
    assert await workflows_started(client, config) == 0


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(
    ("accepted", "kinds_of_parts"),
    [
        ([], ["text", "data", "raw"]),
        (["*/*"], ["text", "data", "raw"]),
        (["image/png", "application/json"], ["data", "raw"]),
        (["text/plain; charset=utf-8"], ["text", "text"]),
    ],
)
async def test_a_caller_gets_the_kinds_of_parts_that_it_accepts(
    gateway: Gateway, accepted: list[str], kinds_of_parts: list[str]
) -> None:
    asked = message(data_part(request()))
    asked.configuration.accepted_output_modes.extend(accepted)
    async with sdk_client(gateway.url) as client:
        events = await collect(client.send_message(asked))
    (artifact,) = [event.artifact_update.artifact for event in events if event.HasField("artifact_update")]
    assert [part.WhichOneof("content") for part in artifact.parts] == kinds_of_parts
    result = artifact.parts[-1].raw.decode() or artifact.parts[-1].text
    assert AssessmentResults.model_validate_json(result).assessment_id == events[0].task.id
    update = events[1].status_update.status.message
    assert [part.WhichOneof("content") for part in update.parts] == [
        kind for kind in ("text", "data") if kind in kinds_of_parts
    ]
    assert events[-1].status_update.status.message.parts[0].text


async def test_a_caller_that_accepts_nothing_of_ours_is_told(
    gateway: Gateway, client: Client, config: GreenAgentConfig
) -> None:
    asked = message(data_part(request()))
    asked.configuration.accepted_output_modes.append("image/png")
    for streaming in (False, True):
        async with sdk_client(gateway.url, streaming=streaming) as caller:
            with pytest.raises(ContentTypeNotSupportedError, check=says()):
                await collect(caller.send_message(asked))
    params = {**message03(text03(request())), "configuration": {"acceptedOutputModes": ["image/png"]}}
    assert (await call03(gateway.http, "message/send", params))["error"]["code"] == -32005
    assert await workflows_started(client, config) == 0


@pytest.mark.usefixtures("worker")
async def test_tasks_of_one_context_wait_in_state_submitted_while_others_work(gateway: Gateway, client: Client) -> None:
    """The order within a context is the workflows' business; the gateway tells waiting from working."""
    async with sdk_client(gateway.url, streaming=False) as caller:
        first = await send(caller, at_once(message(data_part(request(pauses=[1])), context="queue")))
        second = await send(caller, at_once(message(data_part(request(hold=True)), context="queue")))

        async def states() -> list[str]:
            tasks = [await caller.get_task(GetTaskRequest(id=task.id)) for task in (first, second)]
            return [state_name(task.status.state) for task in tasks]

        async def first_works() -> bool:
            return await states() == ["working", "submitted"]

        await eventually(first_works)
        await client.get_workflow_handle(first.id).signal("go_on")
        await client.get_workflow_handle(first.id).result()
        assert await states() == ["completed", "submitted"]
        await client.get_workflow_handle(second.id).signal("begin")
        await client.get_workflow_handle(second.id).result()
        assert await states() == ["completed", "completed"]


@pytest.mark.usefixtures("worker")
async def test_any_replica_takes_the_repeated_message(
    gateway: Gateway, more_gateways: Callable[[], Awaitable[Gateway]]
) -> None:
    again = message(data_part(request()))
    other = await more_gateways()
    async with sdk_client(gateway.url) as here, sdk_client(other.url) as there:
        first, second = await asyncio.gather(collect(here.send_message(again)), collect(there.send_message(again)))
    assert first[0].task.id == second[0].task.id
    assert kinds(first) == kinds(second)
    assert kinds(first)[-1] == "completed"
