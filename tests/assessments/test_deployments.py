"""A deployment of parts: Temporal behind TLS and an API key, payloads encrypted, several servers of the simulator.

An assessment is on one simulator, and goes on at another when that is lost.
"""

import asyncio
import base64
import json
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import datetime
from typing import Any

import pytest
import pytest_asyncio

from proctor.storage.temporal import connect
from purple_sdk.protocol.messages import EarlyCompletionMessage
from purple_sdk.ues import AsyncUESClient
from tests.assessments.deployments import Hosts, two_hosts
from tests.assessments.scripts import diligent
from tests.stack import SCENARIOS, Stack, assess, serving
from tests.tls_proxy import Authority, behind_tls
from tests.waiting import eventually
from tests.work import only_nightly

KEYS = f"new:{base64.b64encode(b'n' * 32).decode()} old:{base64.b64encode(b'o' * 32).decode()}"
SAID = "Nobody but the two of us reads what stands in this mail."


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hosts(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hosts]:
    """A worker that Temporal knows by its certificate, a gateway that it knows by its key, and two simulators."""
    authority = Authority.make(tmp_path_factory.mktemp("authority"))
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
        async with two_hosts(stack, {"AGENTBEATS_GREEN_PAYLOAD_KEYS": KEYS, **nobody}, over) as running:
            yield running


async def answer(turn: int, ues: AsyncUESClient, now: datetime) -> None:
    """Reads the first mail, and writes one."""
    await ues.chat.send(role="assistant", content=SAID)


@pytest.mark.asyncio(loop_scope="module")
async def test_an_assessment_over_certificates_and_an_api_key_leaves_no_clear_text(stack: Stack, hosts: Hosts) -> None:
    async with serving(answer) as agent:
        assessed = await assess(hosts.gateway, agent, "email_triage_basic", max_turns=2)
    assert assessed.state == "completed", assessed.sentence
    assert assessed.results is not None
    assert assessed.results.turns_taken == 2
    written = await written_of(stack, "TASK_QUEUE-hosts")
    assert b"binary/encrypted" in written
    found = [text for text in [SAID, *mails()] if any(form in written for form in forms(text))]
    assert not found


@pytest.mark.asyncio(loop_scope="module")
async def test_an_assessment_whose_simulator_dies_goes_on_at_another(hosts: Hosts) -> None:
    """The participant is told the new address, plays the lost turn again, and no action is counted twice."""
    played: list[tuple[int, str]] = []

    async def script(turn: int, ues: AsyncUESClient, now: datetime) -> Any:
        played.append((turn, hosts.of(ues)))
        said = await diligent(turn, ues, now)
        if played == [(1, hosts.of(ues)), (2, hosts.of(ues))]:
            hosts.signal(hosts.of(ues), signal.SIGKILL)
        return said

    async with serving(script) as agent:
        assessed = await assess(hosts.gateway, agent, "tiny")
    assert assessed.state == "completed", assessed.sentence
    (first, lost), (_, also_lost), (last, found) = played
    assert (first, last) == (1, 2)
    assert lost == also_lost != found
    assert await hosts.standing(found) == []
    assert assessed.results is not None
    assert [entry.turn for entry in assessed.results.action_log] == [1, 2]
    assert assessed.results.turn_tries == {"2": 2}


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
        return [text for member in value.values() for text in strings_in(member)]
    return [text for element in value for text in strings_in(element)] if isinstance(value, list) else []


def forms(text: str) -> list[bytes]:
    """A text as it may stand in a payload: as it is, in JSON, in base64 at any of three places."""
    encoded = text.encode()
    shifted = [base64.b64encode(b"x" * shift + encoded)[4:-4] for shift in range(3)]
    return [encoded, json.dumps(text)[1:-1].encode(), *shifted]


@only_nightly
async def test_assessments_at_once_are_spread(stack: Stack) -> None:
    places: dict[int, str] = {}

    async with two_hosts(stack) as hosts, AsyncExitStack() as agents:

        def playing(number: int) -> Any:
            async def script(turn: int, ues: AsyncUESClient, now: datetime) -> Any:
                places[number] = hosts.of(ues)
                await eventually(lambda: len(places) == 4)
                return EarlyCompletionMessage(reason="It is enough to have been here.")

            return script

        urls = [await agents.enter_async_context(serving(playing(number))) for number in range(4)]
        ended = await asyncio.gather(*(assess(hosts.gateway, url, "tiny") for url in urls))
    assert [task.state for task in ended] == ["completed"] * 4
    assert sorted(map(list(places.values()).count, hosts.processes)) == [2, 2]


@only_nightly
@pytest.mark.timeout(600)
async def test_a_simulator_that_was_stopped_holds_nothing_any_more(stack: Stack) -> None:
    """It goes on when the assessment is at another one: what stands on it has the lower fence, and is ended."""
    played: list[tuple[int, str]] = []
    went_on = asyncio.Event()

    async with two_hosts(stack) as hosts:

        async def script(turn: int, ues: AsyncUESClient, now: datetime) -> Any:
            here = hosts.of(ues)
            played.append((turn, here))
            if len(played) == 1:
                await diligent(turn, ues, now)
                hosts.signal(here, signal.SIGSTOP)
            elif here != played[0][1] and turn == 2:
                stale = played[0][1]
                hosts.signal(stale, signal.SIGCONT)

                async def is_ended() -> bool:
                    return await hosts.standing(stale) == []

                await eventually(is_ended)
                assert len(await hosts.standing(here)) == 1
                went_on.set()
                return await diligent(turn, ues, now)
            else:
                return await diligent(turn, ues, now)
            return None

        async with serving(script) as agent:
            assessed = await assess(hosts.gateway, agent, "tiny")
    assert assessed.state == "completed", assessed.sentence
    assert went_on.is_set()
    assert assessed.results is not None
    assert [entry.turn for entry in assessed.results.action_log] == [1, 2]
