"""Each update is written once in each form, however many listen; what they get is what a2a-sdk would have written."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import httpx
import pytest
from a2a.server.events import Event
from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from a2a.types import Message, Part, StreamResponse, Task, TaskState, TaskStatus, TaskStatusUpdateEvent
from a2a.utils import proto_utils
from a2a.utils.errors import A2AError, InternalError, TaskNotFoundError
from starlette.applications import Starlette
from temporalio.client import Client

from proctor.a2a_gateway.handler import AssessmentHandler
from proctor.a2a_gateway.legacy import ContextBuilder, mended, with_checked_params
from proctor.a2a_gateway.output_modes import EVERYTHING, OutputModes
from proctor.a2a_gateway.shared_events import SharedEvent
from proctor.a2a_gateway.streams import sharing, stream
from proctor.settings.config import GreenAgentConfig
from tests.a2a_gateway.callers import at_once, data_part, message, sdk_client, send
from tests.a2a_gateway.conftest import Gateway, request

IN_1_0 = {"A2A-Version": "1.0"}
FORMS = ("1.0 JSON-RPC", "1.0 HTTP+JSON", "0.3 JSON-RPC", "0.3 HTTP+JSON")


async def listen(http: httpx.AsyncClient, form: str, task_id: str, number: int = 1) -> AsyncIterator[dict[str, Any]]:
    """Subscribe to a task; each event's JSON, with its kind of server-sent event beside it."""
    headers = IN_1_0 if form.startswith("1.0") else {}
    if form.endswith("JSON-RPC"):
        method = "SubscribeToTask" if headers else "tasks/resubscribe"
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": {"id": task_id}}
        asking = http.stream("POST", "/", json=body, headers=headers)
    else:
        path = "" if headers else "/v1"
        asking = http.stream("POST", f"{path}/tasks/{task_id}:subscribe", headers=headers)
    async with asking as answer:
        if not answer.headers["content-type"].startswith("text/event-stream"):
            yield json.loads(await answer.aread())
        buffer = b""
        async for chunk in answer.aiter_bytes():
            *events, buffer = (buffer + chunk).split(b"\r\n\r\n")
            for event in events:
                fields = dict(line.split(b": ", 1) for line in event.split(b"\r\n"))
                yield {"kind": fields.get(b"event", b"").decode(), **json.loads(fields[b"data"])}


@pytest.mark.usefixtures("worker")
async def test_twenty_listeners_cost_one_writing_of_each_update_and_form(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: Counter[str] = Counter()
    write = proto_utils.to_stream_response

    def counting(event: Event) -> StreamResponse:
        response = write(event)
        sequence = (
            response.status_update.metadata.fields["sequence"].number_value
            if response.HasField("status_update") and "sequence" in response.status_update.metadata
            else None
        )
        kind = response.WhichOneof("payload") or ""
        written[kind if sequence is None else f"update {sequence:.0f}"] += 1
        return response

    monkeypatch.setattr(proto_utils, "to_stream_response", counting)
    async with sdk_client(gateway.url, streaming=False) as caller:
        task = await send(caller, at_once(message(data_part(request(pauses=[1])))))
    listening = asyncio.Semaphore(0)

    async def hear(number: int) -> tuple[str, list[dict[str, Any]]]:
        form, heard = FORMS[number % 4], []
        async for event in listen(gateway.http, form, task.id, number):
            heard.append(event)
            if len(heard) == 4:  # the task and the updates before the pause
                listening.release()
        return form, heard

    hearing = [asyncio.create_task(hear(number)) for number in range(20)]
    for _ in hearing:
        await listening.acquire()
    await client.get_workflow_handle(task.id).signal("go_on")
    told: dict[str, list[dict[str, Any]]] = {}
    for number, (form, heard) in enumerate(await asyncio.gather(*hearing)):
        assert {event.pop("id", number) for event in heard} == {number}
        _, *events = heard  # the task is as each one found it
        assert told.setdefault(form, events) == events
        assert len(events) == 6 + 1 + 1
    assert told["1.0 HTTP+JSON"] == [event["result"] | {"kind": ""} for event in told["1.0 JSON-RPC"]]
    assert written.pop("task") == 20
    updates = [f"update {number}" for number in range(6)]
    assert written == dict.fromkeys([*updates, "artifact_update", "status_update"], 3)


STORY = Task(id="t", context_id="c", status=TaskStatus(state=TaskState.TASK_STATE_WORKING))
SPOKEN = Message(message_id="m", parts=[Part(text='"Grüße"\r\n\u2028 in a line')])


class Scripted(AssessmentHandler):
    """Tells a task and an update of it; then its stream ends or breaks."""

    def __init__(self, config: GreenAgentConfig, problem: Exception | None) -> None:
        super().__init__(config, None)  # type: ignore[arg-type]
        self._problem = problem

    async def on_subscribe_to_task(self, params: Any, context: Any) -> AsyncGenerator[Event]:
        if params.id != STORY.id:
            raise TaskNotFoundError
        async for event in stream(STORY, self._rest(), context, EVERYTHING):
            yield event

    async def _rest(self) -> AsyncGenerator[SharedEvent]:
        status = TaskStatus(state=TaskState.TASK_STATE_WORKING, message=SPOKEN)
        yield SharedEvent(TaskStatusUpdateEvent(task_id="t", context_id="c", status=status))
        if self._problem is not None:
            raise self._problem


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("problem", [None, InternalError("Temporal is away."), ZeroDivisionError("a defect")])
async def test_listeners_get_what_a2a_sdk_writes(
    config: GreenAgentConfig, form: str, problem: A2AError | Exception | None
) -> None:
    async def told(*, shared: bool) -> list[Any]:
        handler, contexts = Scripted(config, problem), ContextBuilder()
        routes = [
            *with_checked_params(create_jsonrpc_routes(handler, "/", contexts, enable_v0_3_compat=True)),
            *mended(create_rest_routes(handler, contexts, enable_v0_3_compat=True)),
        ]
        app = Starlette(routes=sharing(routes) if shared else routes)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway") as http:
            return [[event async for event in listen(http, form, task_id, 7)] for task_id in ("t", "another")]

    heard = await told(shared=True)
    assert heard == await told(shared=False)
    assert [len(story) for story in heard] == [2 if problem is None else 3, 1]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("reads", [True, False])
async def test_a_listener_that_leaves_ends_its_stream(config: GreenAgentConfig, form: str, reads: bool) -> None:
    ended, gone, left_in = asyncio.Event(), asyncio.Event(), False

    class Endless(Scripted):
        async def _rest(self) -> AsyncGenerator[SharedEvent]:
            nonlocal left_in
            try:
                async for event in super()._rest():
                    yield event
                left_in = True
                await asyncio.Event().wait()
            finally:
                ended.set()

    handler, contexts = Endless(config, None), ContextBuilder()
    routes = [
        *with_checked_params(create_jsonrpc_routes(handler, "/", contexts, enable_v0_3_compat=True)),
        *mended(create_rest_routes(handler, contexts, enable_v0_3_compat=True)),
    ]
    app = Starlette(routes=sharing(routes))
    is_new, is_rpc = form.startswith("1.0"), form.endswith("JSON-RPC")
    call = {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask" if is_new else "tasks/resubscribe"}
    sent = [{"type": "http.request", "body": json.dumps(call | {"params": {"id": "t"}}).encode() if is_rpc else b""}]

    async def receive() -> Any:
        if sent:
            return sent.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(told: Any) -> None:
        if "Gr\u00fc\u00dfe".encode() in told.get("body", b""):
            gone.set()
            if not reads:
                await asyncio.Event().wait()

    path = "/" if is_rpc else f"{'' if is_new else '/v1'}/tasks/t:subscribe"
    headers = [(b"a2a-version", b"1.0")] if is_new else []
    about = {"method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"", "headers": headers}
    await app({"type": "http", "http_version": "1.1", "scheme": "http", "root_path": "", **about}, receive, send)
    assert ended.is_set()
    assert left_in == reads


def test_a_caller_who_takes_no_json_gets_none_and_changes_nothing_for_others() -> None:
    parts = [Part(text="a sentence"), data_part({"a": 1})]
    status = TaskStatus(state=TaskState.TASK_STATE_WORKING, message=Message(message_id="m", parts=parts))
    event = SharedEvent(TaskStatusUpdateEvent(task_id="t", status=status))
    whole = event.written("1.0", EVERYTHING)
    assert (
        len(json.loads(event.written("1.0", OutputModes(json=False)))["statusUpdate"]["status"]["message"]["parts"])
        == 1
    )
    assert len(json.loads(whole)["statusUpdate"]["status"]["message"]["parts"]) == 2
    assert event.written("1.0", EVERYTHING) is whole
