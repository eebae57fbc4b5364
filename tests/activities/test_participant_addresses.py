"""Where the evaluator connects to when a participant's card tells it: the address counts, whatever its name is."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from proctor.activities.attempts import failures
from proctor.activities.participant import ParticipantClients
from proctor.activities.participant import addresses as looked_up
from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol.messages import AssessmentCompleteMessage
from tests.hostile import Answers, Hostile, Json, Response, card, hostile
from tests.sentences import says
from tests.work import some_of

CARD = "/.well-known/agent-card.json"
SECRET = "the database's root password"


async def told(url: str, **settings: Any) -> str:
    """How it goes to tell a participant something: the sentence of the failure, or what it said."""
    clients = ParticipantClients(GreenAgentConfig(**settings))
    try:
        async with clients.talk(url, "an assessment") as participant:
            return (await participant.send(AssessmentCompleteMessage(reason="error"), "an id")).find_text()
    except ApplicationError as problem:
        return (
            problem.message if problem.type == failures.PARTICIPANT_MISBEHAVED else f"{problem.type}: {problem.message}"
        )
    finally:
        await clients.aclose()


def said(text: str) -> Json:
    message = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": text}]}
    return {"jsonrpc": "2.0", "id": 1, "result": {"message": message}}


@contextmanager
def two_hosts() -> Iterator[tuple[Hostile, Hostile]]:
    """A participant whose card points to another host, and the service there; both of them on this machine."""
    with (
        hostile({"/rpc": lambda _: said("Hello from inside.")}, host="127.0.0.2") as inside,
        hostile({CARD: lambda _: card(inside.url)}) as participant,
    ):
        yield participant, inside


@pytest.fixture
def _every_loopback_address_is_a_host_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests have one machine only."""
    monkeypatch.setattr(looked_up, "_is_here", lambda address: False)


@pytest.mark.usefixtures("_every_loopback_address_is_a_host_of_its_own")
async def test_a_card_that_points_to_another_host_is_not_followed() -> None:
    with two_hosts() as (participant, inside):
        sentence = await told(participant.url)
    assert sentence == (
        says("AGENTBEATS_GREEN_PARTICIPANTS_ALLOWED", url=participant.url, part=inside.url.removeprefix("http://"))
    )
    assert inside.paths == []


@pytest.mark.usefixtures("_every_loopback_address_is_a_host_of_its_own")
@pytest.mark.parametrize("allowed", ["127.0.0.2", "10.0.0.0/8, 127.0.0.2/31", "agents.example 127.0.0.0/8"])
async def test_another_host_that_a_setting_allows(allowed: str) -> None:
    with two_hosts() as (participant, _):
        assert await told(participant.url, participants_allowed=allowed) == "Hello from inside."


async def test_the_names_of_one_machine_are_one_host() -> None:
    with hostile(lambda url: {CARD: lambda _: card(url.replace("127.0.0.1", "localhost")), "/rpc": hello}) as server:
        assert await told(server.url) == "Hello."


@pytest.mark.parametrize("url", ["http://169.254.169.254", "http://[::ffff:169.254.169.254]", "http://0xa9fea9fe"])
async def test_nobody_leads_to_a_forbidden_address(url: str) -> None:
    everything = "0.0.0.0/0, ::/0, 169.254.169.254"
    with hostile({CARD: lambda _: card(url)}) as server:
        assert await told(server.url, participants_allowed=everything) == says(server=server.url)
    assert await told(url, participants_allowed=everything) == says(url)


@pytest.mark.parametrize("setting", ["temporal_address", "ues_url", "ues_public_url", "temporal_ui_url", "port"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"])
async def test_nobody_leads_to_the_evaluators_own_services(setting: str, host: str) -> None:
    with hostile({CARD: lambda _: {}, "/rpc": lambda _: {}}) as own:
        address = own.url.removeprefix("http://")
        values: dict[str, Any] = {"temporal_address": address, "port": int(address.rpartition(":")[2])}
        settings: dict[str, Any] = {
            setting: values.get(setting, own.url),
            "participants_allowed": "0.0.0.0/0, localhost",
        }
        url = own.url.replace("127.0.0.1", host)
        with hostile({CARD: lambda _: card(url)}) as server:
            through_card, directly = await told(server.url, **settings), await told(url, **settings)
    assert says(url=server.url).within(through_card)
    assert says(url=url).within(directly)
    assert own.paths == []


async def test_a_name_that_leads_elsewhere_once_its_card_was_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """DNS rebinding: what was looked up for the card holds for the whole conversation."""
    asked: list[str] = []
    look_up = socket.getaddrinfo

    def rebound(host: str, *rest: Any, **more: Any) -> Any:
        if host != "agent.example":
            return look_up(host, *rest, **more)
        asked.append(host)
        return look_up("127.0.0.1" if len(asked) == 1 else "127.0.0.2", *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", rebound)
    with hostile(
        lambda url: {CARD: lambda _: card(url.replace("127.0.0.1", "agent.example")), "/rpc": hello}
    ) as server:
        assert await told(server.url.replace("127.0.0.1", "agent.example")) == "Hello."
    assert asked == ["agent.example"]


async def test_a_name_of_a_forbidden_address_is_no_way_around(monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("169.254.169.254", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: metadata)
    sentence = await told("http://harmless.example", participants_allowed="harmless.example")
    assert sentence == says("http://harmless.example", "80")


def hello(_: object) -> Json:
    return said("Hello.")


INSIDE: dict[str, Answers] = {
    "no card": {CARD: lambda _: {SECRET: SECRET}},
    "a list as card": {CARD: lambda _: Response([json.dumps([SECRET]).encode()])},
    "a card with wrong fields": {CARD: lambda _: {"name": [SECRET], SECRET: 1}},
    "a text as card": {CARD: lambda _: Response([SECRET.encode()])},
    "an error page": {CARD: lambda _: Response([SECRET.encode()], status=500)},
    "a redirect": {CARD: lambda _: Response([], status=302, headers={"location": f"http://inside/{SECRET}"})},
    "JSON that is no response": {"/rpc": lambda _: {"error": SECRET}},
    "JSON of another kind": {"/rpc": lambda _: {"result": {SECRET: {SECRET: SECRET}}}},
    "an answer of the wrong type": {"/rpc": lambda _: {"result": {"message": {"parts": SECRET}}}},
    "text": {"/rpc": lambda _: Response([SECRET.encode()])},
    "a failure": {"/rpc": lambda _: Response([SECRET.encode()], status=500)},
}


@pytest.mark.parametrize(
    ("protocol", "streams"), some_of([("1.0", False), ("1.0", True), ("0.3.0", True), ("0.3.0", False)], 2)
)
@pytest.mark.parametrize("what", INSIDE)
async def test_what_isnt_a2a_is_not_quoted(what: str, protocol: str, streams: bool) -> None:
    def answers(url: str) -> Answers:
        return {CARD: lambda _: card(url, protocol=protocol, streams=streams), **INSIDE[what]}

    with hostile(answers) as server:
        sentence = await told(server.url)
    assert "password" not in sentence
