"""Temporal behind TLS and an API key, payloads encrypted: a worker and a gateway of their own beside the stack's."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from proctor_storage.temporal import connect
from purple_sdk.ues import AsyncUESClient
from tests.processes import module, read_address, read_line, running_beside
from tests.stack import SCENARIOS, Stack, assess, serving
from tests.tls_proxy import Authority, behind_tls

KEYS = f"new:{base64.b64encode(b'n' * 32).decode()} old:{base64.b64encode(b'o' * 32).decode()}"
SAID = "Nobody but the two of us reads what stands in this mail."


async def answer(turn: int, ues: AsyncUESClient, now: datetime) -> None:
    """Reads the first mail, and writes one."""
    await ues.chat.send(role="assistant", content=SAID)


@asynccontextmanager
async def services(
    stack: Stack, queue: str, environment: dict[str, str], over: dict[str, dict[str, str]]
) -> AsyncIterator[str]:
    """A worker and a gateway on task queues of their own; gives the gateway's address."""
    queues = {f"AGENTBEATS_GREEN_{name}": f"{name}-{queue}" for name in ("TASK_QUEUE", "MODELS_TASK_QUEUE")}
    known = {name: value for name, value in stack.local.make_environment().items() if value is not None}
    shared = {**known, **queues, "AGENTBEATS_GREEN_CONTAINERS": "off", **environment}
    async with (
        running_beside(module("proctor", "worker"), {**shared, **over.get("worker", {})}) as worker,
        running_beside(module("proctor", "gateway", "--port", "0"), {**shared, **over.get("gateway", {})}) as gateway,
    ):
        assert "polling" in await asyncio.to_thread(read_line, worker)
        yield await asyncio.to_thread(read_address, gateway)


async def test_an_assessment_over_certificates_and_an_api_key_leaves_no_clear_text(
    stack: Stack, tmp_path: Path
) -> None:
    authority = Authority.make(tmp_path)
    trusted = {"TEMPORAL_TLS_SERVER_CA_CERT_PATH": str(authority.ca)}
    upstream = stack.local.temporal_address
    async with (
        behind_tls(upstream, authority, asks_for_certificate=True) as with_certificates,
        behind_tls(upstream, authority, api_key="a key of ours") as with_a_key,
    ):
        certificate = {
            "TEMPORAL_TLS_CLIENT_CERT_PATH": str(authority.client),
            "TEMPORAL_TLS_CLIENT_KEY_PATH": str(authority.client.with_suffix(".key")),
        }
        over = {
            "worker": {**trusted, **certificate, "TEMPORAL_ADDRESS": with_certificates},
            "gateway": {**trusted, "TEMPORAL_ADDRESS": with_a_key, "TEMPORAL_API_KEY": "a key of ours"},
        }
        nobody = {"AGENTBEATS_GREEN_TEMPORAL_ADDRESS": "127.0.0.1:1"}  # TEMPORAL_ADDRESS wins
        async with (
            services(stack, "tls", {"AGENTBEATS_GREEN_PAYLOAD_KEYS": KEYS, **nobody}, over) as gateway,
            serving(answer) as agent,
        ):
            assessed = await assess(gateway, agent, "email_triage_basic", max_turns=2)
    assert assessed.state == "completed", assessed.sentence
    assert assessed.results is not None
    assert assessed.results.turns_taken == 2
    written = await written_of(stack, "TASK_QUEUE-tls")
    assert b"binary/encrypted" in written
    found = [text for text in [SAID, *mails()] if any(form in written for form in forms(text))]
    assert not found


async def written_of(stack: Stack, task_queue: str) -> bytes:
    """All that Temporal has of the workflows of a task queue: histories, memos, search attributes, summaries."""
    client = await connect(stack.config)
    written = []
    async for workflow in client.list_workflows(f"TaskQueue = '{task_queue}'"):
        handle = client.get_workflow_handle(workflow.id, run_id=workflow.run_id)
        written.append((await handle.describe()).raw_description.SerializeToString())
        written += [event.SerializeToString() async for event in handle.fetch_history_events()]
    assert len(written) > 50
    return b"\n".join(written)


def mails() -> list[str]:
    """What stands in the scenario's mails, line by line, and in its description of the user's wishes."""
    state = json.loads((SCENARIOS / "email_triage_basic" / "initial_state.json").read_text())
    texts = [text for text in strings_in(state) if " " in text]
    return [line.strip() for text in texts for line in text.splitlines() if len(line.strip()) > 20]


def strings_in(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for each in value.values() for text in strings_in(each)]
    return [text for each in value for text in strings_in(each)] if isinstance(value, list) else []


def forms(text: str) -> list[bytes]:
    """A text as it may stand in a payload: as it is, in JSON, in base64 at any of three places."""
    encoded = text.encode()
    shifted = [base64.b64encode(b"x" * shift + encoded)[4:-4] for shift in range(3)]
    return [encoded, json.dumps(text)[1:-1].encode(), *shifted]
