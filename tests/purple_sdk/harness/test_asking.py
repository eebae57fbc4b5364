"""What a relay lets through to a model, what of it counts, and how much of it is held."""

import asyncio
import copy
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from purple_sdk.harness import asking, fetching, refusing, relay
from purple_sdk.harness.allowed import ROUTES, find_refused, keep_known
from purple_sdk.harness.budget import Budget
from purple_sdk.harness.declared import HarnessError, Wire
from purple_sdk.harness.folders import Folders
from purple_sdk.harness.relay import Relay
from purple_sdk.harness.tools import SimulationTools
from purple_sdk.harness.upstream import find_upstream
from purple_sdk.settings.config import HarnessConfig
from tests.purple_sdk.harness.playing import fake_agent
from tests.sentences import says
from tests.waiting import PATIENCE, eventually

CHAT = "/v1/chat/completions"
SENT = {"model": "small", "messages": []}
USAGE = {"prompt_tokens": 50, "completion_tokens": 10}
WHOLE = json.dumps({"choices": [{"message": {"content": "Hi."}}], "usage": USAGE}).encode()
EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
FIRST = b'data: {"choices": [{"delta": {"content": "Hi"}}]}\n\n'
LAST = f"data: {json.dumps({'choices': [], 'usage': USAGE})}\n\n".encode()


@dataclass
class Heard:
    """Requests, as the model's endpoint got them."""

    targets: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)


Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


async def answer_whole(writer: asyncio.StreamWriter) -> None:
    writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nSet-Cookie: a=b\r\nContent-Length: %d\r\n\r\n"
        % len(WHOLE)
        + WHOLE
    )


@asynccontextmanager
async def endpoint(answer: Answer) -> AsyncIterator[tuple[str, Heard]]:
    heard = Heard()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next((line for line in head.lower().splitlines() if line.startswith("content-length:")), ":0")
        heard.bodies.append(await reader.readexactly(int(length.split(":")[1])))
        heard.targets.append(" ".join(head.split(" ")[:2]))
        heard.heads.append(head)
        try:
            await answer(writer)
            await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", heard


@asynccontextmanager
async def relayed(url: str, wire: Wire = "chat", **limits: Any) -> AsyncIterator[tuple[Relay, httpx.AsyncClient]]:
    budget = Budget(HarnessConfig(model="small", **limits))
    made = Relay(find_upstream(wire, url, {"OPENAI_API_KEY": "own"}), SimulationTools("http://127.0.0.1:9", ""), budget)
    keys = {"Authorization": f"Bearer {made.token}"}
    async with made, httpx.AsyncClient(base_url=made.address, headers=keys, timeout=PATIENCE) as agent:
        yield made, agent


async def status_of(agent: httpx.AsyncClient, line: str, body: bytes = b"{}", header: str = "X: y") -> int:
    """The status that a request gets whose path is sent as it is."""
    reader, writer = await asyncio.open_connection(agent.base_url.host, agent.base_url.port)
    key = agent.headers["authorization"]
    head = f"{line} HTTP/1.1\r\nHost: x\r\nAuthorization: {key}\r\nContent-Length: {len(body)}\r\n{header}\r\n\r\n"
    writer.write(head.encode() + body)
    status = int((await reader.readline()).split()[1])
    writer.close()
    return status


REFUSED: dict[Wire, list[str]] = {
    "chat": [
        *(f"POST {CHAT}{end}" for end in ("/", "%2f", "/..", "/../files", ";x", "%20", "/x")),
        *("POST //v1/chat/completions", "POST /v1//chat/completions", "POST /v1/./chat/completions"),
        *("POST /v1/%63hat/completions", "POST /v1/CHAT/completions", "POST /v2/chat/completions", f"PUT {CHAT}"),
        *("POST /chat/completions", "POST /v1/x/chat/completions", "POST /openai/deployments/x/chat/completions"),
        *("POST /v1/completions", "POST /v1/embeddings", "POST /v1/batches", "POST /v1/files", "POST /v1/messages"),
        *("GET /v1/responses/resp_1", "POST /v1/responses/compact", f"GET {CHAT}", f"DELETE {CHAT}", f"PATCH {CHAT}"),
        *("DELETE /v1/files/f", "GET /v1/files", "GET /v1/organization/costs", "DELETE /v1/models/ft:x", "OPTIONS *"),
        *("GET /v1/models/..", "GET /v1/models/%2e%2e/files", "GET /v1/models/x/y", "POST /v1/models", "GET /mcpx"),
    ],
    "anthropic": ["POST /v1/messages/batches", "POST /v1/complete", "GET /v1/files", f"POST {CHAT}"],
    "gemini": [
        *(f"POST /v1beta/models/x:{verb}" for verb in ("batchGenerateContent", "embedContent", "generatecontent")),
        *("POST /v1beta/models/../files/x:generateContent", "POST /upload/v1beta/files", "POST /v1beta/cachedContents"),
        "POST /v1beta/models/x%3AgenerateContent",
    ],
}


@pytest.mark.parametrize("wire", REFUSED)
async def test_requests_that_are_not_listed_do_not_reach_the_endpoint(wire: Wire) -> None:
    async with endpoint(answer_whole) as (url, heard), relayed(url, wire) as (_, agent):
        passed = [line for line in REFUSED[wire] if await status_of(agent, line) not in (404, 405)]
        assert (passed, heard.targets) == ([], [])


async def test_an_endpoint_gets_what_the_relay_has_read() -> None:
    """Neither a repeated field nor a query or header changes what is done, what is answered or who pays."""
    async with endpoint(answer_whole) as (url, heard), relayed(url) as (made, agent):
        twice = (
            b'{"model": "small", "model": "other", "stream": true, '
            b'"stream_options": null, "stream_options": {"continuous_usage_stats": true}}'
        )
        override = "X-HTTP-Method-Override: DELETE\r\nOpenAI-Organization: org"
        assert await status_of(agent, f"POST {CHAT}?fields=choices&alt=media&alt=json", twice, override) == 200
        upgrade = "Connection: Upgrade\r\nUpgrade: websocket"
        assert await status_of(agent, "GET /v1/models", b"", upgrade) == 426
        compressed = gzip.compress(b"{}")
        assert await status_of(agent, f"POST {CHAT}", compressed, "Content-Encoding: gzip") == 415
        for body in (b"[]", b"{", b'{"n": NaN}', b"[" * 100_000, b'{"a": [' + b"{}," * 1_000_000 + b"{}]}"):
            assert await status_of(agent, f"POST {CHAT}", body) == 400
    assert heard.targets == [f"POST {CHAT}?alt=json"]
    assert json.loads(heard.bodies[0]) == {"model": "other", "stream": True, "stream_options": {"include_usage": True}}
    assert "override" not in heard.heads[0].lower()
    assert "organization" not in heard.heads[0].lower()
    assert [answer.input_tokens for answer in made.record.answers] == [50]


SAID = {"type": "text", "text": "Hello"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def sent(wire: Wire, fields: dict[str, Any]) -> tuple[str | None, dict[str, Any], list[str]]:
    """Why a request with these fields is refused, what is sent of it, and what is left out."""
    fields = copy.deepcopy(fields)
    route = next(route for route in ROUTES[wire] if route.wire == wire)
    return find_refused(wire, fields), *keep_known(route, fields)


@pytest.mark.parametrize(
    ("wire", "fields", "named"),
    [
        ("responses", {"background": True}, "background"),
        ("responses", {"prompt": {"id": "pmpt_1"}}, "prompt"),
        ("responses", {"previous_response_id": "resp_1"}, "previous_response_id"),
        ("gemini", {"cached_content": "cachedContents/1"}, "cached_content"),
        ("responses", {"tools": [{"type": "function"}, {"type": "web_search"}]}, "web_search"),
        ("responses", {"tools": [{"type": "namespace", "tools": [{"type": "mcp"}]}]}, "mcp"),
        ("anthropic", {"tools": [{"name": "x"}, {"type": "code_execution_20250825"}]}, "code_execution"),
        ("gemini", {"tools": [{"functionDeclarations": []}, {"google_search": {}}]}, "google_search"),
        ("gemini", {"tools": {"codeExecution": {}}}, "codeExecution"),
        ("chat", {"tools": ["web_search"]}, "web_search"),
        ("chat", {"tools": [{"googleSearch": {}}]}, "googleSearch"),
        ("responses", {"input": [{"type": "additional_tools", "tools": [{"type": "web_search"}]}]}, "web_search"),
        ("responses", {"input": [{"type": "tool_search_output", "tools": [{"tools": [{"type": "mcp"}]}]}]}, "mcp"),
        ("chat", {"messages": [{"role": "system", "tools": [{"type": "web_search"}]}]}, "web_search"),
        ("responses", {"input": [{"id": "msg_1"}]}, "a reference"),
        ("responses", {"input": [{"content": [{"type": "input_file", "file_id": "file_1"}]}]}, "file_id"),
        ("responses", {"input": [{"output": [{"type": "input_image", "image_url": "https://x"}]}]}, "image_url"),
        ("chat", {"messages": [{"content": [{"type": "image_url", "image_url": {"url": "http://x"}}]}]}, "image_url"),
        ("chat", {"messages": [{"content": [{"type": "file", "file": {"file_id": "file_1"}}]}]}, "file_id"),
        ("anthropic", {"messages": [{"content": [{"source": {"type": "url", "url": "https://x"}}]}]}, "url"),
        ("anthropic", {"messages": [{"content": [{"content": [{"source": {"file_id": "f"}}]}]}]}, "file_id"),
        ("gemini", {"contents": [{"parts": [{"file_data": {"fileUri": "https://x"}}]}]}, "fileUri"),
        ("gemini", {"contents": {"parts": {"functionResponse": {"parts": {"fileData": {"fileUri": "x"}}}}}}, "fileUri"),
        ("gemini", {"contents": [{"parts": [{"functionResponse": {"response": {"file_id": "x", "url": "x"}}}]}]}, None),
        ("anthropic", {"messages": [{"content": [{"type": "tool_use", "input": {"url": "x", "file_id": "y"}}]}]}, None),
        ("chat", {"messages": [{"content": [SAID, PICTURE], "tool_calls": [{"type": "function"}]}]}, None),
        ("responses", {"input": [{"type": "mcp_list_tools", "tools": [{"name": "x"}]}, {"content": "x"}]}, None),
        ("responses", {"tools": [{"type": "namespace", "tools": [{"type": "custom"}]}], "background": False}, None),
        ("gemini", {"tools": [{"function_declarations": []}]}, None),
        ("anthropic", {"tools": [{"name": "x"}, {"type": "bash_20250124"}], "service_tier": "auto"}, None),
    ],
)  # fmt: skip
def test_what_is_not_in_the_request_itself_is_refused(wire: Wire, fields: dict[str, Any], named: str | None) -> None:
    refused, _, _ = sent(wire, fields)
    assert refused is None if named is None else named in str(refused)


@pytest.mark.parametrize(
    ("wire", "field", "value"),
    [
        *(("chat", name, "x") for name in ("models", "route", "provider", "plugins", "extra_body", "best_of", "audio")),
        *(("chat", name, 9_999) for name in ("n_predict", "N", "Max_Tokens", "use_beam_search", "min_tokens")),
        ("chat", "web_search_options", {"a": 1}),
        ("chat", "service_tier", "priority"),
        ("chat", "Service_Tier", "default"),
        ("chat", "modalities", ["text", "audio"]),
        ("chat", "store", True),
        ("responses", "store", True),
        ("responses", "max_tokens", 10),
        ("anthropic", "speed", "fast"),
        ("anthropic", "fallbacks", [{"model": "dear"}]),
        ("anthropic", "inference_geo", "us"),
        ("anthropic", "mcp_servers", [{"url": "https://x"}]),
        ("gemini", "GenerationConfig", {"maxOutputTokens": 9}),
        ("gemini", "model", "dear"),
    ],
)
def test_fields_that_are_not_known_are_left_out(wire: Wire, field: str, value: Any) -> None:
    assert sent(wire, {field: value, "tools": []}) == (None, {"tools": []}, [field])


def test_options_and_tools_lose_the_fields_that_are_not_known() -> None:
    options = {
        "topK": 1,
        "max_output_tokens": 9,
        "routingConfig": {},
        "responseModalities": ["IMAGE"],
        "serviceTier": "x",
    }
    _, kept, left_out = sent("gemini", {"generation_config": options})
    assert kept == {"generation_config": {"topK": 1, "max_output_tokens": 9}}
    assert left_out == ["generation_config.responseModalities", "generation_config.serviceTier"]
    tools = [{"type": "namespace", "tools": [{"googleSearch": {}, "type": "function", "name": "x"}], "future": 1}]
    _, kept, left_out = sent("responses", {"input": [{"tools": tools}]})
    assert kept == {"input": [{"tools": [{"type": "namespace", "tools": [{"type": "function", "name": "x"}]}]}]}
    assert left_out == ["tools.future", "tools.googleSearch"]


TOOL = {"name": "x", "description": "Do x.", "parameters": {}, "strict": False}
FUNCTIONS = [{"type": "function", "function": {"name": "x", "parameters": {}}}]


@pytest.mark.parametrize(
    ("wire", "fields"),
    [
        pytest.param(
            "anthropic",
            {
                "max_tokens": 32000,
                "messages": [],
                "model": "m",
                "stream": True,
                "system": [SAID],
                "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
                "metadata": {"user_id": "u"},
                "output_config": {"effort": "high"},
                "thinking": {"type": "adaptive"},
                "tools": [{"name": "x", "description": "Do x.", "input_schema": {}}],
            },
            id="Claude Code",
        ),
        pytest.param(
            "responses",
            {
                "input": [{"type": "message", "content": [SAID]}],
                "model": "m",
                "stream": True,
                "store": False,
                "client_metadata": {"a": "b"},
                "include": ["reasoning.encrypted_content"],
                "tool_choice": "auto",
                "parallel_tool_calls": True,
                "prompt_cache_key": "k",
                "reasoning": {"summary": "auto"},
                "tools": [
                    {"type": "namespace", "name": "n", "description": "d", "tools": [{"type": "function", **TOOL}]}
                ],
            },
            id="Codex",
        ),
        pytest.param(
            "gemini",
            {
                "contents": [{"role": "user", "parts": [{"text": "Hello", "thoughtSignature": "s"}]}],
                "generationConfig": {"temperature": 1, "topK": 64, "topP": 0.95, "thinkingConfig": {"a": True}},
                "systemInstruction": {"role": "user", "parts": [{"text": "Hello"}]},
                "tools": [{"functionDeclarations": [TOOL]}],
            },
            id="Gemini CLI",
        ),
        pytest.param(
            "chat",
            {
                "max_tokens": 16000,
                "messages": [],
                "model": "m",
                "stream": True,
                "tool_choice": "auto",
                "stream_options": {"include_usage": True},
                "tools": FUNCTIONS,
            },
            id="OpenCode and Hermes",
        ),
        pytest.param(
            "chat",
            {"max_completion_tokens": 16000, "messages": [], "model": "m", "stream": True, "tools": FUNCTIONS},
            id="OpenClaw",
        ),
    ],
)
def test_requests_of_cli_agents_pass_whole(wire: Wire, fields: dict[str, Any]) -> None:
    """The fields that these CLI agents were seen to send; ``python -m tests.agents`` plays with the programs."""
    assert sent(wire, fields) == (None, fields, [])


async def test_a_request_with_a_new_field_passes_without_it_and_the_log_names_it_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(asking, "_told", set())
    async with endpoint(answer_whole) as (url, heard), relayed(url) as (_, agent):
        for _ in range(2):
            assert (await agent.post(CHAT, json={**SENT, "new\x1b": {"a": 1}, "service_tier": "priority"})).is_success
    assert list(map(json.loads, heard.bodies)) == [SENT] * 2
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == ['"new\\u001b", "service_tier"']


async def test_counts_of_tokens_are_asked_without_fields_that_are_not_known() -> None:
    async with endpoint(answer_whole) as (url, heard), relayed(url, "anthropic") as (_, agent):
        body = {**SENT, "mcp_servers": [{"url": "https://x"}]}
        assert (await agent.post("/v1/messages/count_tokens", json=body)).status_code == 200
        body = {"messages": [{"content": [{"source": {"type": "url", "url": "https://x"}}]}]}
        assert (await agent.post("/v1/messages/count_tokens", json=body)).status_code == 400
    assert list(map(json.loads, heard.bodies)) == [SENT]


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": 50, "completion_tokens": 1}])
async def test_an_answer_counts_whose_tokens_come_after_the_agent_has_hung_up(usage: Any) -> None:
    first = FIRST.replace(b'{"choices', b'{"usage": %s, "choices' % json.dumps(usage).encode())
    has_hung_up = asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(EVENTS + first)
        await has_hung_up.wait()
        writer.write(LAST)

    async with endpoint(answer) as (url, _), relayed(url) as (made, agent):
        async with agent.stream("POST", CHAT, json={**SENT, "stream": True}) as reply:
            assert await anext(reply.aiter_bytes()) == first
        has_hung_up.set()
    (answered,) = made.record.answers
    assert (answered.input_tokens, answered.output_tokens, answered.is_estimated) == (50, 10, False)


async def test_an_answer_that_never_comes_counts_by_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "_DRAIN_SECONDS", 0.05)
    asked = asyncio.Event()

    async def hang(_: asyncio.StreamWriter) -> None:
        asked.set()
        await asyncio.Event().wait()

    async with endpoint(hang) as (url, _):
        async with relayed(url) as (made, agent):
            waiting = asyncio.create_task(agent.post(CHAT, json={**SENT, "user": "x" * 400}))
            await asked.wait()
        await asyncio.gather(waiting, return_exceptions=True)
    (answered,) = made.record.answers
    assert answered.input_tokens >= 100


async def test_a_turn_that_is_stopped_names_a_model_that_does_not_answer(tmp_path: Path) -> None:
    asked, released = asyncio.Event(), asyncio.Event()

    async def hang(writer: asyncio.StreamWriter) -> None:
        asked.set()
        await released.wait()
        await answer_whole(writer)

    starter = fake_agent(tmp_path, "http://127.0.0.1:9")._starter
    folders = Folders(tmp_path / "homes", "one")
    folders.restore(1)
    async with endpoint(hang) as (url, _), relayed(url) as (made, agent):
        waiting = asyncio.create_task(agent.post(CHAT, json=SENT))
        await asked.wait()
        with pytest.raises(HarnessError, match=r"^Its model .* \d+ s\. fake "):
            await starter.play("Wait.", folders, made, 0.001)
        released.set()
        await waiting
        with pytest.raises(HarnessError, match=r"^fake .* 0\.001 s"):
            await starter.play("Wait.", folders, made, 0.001)


async def test_others_go_on_and_the_port_is_closed_if_an_answer_cannot_be_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a defect")

    monkeypatch.setattr(asking, "read_answer", fail)
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)

    async def fail_closing(_: float) -> None:
        raise RuntimeError("a defect")

    async with endpoint(answer_whole) as (url, _), relayed(url, max_tokens=10_000) as (made, agent):
        replies = await asyncio.gather(*(agent.post(CHAT, json=SENT) for _ in range(2)))
        assert [reply.status_code for reply in replies] == [200, 200]
        monkeypatch.setattr(made._asking, "aclose", fail_closing)
        with pytest.raises(RuntimeError):
            await made._close()
        assert made._listener.fileno() == -1
        monkeypatch.undo()


async def test_requests_at_once_pass_the_limit_by_one_answer_at_most() -> None:
    async with endpoint(answer_whole) as (url, heard), relayed(url, max_tokens=100) as (made, agent):
        replies = await asyncio.gather(*(agent.post(CHAT, json=SENT) for _ in range(20)))
        assert sorted(reply.status_code for reply in replies) == [200] * 2 + [400] * 18
        assert made.excess is not None
    assert len(heard.targets) == 2


GREEDY = {"choices": [{"message": {"content": "Hi."}}], "usage": {"prompt_tokens": 50, "completion_tokens": 60_000}}


@pytest.mark.parametrize("limit", ["max_tokens", "tokens_per_turn", "max_cost"])
async def test_an_endpoint_that_ignores_the_longest_answer_passes_a_limit_by_one_answer(
    limit: str, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[models."small"]\ninput = 1\noutput = 1\n')
    bounds: dict[str, Any] = {limit: 0.1 if limit == "max_cost" else 100_000}

    async def answer(writer: asyncio.StreamWriter) -> None:
        content = json.dumps(GREEDY).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content) + content)

    async with endpoint(answer) as (url, heard), relayed(url, prices=str(prices), **bounds) as (_, agent):
        replies = await asyncio.gather(*(agent.post(CHAT, json={**SENT, "max_tokens": 10}) for _ in range(8)))
    assert sorted(reply.status_code for reply in replies) == [200] * 2 + [400] * 6
    assert len(heard.targets) == 2


async def test_a_try_waits_for_requests_of_an_earlier_one() -> None:
    asked, released = asyncio.Event(), asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        asked.set()
        await released.wait()
        await answer_whole(writer)

    async with endpoint(answer) as (url, heard), relayed(url, max_tokens=60) as (first, earlier):
        waiting = asyncio.create_task(earlier.post(CHAT, json=SENT))
        await asked.wait()
        later = Relay(first._asking._upstream, first.tools, first._asking._budget)
        async with later, httpx.AsyncClient(headers={"Authorization": f"Bearer {later.token}"}) as agent:
            other = asyncio.create_task(agent.post(f"{later.address}{CHAT}", json=SENT, timeout=PATIENCE))
            await eventually(lambda: later._asking._places._value < asking._AT_ONCE)
            released.set()
            assert [(await waiting).status_code, (await other).status_code] == [200, 400]
    assert len(heard.targets) == 1


async def test_requests_go_at_once_where_the_budget_has_room_and_few_are_held() -> None:
    under_way, most, full, released = 0, 0, asyncio.Event(), asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if under_way == asking._AT_ONCE:
            full.set()
        await released.wait()
        under_way -= 1
        await answer_whole(writer)

    async with endpoint(answer) as (url, _), relayed(url) as (_, agent):
        asked = asyncio.gather(*(agent.post(CHAT, json=SENT) for _ in range(asking._AT_ONCE + 4)))
        await full.wait()
        await asyncio.sleep(0.2)  # others would come now, if they were let through
        released.set()
        replies = await asked
    assert {reply.status_code for reply in replies} == {200}
    assert most == asking._AT_ONCE


async def test_an_answer_that_is_not_fetched_keeps_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "_AT_ONCE", 1)

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(EVENTS + b": nothing\n" * 2_000_000)

    async with endpoint(answer) as (url, heard), relayed(url) as (made, agent):
        async with agent.stream("POST", CHAT, json={**SENT, "stream": True}) as reply:
            other = asyncio.create_task(agent.get("/v1/models"))
            await eventually(lambda: made.record.answers)  # it was read, but not passed on
            await asyncio.sleep(0.2)  # the other one would be sent now
            assert len(heard.targets) == 1
            assert len(await reply.aread()) == 20_000_000
        assert (await other).status_code == 200


async def test_bodies_are_cut_off_while_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "MOST_BODY", 100_000)
    monkeypatch.setattr(refusing, "MOST_BODY", 100_000)

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(EVENTS)
        while True:
            writer.write(b"data: {}\n\n" * 1_000)
            await writer.drain()

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 10_000

    async with endpoint(answer) as (url, heard), relayed(url) as (made, agent):
        with pytest.raises(httpx.RemoteProtocolError):
            await agent.post(CHAT, json={**SENT, "stream": True})
        for path in (CHAT, "/mcp"):
            try:
                assert (await agent.post(path, content=endless())).status_code == 413
            except (httpx.WriteError, httpx.ReadError):
                pass  # the relay closed the connection while the agent was writing
        assert await status_of(agent, f"POST {CHAT}", b"x" * 100_001) == 413
    assert len(heard.targets) == 1
    assert [answer.is_estimated for answer in made.record.answers] == [True]


async def test_texts_pass_as_they_are_and_neither_cookies_nor_headers_that_no_client_sends() -> None:
    text = "\u00e9" * 100 + "\ud83d"  # with half of a pair, as programs in JavaScript cut texts
    body = json.dumps({**SENT, "user": text}, ensure_ascii=False).encode(errors="backslashreplace")
    async with endpoint(answer_whole) as (url, heard), relayed(url) as (_, agent):
        for _ in range(2):
            assert await status_of(agent, f"POST {CHAT}", body, "User-Agent: \u00e9") == 200
    assert heard.bodies == [body] * 2
    assert not [head for head in heard.heads if "cookie" in head.lower() or "\u00e9" in head]


async def test_a_body_is_not_sent_that_grew_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusing, "MOST_BODY", 3_000)
    async with endpoint(answer_whole) as (url, heard), relayed(url) as (_, agent):
        body = b'{"messages": [' + b"1e15," * 500 + b"1]}"
        assert (await agent.post(CHAT, content=body)).status_code == 413
    assert heard.targets == []


async def test_a_compressed_answer_is_not_unpacked_without_bounds() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\nContent-Length: 4\r\n\r\n1234")

    async with endpoint(answer) as (url, _), relayed(url) as (_, agent):
        reply = await agent.post(CHAT, json=SENT)
        assert reply.status_code == 502
        assert reply.json()["error"]["message"] == says()


async def test_only_models_with_a_price_are_asked_if_money_is_limited(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[models."small"]\ninput = 1\noutput = 1\n')
    async with (
        endpoint(answer_whole) as (url, heard),
        relayed(url, max_cost=1, prices=str(prices)) as (_, agent),
    ):
        refused = await agent.post(CHAT, json={**SENT, "model": "dear"})
        assert refused.status_code == 400
        assert says("dear").within(refused.text)
        assert (await agent.post(CHAT, json=SENT)).status_code == 200
    assert len(heard.targets) == 1
