"""The HTTP side: the card, what is refused before anything else sees it, protocol 0.3 over HTTP+JSON, the process."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.client import A2ACardResolver
from a2a.compat.v0_3.types import AgentCard as AgentCard03
from pydantic import ValidationError

from proctor.a2a_gateway.card import agent_card
from proctor.a2a_gateway.limits import MOST_BYTES
from proctor.a2a_gateway.logs import leave_refusals_to_us
from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol.terminal import is_terminal_request, parse_terminal_request
from tests.a2a_gateway.callers import (
    call03,
    message03,
    stream03,
    text03,
)
from tests.a2a_gateway.conftest import Gateway, request
from tests.sentences import says
from tests.waiting import PATIENCE
from tests.work import some_of

V1 = {"A2A-Version": "1.0"}


async def test_callers_of_both_protocols_read_the_card(gateway: Gateway) -> None:
    card = await A2ACardResolver(gateway.http, gateway.url).get_agent_card()
    assert card.name == "Proctor"
    assert card.capabilities.streaming
    assert card.capabilities.push_notifications
    assert [(i.protocol_binding, i.protocol_version, i.url) for i in card.supported_interfaces] == [
        ("JSONRPC", "1.0", gateway.url),
        ("HTTP+JSON", "1.0", gateway.url.rstrip("/")),
        ("JSONRPC", "0.3", gateway.url),
        ("HTTP+JSON", "0.3", gateway.url.rstrip("/")),
    ]
    body = (await gateway.http.get("/.well-known/agent-card.json")).json()
    legacy = AgentCard03.model_validate(body)
    assert (legacy.url, legacy.preferred_transport, legacy.protocol_version) == (gateway.url, "JSONRPC", "0.3")
    assert legacy.skills[0].id == "assess"
    json.loads(legacy.skills[0].examples[0] if legacy.skills[0].examples else "")


def test_the_terminal_bench_evaluator_shows_its_own_skill() -> None:
    def skills(**settings: Any) -> list[str]:
        return [skill.id for skill in agent_card(GreenAgentConfig(**settings)).skills]

    assert skills() == ["assess"]
    assert skills(containers="on") == ["assess", "terminal-bench"]
    assert skills(card_subject="terminal-bench") == ["terminal-bench"]
    card = agent_card(GreenAgentConfig(card_subject="terminal-bench"))
    assert "Terminal-Bench" in card.name
    assert is_terminal_request(json.loads(card.skills[0].examples[0]))
    parse_terminal_request(json.loads(card.skills[0].examples[0]))


def test_its_card_describes_what_it_plays_unless_told_otherwise() -> None:
    defaults = {
        "dataset_name": "core",
        "dataset_version": "0.1.1",
        "agents": {"mine": "http://a.example"},
        "n_tasks": 2,
    }
    (skill,) = agent_card(
        GreenAgentConfig(card_subject="terminal-bench", terminal_defaults=json.dumps(defaults))
    ).skills
    assert says("0.1.1").within(skill.description)
    words, example = skill.examples
    asked = parse_terminal_request(json.loads(example))
    assert asked == parse_terminal_request(words, defaults)
    assert (asked.config.dataset, asked.config.n_tasks, asked.participants) == ("core@0.1.1", 2, defaults["agents"])
    with pytest.raises(ValidationError, check=says()):
        GreenAgentConfig(terminal_defaults="[1]")


async def test_there_is_no_extended_card(gateway: Gateway) -> None:
    answer = await gateway.http.get("/extendedAgentCard", headers=V1)
    assert answer.status_code == 400
    assert answer.json()["error"]["details"][0]["reason"] == "UNSUPPORTED_OPERATION"
    call = {"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard"}
    assert (await gateway.http.post("/", json=call, headers=V1)).json()["error"]["code"] == -32004
    legacy = await call03(gateway.http, "agent/getAuthenticatedExtendedCard", {})
    assert legacy["error"]["code"] == -32004
    assert says().within(legacy["error"]["message"])


async def test_the_card_is_where_early_callers_look_for_it_too(gateway: Gateway) -> None:
    new, old = [await gateway.http.get(f"/.well-known/{name}") for name in ("agent-card.json", "agent.json")]
    assert old.status_code == 200
    assert (old.json(), old.headers["etag"]) == (new.json(), new.headers["etag"])


async def chunks(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b" " * 100_000


@pytest.mark.parametrize("body", [b" " * (MOST_BYTES + 1), 11, 150])
async def test_a_request_that_is_too_large_is_refused(gateway: Gateway, body: Any) -> None:
    def content() -> Any:
        return body if isinstance(body, bytes) else chunks(body)

    refusal = says(str(MOST_BYTES))
    rpc = await gateway.http.post("/", content=content())
    assert rpc.status_code == 200
    assert rpc.json()["error"] == {"code": -32600, "message": refusal, "data": rpc.json()["error"]["data"]}
    rest = await gateway.http.post("/message:send", content=content(), headers=V1)
    assert rest.status_code == 413
    assert rest.json()["error"]["message"] == refusal


async def test_a_request_that_never_ends_is_refused(gateway: Gateway) -> None:
    address = httpx.URL(gateway.url)
    reader, writer = await asyncio.open_connection(address.host, address.port)
    writer.write(b"POST / HTTP/1.1\r\nHost: gateway\r\nTransfer-Encoding: chunked\r\n\r\n")
    answer = asyncio.create_task(reader.read(20_000))
    while not answer.done():
        writer.write(b"186A0\r\n" + b" " * 100_000 + b"\r\n")
        await asyncio.wait({answer}, timeout=0.001)
    assert b"send a shorter message" in await answer
    writer.close()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/", b"\xff\xfe"),
        ("/", b"[" * 100_000),
        ("/", b'{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": 7}}'),
        ("/", b'{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": 7}}'),
        (
            "/",
            b'{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": {"messageId": "m",'
            b'"role": "user", "parts": [{"kind": "text", "text": "\\ud800"}]}}}',
        ),
        ("/message:send", b"{"),
        ("/message:stream", b'{"message": {"parts": [{"data": ' + b"[" * 500 + b"]" * 500 + b"}]}}"),
        ("/v1/message:send", b"{"),
        ("/v1/message:stream", b"{}"),
    ],
)
async def test_garbage_gets_an_error_and_never_a_traceback(
    gateway: Gateway, path: str, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    leave_refusals_to_us()
    headers = V1 if path.startswith("/message") or b"SendMessage" in body else {}
    answer = await gateway.http.post(path, content=body, headers=headers)
    assert "Traceback" not in answer.text
    assert answer.json()["error"]["message"]
    lines = [line for record in caplog.records for line in caplog.handler.format(record).splitlines()]
    assert len(lines) == 1, lines
    assert f"POST {path}: " in lines[0]


@pytest.mark.parametrize(
    ("path", "version", "streams"),
    some_of(
        [
            *(("/", "1.0", False), ("/", "1.0", True), ("/", "0.3", True)),
            *(("/", "0.3", False), ("/message:send", "1.0", False), ("/message:send", "1.0", True)),
        ],
        3,
    ),
)
async def test_a_refusal_is_one_line_in_the_log(
    gateway: Gateway, path: str, version: str, streams: bool, caplog: pytest.LogCaptureFixture
) -> None:
    leave_refusals_to_us()
    text = "{}"
    if version == "0.3":
        method = "message/stream" if streams else "message/send"
        body: dict[str, Any] = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": method,
            "params": message03(text03(text), taskId="nonesuch"),
        }
    else:
        params = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}], "taskId": "nonesuch"}}
        method = "SendStreamingMessage" if streams else "SendMessage"
        body = params if path != "/" else {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    path = path.replace("send", "stream") if streams else path
    await gateway.http.post(path, json=body, headers={"A2A-Version": version})
    (record,) = [record for record in caplog.records if record.levelname != "INFO"]
    line = caplog.handler.format(record)
    assert says("nonesuch").within(line)
    assert f"POST {path}: " in line
    assert "\n" not in line


@pytest.mark.usefixtures("worker")
async def test_03_over_http_json(gateway: Gateway) -> None:
    sent = {
        "message": {
            "messageId": "m",
            "role": "ROLE_USER",
            "content": [{"text": json.dumps(request())}],
        }
    }
    task = (await gateway.http.post("/v1/message:send", json=sent)).json()["task"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    got = (await gateway.http.get(f"/v1/tasks/{task['id']}")).json()
    assert [artifact["name"] for artifact in got["artifacts"]] == ["assessment_results"]
    async with gateway.http.stream("POST", "/v1/message:stream", json=sent) as answer:
        lines = [json.loads(line[5:]) async for line in answer.aiter_lines() if line.startswith("data:")]
    assert len([line for line in lines if "statusUpdate" in line]) == 7
    assert lines[-1]["statusUpdate"]["final"] is True


async def test_the_process_says_when_it_is_ready_and_ends_cleanly(
    config: GreenAgentConfig, worker: object, tmp_path: Path
) -> None:
    settings = {
        "AGENTBEATS_GREEN_" + name.upper(): str(getattr(config, name))
        for name in ("host", "port", "temporal_address", "storage_url", "task_queue")
    }
    program = (
        "import asyncio; from proctor.a2a_gateway.server import serve; "
        "from proctor.settings.config import GreenAgentConfig; "
        "asyncio.run(serve(GreenAgentConfig())); print('ended')"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        program,
        env={**os.environ, **settings},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = (await asyncio.wait_for(process.stdout.readline(), PATIENCE)).decode().strip()
        assert says("http://127.0.0.1").within(line)
        url = line.rpartition(" ")[2] + "/"
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as http:
            card = (await http.get("/.well-known/agent-card.json")).json()
            assert card["url"] == url
            story = stream03(http, "message/stream", message03(text03(request(hold=True))))
            task = (await anext(story))["result"]
            assert task["status"]["state"] == "submitted"
            process.send_signal(signal.SIGTERM)
            with pytest.raises((StopAsyncIteration, httpx.RemoteProtocolError)):
                await anext(story)
        output = (await asyncio.wait_for(process.stdout.read(), PATIENCE)).decode()
        errors = (await process.stderr.read()).decode()
        assert await process.wait() == 0
        assert output.strip() == "ended"
        assert "Traceback" not in errors
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_an_address_that_is_taken_is_an_error_with_a_remedy(gateway: Gateway, config: GreenAgentConfig) -> None:
    from proctor.a2a_gateway.server import serve

    taken = config.model_copy(update={"port": httpx.URL(gateway.url).port})
    with pytest.raises(OSError, check=says("--host", "--port")):
        await serve(taken)
