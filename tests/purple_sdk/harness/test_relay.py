"""The relay counts an answer although the CLI agent hangs up before the model's stream has ended."""

import asyncio

import httpx

from proctor_settings.config import HarnessConfig
from purple_sdk.harness.budget import Budget
from purple_sdk.harness.relay import Relay
from purple_sdk.harness.tools import SimulationTools
from purple_sdk.harness.upstream import find_upstream
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
