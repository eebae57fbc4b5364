"""Several servers of the simulator: an assessment is on one of them, and goes on at another when that is lost."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from typing import Any

import pytest

from activities.simulations.keys import host_key
from proctor_protocol.messages import EarlyCompletionMessage
from purple_sdk.ues import AsyncUESClient, AsyncUESHost
from tests.assessments.scripts import diligent
from tests.assessments.test_any_temporal import services
from tests.processes import Process, module, read_address, running_beside
from tests.stack import Stack, assess, serving
from tests.waiting import eventually
from tests.work import only_nightly


class Hosts:
    """Two simulators, and a gateway and a worker that know of both."""

    def __init__(self, secret: str, processes: dict[str, Process]) -> None:
        self._secret = secret
        self.processes = processes
        self.gateway = ""

    def of(self, ues: AsyncUESClient) -> str:
        """The simulator that a client speaks to."""
        return next(address for address in self.processes if ues.base_url.startswith(f"{address}/"))

    def signal(self, address: str, number: signal.Signals) -> None:
        os.kill(self.processes[address].pid, number)

    async def standing(self, address: str) -> list[str]:
        """What stands on a simulator."""
        async with AsyncUESHost(address, host_key(self._secret)) as host:
            return [each["simulation_id"] for each in (await host.list())["simulations"]]


@asynccontextmanager
async def two_hosts(stack: Stack) -> AsyncIterator[Hosts]:
    secret = stack.config.secret.get_secret_value()
    command = module("proctor", "ues", "--host", "127.0.0.1", "--port", "0")
    async with AsyncExitStack() as cleanup:
        started = [
            await cleanup.enter_async_context(running_beside(command, {"AGENTBEATS_GREEN_SECRET": secret}))
            for _ in range(2)
        ]
        hosts = Hosts(secret, {await asyncio.to_thread(read_address, each): each for each in started})
        known = {"AGENTBEATS_GREEN_UES_URL": " ".join(hosts.processes)}
        hosts.gateway = await cleanup.enter_async_context(services(stack, "hosts", known, {}))
        yield hosts
        for process in started:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)


async def test_an_assessment_whose_simulator_dies_goes_on_at_another(stack: Stack) -> None:
    """The participant is told the new address, plays the lost turn again, and no deed is counted twice."""
    played: list[tuple[int, str]] = []

    async with two_hosts(stack) as hosts:

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
    assert [each.state for each in ended] == ["completed"] * 4
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
