"""Server processes as the activities see them: started, restored elsewhere, ended; no evaluator around them."""

import asyncio
import json
import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import datetime
from typing import Any

import httpx
import psutil
import pytest
from temporalio.exceptions import ApplicationError

from activities.lifecycle import at_time
from activities.simulations.hosts import SimulationGoneError
from activities.simulations.own_servers import OwnServers
from activities.simulations.own_simulation import OwnSimulation
from proctor_processes.ports import free_ports
from proctor_protocol.config import GreenAgentConfig
from purple_sdk.ues import AsyncUESClient, AuthenticationError, EventRecord, PermissionDeniedError
from tests.assessments.packages import TINY
from tests.assessments.scripts import ask_ben
from tests.foreign_ues.servers import Program, running

START = datetime.fromisoformat("2026-03-02T09:00:00+00:00")
INITIAL: dict[str, Any] = json.loads((TINY / "initial_state.json").read_text())
OURS = f"{sys.executable} -m proctor ues --single --host {{host}} --port {{port}}"

MakeWorker = Callable[..., OwnServers]


@pytest.fixture
async def worker(program: Program) -> AsyncIterator[MakeWorker]:
    """Makes the servers' side of a worker: ``worker(command, **settings)``; all of one test share ports and secret.

    They have ended when ``program`` looks for what is left.
    """
    base = free_ports(1)[0]
    async with AsyncExitStack() as stack:

        def make(command: str, **settings: Any) -> OwnServers:
            chosen = {"secret": "s" * 32, "ues_base_port": base, "ues_command": command, **settings}
            config = GreenAgentConfig(**chosen)
            http = httpx.AsyncClient(timeout=120)
            stack.push_async_callback(http.aclose)
            servers = OwnServers(config, command, http)
            stack.push_async_callback(servers.aclose)
            return servers

        yield make


async def prepared(servers: OwnServers, simulation_id: str = "a") -> OwnSimulation:
    """A simulation at the beginning of the tiny scenario, whose participant has been told."""
    simulation = await servers.create(simulation_id, 7)
    await simulation.admin.scenario.import_full(at_time(INITIAL, START))
    await simulation.make_keys()
    await simulation.admin.simulation.start()
    simulation.participant_was_told()
    return simulation


def participant(simulation: OwnSimulation) -> AsyncUESClient:
    return AsyncUESClient(simulation.address, simulation.participant_secret)


async def deeds(simulation: OwnSimulation) -> list[EventRecord]:
    """What has been done; the scenario's own events are still to come."""
    return (await simulation.admin.events.list(status="executed")).events


@pytest.fixture(params=["checkpoints", "export"])
def command(request: pytest.FixtureRequest, program: Program) -> str:
    return OURS if request.param == "checkpoints" else program.command


async def test_a_checkpoint_holds_until_something_changes(worker: MakeWorker, command: str) -> None:
    simulation = await prepared(worker(command))
    assert not await simulation.stands_at(b"anything")
    checkpoint = await simulation.checkpoint()
    await simulation.mark("turn 1")
    assert await simulation.stands_at(checkpoint)
    assert (await simulation.current()).mark == "turn 1"
    async with participant(simulation) as client:
        await client.email.query()
        assert await simulation.stands_at(checkpoint)
        await ask_ben(client)
    assert not await simulation.stands_at(checkpoint)
    await simulation.restore(checkpoint)
    assert await simulation.stands_at(checkpoint)
    assert (await simulation.current()).mark is None
    assert not await deeds(simulation)
    assert simulation.is_known_to_participant


async def test_another_worker_goes_on_and_keeps_what_was_done(worker: MakeWorker, command: str) -> None:
    first, second = worker(command), worker(command)
    simulation = await prepared(first)
    async with participant(simulation) as client:
        await ask_ben(client)
    checkpoint = await simulation.checkpoint()
    with pytest.raises(SimulationGoneError):
        second.find("a")
    other = await second.restore("a", checkpoint)
    assert other.port != simulation.port
    assert await other.stands_at(checkpoint)
    [mail] = await deeds(other)
    assert mail.agent_id in other.participant_key_ids
    assert (await other.admin.time.get_state()).current_time == START
    assert (await other.admin.simulation.status()).is_running
    # Address or key are new, so the participant has to be told, and the next checkpoint says that it was.
    assert not other.is_known_to_participant
    other.participant_was_told()
    assert not await other.stands_at(checkpoint)
    told = await other.checkpoint()
    await simulation.restore(told)
    assert not simulation.is_known_to_participant
    async with participant(other) as client:
        await client.chat.send(role="assistant", content="Still here.")
    assert len(await deeds(other)) == 2
    assert {deed.agent_id for deed in await deeds(other)} <= other.participant_key_ids


async def test_a_server_that_died_is_back_at_its_port(worker: MakeWorker, command: str, program: Program) -> None:
    servers = worker(command)
    simulation = await prepared(servers)
    checkpoint, port, secret = await simulation.checkpoint(), simulation.port, simulation.participant_secret
    for process in program.servers() or running(str(port)):
        process.send_signal(signal.SIGKILL)
    while True:
        try:
            servers.find("a")
        except SimulationGoneError:
            break
        await asyncio.sleep(0.02)
    back = await servers.restore("a", checkpoint)
    assert back.port == port
    # A server that takes our keys gives the participant no reason to notice.
    assert back.is_known_to_participant == (command == OURS) == (back.participant_secret == secret)


async def test_many_that_ask_for_a_lost_one_at_once_get_the_same(
    worker: MakeWorker, command: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "activities")
    checkpoint = await (await prepared(worker(command))).checkpoint()
    other = worker(command)
    simulations = await asyncio.gather(*(other.restore("a", checkpoint) for _ in range(6)))
    assert len({id(simulation) for simulation in simulations}) == 1
    assert sum("POST /scenario/import/full" in line for line in caplog.messages) in (0, 2)


async def test_judges_look_and_change_nothing(worker: MakeWorker, command: str) -> None:
    simulation = await prepared(worker(command))
    again = await worker(command).restore("a", await simulation.checkpoint())
    for each in (simulation, again):
        await each.reader.email.get_state()
        with pytest.raises(PermissionDeniedError):
            await each.reader.chat.send(role="assistant", content="I was here.")


async def test_a_revoked_key_opens_again_only_where_the_checkpoint_is_earlier(worker: MakeWorker, command: str) -> None:
    simulation = await prepared(worker(command))
    before = await simulation.checkpoint()
    await simulation.revoke_participant_key()
    await simulation.revoke_participant_key()
    after = await simulation.checkpoint()
    for servers in (None, worker(command)):
        at_end = simulation if servers is None else await servers.restore("a", after)
        async with participant(at_end) as client:
            with pytest.raises(AuthenticationError):
                await client.time.get_state()
        await at_end.reader.time.get_state()
    await simulation.restore(before)
    async with participant(simulation) as client:
        await client.time.get_state()
    await simulation.restore(after)
    async with participant(simulation) as client:
        with pytest.raises(AuthenticationError):
            await client.time.get_state()


async def test_workers_of_one_machine_share_the_ports(worker: MakeWorker) -> None:
    workers = [worker(OURS), worker(OURS)]
    simulations = await asyncio.gather(
        *(each.create(f"{n}-{i}", 7) for n, each in enumerate(workers) for i in range(2))
    )
    assert len({simulation.port for simulation in simulations}) == 4
    for simulation in simulations:
        assert (await simulation.admin.simulation.status()).is_running is False


async def test_the_output_is_read_and_no_key_is_in_it(
    worker: MakeWorker, program: Program, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "activities")
    simulation = await prepared(worker(program.command))
    for _ in range(60):  # some 8 kB each: far more than a pipe holds
        await simulation.admin.time.get_state()
    said = "\n".join(caplog.messages)
    assert "GET /simulator/time …" in said
    assert simulation.admin._runner.exchange.headers["X-API-Key"] not in said


async def test_participants_elsewhere_get_an_address_that_they_can_reach(worker: MakeWorker) -> None:
    servers = worker(OURS, ues_public_url="http://localhost.localdomain:{port}/")
    simulation = await servers.create("a", 7)
    assert simulation.address == f"http://localhost.localdomain:{simulation.port}"
    listening = [each for each in psutil.net_connections("tcp4") if each.status == psutil.CONN_LISTEN]
    assert ("0.0.0.0", simulation.port) in [tuple(each.laddr) for each in listening]


async def test_nothing_is_left_of_one_that_was_removed_or_whose_start_was_given_up(
    worker: MakeWorker, program: Program
) -> None:
    servers = worker(program.command)
    await servers.create("a", 7)
    starting = asyncio.create_task(servers.create("b", 7))
    while len(program.servers()) < 2:
        await asyncio.sleep(0.01)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert servers.held() == ["a"]
    await servers.remove("a")
    await servers.remove("a")
    assert servers.held() == []
    assert program.are_all_gone()


def test_what_a_worker_leaves_when_it_is_killed(program: Program) -> None:
    """With a process of its own as the worker, since this one has to live on."""
    worker_itself = """
import asyncio, httpx, sys
from activities.simulations.own_servers import OwnServers
from proctor_protocol.config import GreenAgentConfig
async def main():
    config = GreenAgentConfig(secret="s" * 32, ues_base_port=int(sys.argv[2]), ues_command=sys.argv[1])
    servers = OwnServers(config, sys.argv[1], httpx.AsyncClient())
    await servers.create("a", 7)
    print("up", flush=True)
    await asyncio.sleep(3600)
asyncio.run(main())
"""
    with subprocess.Popen(
        [sys.executable, "-c", worker_itself, program.command, str(free_ports(1)[0])], stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "up\n"
        assert len(program.processes()) >= 2
        os.kill(worker.pid, signal.SIGKILL)
    assert program.are_all_gone()


BAD = {
    "no such program": (
        "/no/such/server --port {port}",
        r"The UES server of AGENTBEATS_GREEN_UES_COMMAND can't be started: /no/such/server: "
        r"No such file or directory\.",
    ),
    "ends at once": (
        "sh -c 'echo no licence; exit 3' {port}",
        r"The UES server of AGENTBEATS_GREEN_UES_COMMAND ended with exit code 3 before it was healthy\. "
        r"It said: no licence",
    ),
    "never answers": (
        "sh -c 'echo thinking; sleep 3600' {port}",
        r"The UES server of AGENTBEATS_GREEN_UES_COMMAND did not answer GET /health on its port with 200, and accept "
        r"UES_ADMIN_KEY as its admin key, within 1 s \(AGENTBEATS_GREEN_UES_START_TIMEOUT\)\. It said: thinking",
    ),
    "knows another key": (
        f"env UES_ADMIN_KEY=another-key-altogether {OURS}",
        r"The UES server .* accept UES_ADMIN_KEY as its admin key, within 10 s .*It said: ues_sim listening on .*",
    ),
}


@pytest.mark.parametrize(("command", "sentence"), BAD.values(), ids=BAD)
async def test_a_command_that_is_no_good(worker: MakeWorker, command: str, sentence: str) -> None:
    servers = worker(command, ues_start_timeout=10 if "within 10 s" in sentence else 1)
    with pytest.raises(ApplicationError) as caught:
        await servers.create("a", 7)
    assert re.fullmatch(sentence, caught.value.message), caught.value.message
    assert caught.value.non_retryable
    assert servers.held() == []


async def test_a_checkpoint_of_another_kind_of_simulator(worker: MakeWorker, program: Program) -> None:
    ours = await prepared(worker(OURS))
    with pytest.raises(ApplicationError, match="has none: set it back") as caught:
        await worker(program.command).restore("a", await ours.checkpoint())
    assert caught.value.non_retryable
    with pytest.raises(ApplicationError, match="began on the embedded simulator") as caught:
        await worker(program.command).restore("b", await ours.admin.simulation.checkpoint())
    assert caught.value.non_retryable
