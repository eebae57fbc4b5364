"""What a relay counts and records."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from proctor.ues.http.mcp import USUAL_NAME
from purple_sdk.harness.budget import Budget
from purple_sdk.harness.relay import Relay
from purple_sdk.harness.reporting import _as_action
from purple_sdk.harness.tools import SimulationTools
from purple_sdk.harness.upstream import find_upstream
from purple_sdk.settings.config import HarnessConfig
from tests.purple_sdk.harness.playing import fake_agent
from tests.scripted_model import CACHED, INPUT, OUTPUT, answer_in


async def test_an_answer_counts_when_the_agent_hangs_up_before_the_stream_ends() -> None:
    stream = answer_in("/responses", "Done.", streamed=True).encode()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + stream)
        await reader.read()  # until the relay closes the connection: the stream itself never ends
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as model:
        url = f"http://127.0.0.1:{model.sockets[0].getsockname()[1]}"
        relay = Relay(
            find_upstream("responses", url), SimulationTools("http://127.0.0.1:9/mcp", "key"), Budget(HarnessConfig())
        )
        async with relay, httpx.AsyncClient(headers={"Authorization": f"Bearer {relay.token}"}) as agent:
            body = {"model": "small", "stream": True, "input": "Hello?"}
            async with agent.stream("POST", f"{relay.address}/v1/responses", json=body) as reply:
                heard = b""
                async for piece in reply.aiter_bytes():
                    heard += piece
                    if b"response.completed" in heard:
                        break
    (answer,) = relay.record.answers
    assert (answer.text, answer.input_tokens, answer.output_tokens) == ("Done.", INPUT, OUTPUT)
    assert answer.cached_tokens == CACHED


@pytest.mark.parametrize("meta", [{USUAL_NAME: "chat_send"}, None])
async def test_an_action_is_reported_by_its_usual_name(meta: dict[str, str] | None, tmp_path: Path) -> None:
    class Renamed(SimulationTools):
        async def answer(
            self, http: httpx.AsyncClient, method: str, headers: Mapping[str, str], body: bytes
        ) -> httpx.Response:
            result = {"content": [{"type": "text", "text": "sent"}], **({"_meta": meta} if meta else {})}
            return httpx.Response(200, json={"jsonrpc": "2.0", "id": 1, "result": result})

    agent = fake_agent(tmp_path, "http://127.0.0.1:9")
    agent.initialize("http://127.0.0.1:9", "key", datetime(2026, 3, 2, tzinfo=UTC), "Help.")
    relay = Relay(agent._starter.upstream, Renamed("", ""), Budget(agent.config))
    async with relay, httpx.AsyncClient(headers={"Authorization": f"Bearer {relay.token}"}) as http:
        params = {"name": "do_chat_send" if meta else "chat_send", "arguments": {"content": "hi"}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        await http.post(f"{relay.address}/mcp", json=call)
    (used,) = relay.record.used_tools
    entry = _as_action(used, agent)
    assert entry is not None
    assert (entry.action, entry.parameters, used.name) == ("chat.send_message", {"content": "hi"}, params["name"])
