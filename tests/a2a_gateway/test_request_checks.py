"""What callers send is checked before a2a-sdk reads it; errors are sentences about the protocol's fields."""

import json
import re
from typing import Any

import pytest
from a2a.types import GetTaskRequest
from temporalio.client import Client

from tests.a2a_gateway.callers import at_once, call03, data_part, message, sdk_client, send
from tests.a2a_gateway.conftest import Gateway, request
from tests.sentences import says

V1 = {"A2A-Version": "1.0"}
OF_PYTHON = re.compile(
    r"Expecting|invalid literal|could not convert|expected string|char \d|Failed to parse|unhashable"
)
SENT: Any = {"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "x"}]}}

pytestmark = pytest.mark.usefixtures("temporal")


async def call(gateway: Gateway, method: str, params: Any, path: str = "/", headers: Any = V1) -> dict[str, Any]:
    content = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = await gateway.http.post(path, json=content, headers=headers)
    found: dict[str, Any] = answer.json()
    return found


async def test_the_version_may_be_in_the_query(gateway: Gateway) -> None:
    """As the header, which counts where both are there."""
    assert "result" in await call(gateway, "ListTasks", {}, "/?A2A-Version=1.0", {})
    assert (await call(gateway, "ListTasks", {}, "/", {}))["error"]["code"] == -32009
    assert (await call(gateway, "ListTasks", {}, "/?A2A-Version=7.0", {}))["error"]["code"] == -32009
    assert "result" in await call(gateway, "ListTasks", {}, "/?A2A-Version=7.0", V1)
    assert (await gateway.http.get("/tasks?A2A-Version=1.0")).status_code == 200
    assert (await gateway.http.get("/tasks")).status_code == 400


STATUSES = ["working", "TASK_STATE_DONE", 99]


@pytest.mark.parametrize("status", STATUSES)
async def test_an_unknown_status_is_refused(gateway: Gateway, status: Any) -> None:
    error = (await call(gateway, "ListTasks", {"status": status}))["error"]
    assert error["code"] == -32602
    assert says(json.dumps(status), "TASK_STATE_SUBMITTED").within(error["message"])
    answer = await gateway.http.get("/tasks", params={"status": status}, headers=V1)
    assert answer.status_code == 400
    assert f'status is "{status}"' in answer.json()["error"]["message"]


@pytest.mark.parametrize("status", ["TASK_STATE_WORKING", "TASK_STATE_UNSPECIFIED", 2, "2"])
async def test_a_known_status_is_not(gateway: Gateway, status: Any) -> None:
    assert "result" in await call(gateway, "ListTasks", {"status": status})
    assert (await gateway.http.get("/tasks", params={"status": status}, headers=V1)).status_code == 200


@pytest.mark.parametrize(
    ("media_type", "is_taken"),
    [
        ("application/json", True),
        ("application/json; charset=utf-8", True),
        ("application/a2a+json", True),
        (None, True),
        ("text/plain", False),
        ("application/x-www-form-urlencoded", False),
    ],
)
async def test_rest_requests_say_that_they_are_json(gateway: Gateway, media_type: str | None, is_taken: bool) -> None:
    headers = {**V1, **({"Content-Type": media_type} if media_type else {})}
    body = json.dumps({"message": {"messageId": "", "role": "ROLE_USER", "parts": []}})
    for path in ("/message:send", "/v1/message:send", "/message:stream"):
        answer = await gateway.http.post(path, content=body, headers=headers)
        assert answer.status_code == 400
        assert ("Content-Type" in answer.text) != is_taken, answer.text


WRONG_CALLS: dict[str, tuple[str, Any, str]] = {
    "a number for text": ("SendMessage", {"message": {"messageId": 1}}, "message.messageId"),
    "text for a list": ("SendMessage", {"message": {"parts": "x"}}, "message.parts"),
    "in a list": ("SendMessage", {"message": {"parts": [{"text": 3}]}}, "message.parts.text"),
    "two contents": ("SendMessage", {"message": {"parts": [{"text": "x", "data": {}}]}}, "message.parts"),
    "text for a number": ("GetTask", {"id": "x", "historyLength": "many"}, "historyLength"),
    "a time without zone": ("ListTasks", {"statusTimestampAfter": "2026-03-02T09:00"}, "statusTimestampAfter"),
    "no object": ("GetTask", [1], "params"),
    "half a surrogate pair": ("GetTask", {"id": "\ud800"}, "id"),
    "a list for a status": ("ListTasks", {"status": [1]}, "status"),
}


@pytest.mark.parametrize("case", WRONG_CALLS)
async def test_a_field_that_does_not_fit_is_named(gateway: Gateway, case: str) -> None:
    method, params, field = WRONG_CALLS[case]
    content = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    answer = (await gateway.http.post("/", content=content, headers=V1)).json()
    assert (answer["error"]["code"], answer["error"]["message"], answer["id"]) == (-32602, says(field), 1)
    assert not OF_PYTHON.search(json.dumps(answer))


WRONG_BODIES = [
    "{",
    '{"message": {"messageId": 3}}',
    "[]",
    '{"message": 3}',
    "[" * 100_000,
    '{"message": {"metadata": 3}}',
]


@pytest.mark.parametrize("body", WRONG_BODIES, ids=range(len(WRONG_BODIES)))
async def test_no_error_has_the_words_of_python(gateway: Gateway, body: str) -> None:
    paths = ("/", "/message:send", "/v1/message:send", "/message:stream", "/tasks/x/pushNotificationConfigs")
    for path in paths:
        answer = await gateway.http.post(path, content=body, headers={**V1, "Content-Type": "application/json"})
        assert "error" in answer.json(), (path, answer.text)
        assert answer.status_code < 500
        assert not OF_PYTHON.search(answer.text), (path, answer.text)


@pytest.mark.parametrize("query", ["pageSize=x", "historyLength=x", "statusTimestampAfter=yesterday"])
async def test_nor_has_one_about_a_query(gateway: Gateway, query: str) -> None:
    for path in ("/tasks", "/tasks/x", "/v1/tasks/x"):
        answer = await gateway.http.get(f"{path}?{query}", headers=V1)
        assert answer.status_code in (200, 400, 404)
        assert not OF_PYTHON.search(answer.text), (path, answer.text)


@pytest.mark.usefixtures("worker")
async def test_a_history_length_of_0_is_no_history(gateway: Gateway) -> None:
    """In protocol 0.3, too, for which a2a-sdk takes 0 for no limit."""
    async with sdk_client(gateway.url, streaming=False) as client:
        task = await send(client, at_once(message(data_part(request()))))
        assert (await client.get_task(GetTaskRequest(id=task.id))).history
        assert not (await client.get_task(GetTaskRequest(id=task.id, history_length=0))).history
    assert (await call03(gateway.http, "tasks/get", {"id": task.id}))["result"]["history"]
    assert not (await call03(gateway.http, "tasks/get", {"id": task.id, "historyLength": 0}))["result"].get("history")
    assert not (await gateway.http.get(f"/v1/tasks/{task.id}?historyLength=0")).json().get("history")
    assert not (await gateway.http.get(f"/tasks/{task.id}?historyLength=0", headers=V1)).json().get("history")


async def test_a_status_has_the_time_at_which_it_changed(gateway: Gateway, client: Client) -> None:
    """And not that at which it is read."""
    async with sdk_client(gateway.url, streaming=False) as caller:
        started = await send(caller, at_once(message(data_part(request()))))
        once, again = [await caller.get_task(GetTaskRequest(id=started.id)) for _ in range(2)]
    began = (await client.get_workflow_handle(started.id).describe()).start_time
    assert once.status.timestamp == again.status.timestamp
    assert once.status.timestamp.ToMicroseconds() == int(began.timestamp() * 1_000_000)


async def test_the_card_may_be_kept_for_a_while(gateway: Gateway) -> None:
    for name in ("agent-card.json", "agent.json"):
        assert (await gateway.http.get(f"/.well-known/{name}")).headers["Cache-Control"] == "public, max-age=300"
