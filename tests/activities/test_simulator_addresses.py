"""Where the simulator's servers are, as the settings name them, and which one is chosen."""

import asyncio
from collections import Counter
from contextlib import nullcontext
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from proctor.activities.participant.addresses import own_services
from proctor.activities.simulation.addresses import are_several, known_addresses, public_address
from proctor.activities.simulation.shared_hosts import SharedHosts
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobStore
from purple_sdk.ues import AuthenticationError, OvertakenError, UESConnectionError
from tests.sentences import says

TWO = "http://ues-1:8100, http://ues-2:8100/"


def known(ues_url: str, **settings: Any) -> list[str]:
    return asyncio.run(known_addresses(GreenAgentConfig(ues_url=ues_url, **settings)))


def test_one_address_is_as_it_always_was() -> None:
    config = GreenAgentConfig(ues_url="http://ues:8100/")
    assert not are_several(config)
    assert asyncio.run(known_addresses(config)) == ["http://ues:8100"]
    assert public_address(config, "http://ues:8100") == "http://ues:8100"
    outside = GreenAgentConfig(ues_url="http://ues:8100/", ues_public_url="https://sim.example/")
    assert public_address(outside, "http://ues:8100") == "https://sim.example"


def test_several_addresses() -> None:
    config = GreenAgentConfig(ues_url=TWO, ues_public_url="https://one.example https://two.example")
    assert are_several(config)
    assert known(TWO) == ["http://ues-1:8100", "http://ues-2:8100"]
    assert public_address(config, "http://ues-2:8100") == "https://two.example"
    by_host = GreenAgentConfig(ues_url=TWO, ues_public_url="https://{host}.example/sim")
    assert public_address(by_host, "http://ues-2:8100") == "https://ues-2.example/sim"


def test_a_name_that_stands_for_several(monkeypatch: pytest.MonkeyPatch) -> None:
    def known_hosts(host: str, port: int, *_: Any, **__: Any) -> Any:
        assert host == "ues"
        return [(2, 1, 6, "", (address, port)) for address in ("10.0.0.2", "10.0.0.1", "10.0.0.2")]

    monkeypatch.setattr("socket.getaddrinfo", known_hosts)
    assert known("dns+http://ues:8100") == ["http://10.0.0.1:8100", "http://10.0.0.2:8100"]


def test_a_name_that_nobody_knows_stands_for_none() -> None:
    assert known("dns+http://nobody.invalid:8100 http://ues:8100") == ["http://ues:8100"]


@pytest.mark.parametrize("wrong", ["", "ues:8100", "http://ues-1:8100 ues-2:8100", "dns+https://ues"])
def test_what_is_no_address_is_told(wrong: str) -> None:
    with pytest.raises(ValidationError, check=says("http://HOST:PORT")):
        GreenAgentConfig(ues_url=wrong)


def test_participants_may_point_at_none_of_them() -> None:
    services = own_services(GreenAgentConfig(ues_url=TWO))
    assert {("ues-1", 8100), ("ues-2", 8100)} <= set(services)


class Standing:
    """A server: what it does when it is asked to end a simulation."""

    def __init__(self, problem: Exception | None = None) -> None:
        self._problem = problem
        self.ended: list[str] = []

    async def end(self, simulation_id: str, fence: int) -> None:
        if self._problem is not None:
            raise self._problem
        self.ended.append(simulation_id)


async def test_an_end_is_an_end_wherever_it_can_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """A server that is away, or has another secret, is no obstacle; a newer attempt that holds it is."""
    overtaken = OvertakenError("another attempt has taken over", 412, {"fence": 9})
    for problem, is_raised in (
        (UESConnectionError("away"), False),
        (AuthenticationError("who are you?", 401, None), False),
        (overtaken, True),
    ):
        well, ill = Standing(), Standing(problem)
        async with httpx.AsyncClient() as http:
            hosts = SharedHosts(GreenAgentConfig(ues_url=TWO), http, BlobStore(str(tmp_path)))
            monkeypatch.setattr(hosts, "at", {"http://ues-1:8100": ill, "http://ues-2:8100": well}.__getitem__)
            with pytest.raises(OvertakenError) if is_raised else nullcontext():
                await hosts.end("one", 5)
            assert well.ended == ["one"]
            monkeypatch.setattr(hosts, "at", {"http://ues-1:8100": ill, "http://ues-2:8100": ill}.__getitem__)
            with pytest.raises(type(problem)):
                await hosts.end("one", 5)


async def test_the_one_with_the_fewest_is_chosen_and_those_about_to_come_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    standing = {"http://ues-1:8100": 3, "http://ues-2:8100": 1}

    class Listing:
        def __init__(self, address: str) -> None:
            self._address = address

        async def list_standing(self) -> dict[str, int]:
            return dict.fromkeys(map(str, range(standing[self._address])), 1)

    async with httpx.AsyncClient() as http:
        hosts = SharedHosts(GreenAgentConfig(ues_url=TWO), http, BlobStore(str(tmp_path)))
        monkeypatch.setattr(hosts, "at", Listing)
        chosen = Counter([await hosts.choose() for _ in range(6)])
        assert chosen == {"http://ues-2:8100": 4, "http://ues-1:8100": 2}
        assert await hosts.choose(but="http://ues-2:8100") == "http://ues-1:8100"
