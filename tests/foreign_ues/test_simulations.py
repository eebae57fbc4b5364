"""Server processes as the activities see them: started, restored elsewhere, ended; no evaluator around them."""

import asyncio
import itertools
import json
import logging
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import datetime
from typing import Any

import httpx
import psutil
import pytest
from temporalio.exceptions import ApplicationError

from proctor.activities.scenario_code.initial_states import at_time
from proctor.activities.simulation.hosts import Claim, SimulationGoneError
from proctor.activities.simulation.own_servers import OwnServers
from proctor.activities.simulation.own_simulation import OwnSimulation
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import blob_ref
from purple_sdk.processes.ports import free_ports
from purple_sdk.ues import (
    AsyncUESClient,
    AuthenticationError,
    EventRecord,
    OvertakenError,
    PermissionDeniedError,
    UESError,
)
from tests import programs as processes
from tests.assessments.packages import TINY
from tests.assessments.scripts import ask_ben
from tests.foreign_ues.servers import KEYLESS, LIMITED, Program, running
from tests.sentences import says
from tests.work import only_nightly, some_of

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


FENCES = itertools.count(1)

ISSUE = 1
"""The participant's first key."""


async def prepared(servers: OwnServers, simulation_id: str = "a") -> OwnSimulation:
    """A simulation at the beginning of the tiny scenario, whose participant has been told."""
    simulation = await servers.create(simulation_id, 7, next(FENCES))
    await simulation.admin.scenario.import_full(at_time(INITIAL, START))
    await simulation.make_reader_key()
    await simulation.own.issue_participant_key(ISSUE)
    await simulation.admin.simulation.start()
    simulation.note_access_sent()
    return simulation.own


async def claimed(servers: OwnServers, checkpoint: bytes, simulation_id: str = "a", **more: Any) -> OwnSimulation:
    """What an attempt finds that claims a simulation at a checkpoint."""

    async def content() -> bytes:
        return checkpoint

    claim = Claim(simulation_id, next(FENCES), blob_ref(checkpoint), **more)
    return (await servers.claim(claim, content)).own


def participant(simulation: OwnSimulation) -> AsyncUESClient:
    return AsyncUESClient(simulation.address, simulation.participant_secret)


async def actions(simulation: OwnSimulation) -> list[EventRecord]:
    """What has been done; the scenario's own events are still to come."""
    return (await simulation.admin.events.list(status="executed")).events


@pytest.fixture(params=["checkpoints", "export"])
def command(request: pytest.FixtureRequest, program: Program) -> str:
    return OURS if request.param == "checkpoints" else program.command


one_kind = pytest.mark.parametrize("command", some_of(["checkpoints", "export"], 1), indirect=True)
"""For what does not depend on how the simulator's state is kept."""

by_export = pytest.mark.parametrize("command", some_of(["export", "checkpoints"], 1), indirect=True)
"""For what is harder where it is kept by the worker."""


@by_export
async def test_a_checkpoint_holds_until_something_changes(worker: MakeWorker, command: str) -> None:
    servers = worker(command)
    simulation = await prepared(servers)
    assert (await simulation.look()).checkpoint is None
    checkpoint = await simulation.checkpoint()
    at_start = blob_ref(checkpoint).sha256
    await claimed(servers, checkpoint, mark="turn 1", issue=ISSUE)
    assert await simulation.is_at_checkpoint(at_start)
    assert (await simulation.look()).mark == "turn 1"
    async with participant(simulation) as client:
        await client.email.query()
        assert (await simulation.look()).is_untouched
        await ask_ben(client)
    assert not (await simulation.look()).is_untouched
    assert not await simulation.is_at_checkpoint(at_start)
    life = (await simulation.look()).life
    assert await claimed(servers, checkpoint) is simulation
    stands = await simulation.look()
    assert (stands.checkpoint, stands.mark, stands.is_untouched) == (at_start, None, True)
    assert stands.life != life
    assert not await actions(simulation)
    assert simulation.is_known_to_participant


@by_export
async def test_work_in_hand_is_kept(worker: MakeWorker, command: str) -> None:
    servers = worker(command)
    simulation = await prepared(servers)
    checkpoint = await simulation.checkpoint()
    await claimed(servers, checkpoint, mark="turn 1 since 7", issue=ISSUE)
    async with participant(simulation) as client:
        await ask_ben(client)
    await claimed(servers, checkpoint, keep="turn 1 since 7", mark="turn 1 since 8", issue=9)
    assert len(await actions(simulation)) == 1
    assert simulation.mark == "turn 1 since 7"
    async with participant(simulation) as client:
        await client.time.get_state()


@one_kind
async def test_who_was_overtaken_can_do_nothing(worker: MakeWorker, command: str) -> None:
    servers = worker(command)
    before = await servers.create("a", 7, next(FENCES))
    await before.admin.scenario.import_full(at_time(INITIAL, START))
    checkpoint = await before.checkpoint()
    after = await claimed(servers, checkpoint)
    for overtaken in (
        before.admin.time.advance(60),
        before.look(),
        before.checkpoint(),
        before.make_reader_key(),
        servers.create("a", 7, 1),
        servers.claim(Claim("a", 1, blob_ref(checkpoint)), before.checkpoint),
        servers.end("a", 1),
    ):
        with pytest.raises(OvertakenError):
            await overtaken
    assert await after.is_at_checkpoint(blob_ref(checkpoint).sha256)
    await servers.end("a", next(FENCES))
    with pytest.raises(OvertakenError):  # nor bring back what has ended
        await servers.claim(Claim("a", 1, blob_ref(checkpoint)), before.checkpoint)
    assert servers.held() == []


@by_export
async def test_another_worker_goes_on_and_keeps_what_was_done(worker: MakeWorker, command: str) -> None:
    first, second = worker(command), worker(command)
    simulation = await prepared(first)
    async with participant(simulation) as client:
        await ask_ben(client)
    checkpoint = await simulation.checkpoint()
    with pytest.raises(SimulationGoneError):
        await second.claim(Claim("a", next(FENCES), keep="turn 1"), simulation.checkpoint)
    other = await claimed(second, checkpoint, issue=ISSUE)
    assert other.port != simulation.port
    [mail] = await actions(other)
    assert mail.agent_id in other.participant_key_ids
    assert (await other.admin.time.get_state()).current_time == START
    assert (await other.admin.simulation.status()).is_running
    # Address or key are new, so the participant has to be told, and the next checkpoint says that it was.
    assert not other.is_known_to_participant
    other.note_access_sent()
    assert not (await other.look()).is_untouched
    told = await other.checkpoint()
    assert not (await claimed(first, told, issue=ISSUE)).is_known_to_participant
    async with participant(other) as client:
        await client.chat.send(role="assistant", content="Still here.")
    assert len(await actions(other)) == 2
    assert {action.agent_id for action in await actions(other)} <= other.participant_key_ids


@by_export
async def test_a_server_that_died_is_back_at_its_port(worker: MakeWorker, command: str, program: Program) -> None:
    servers = worker(command)
    simulation = await prepared(servers)
    checkpoint, port, secret = await simulation.checkpoint(), simulation.port, simulation.participant_secret
    for process in program.servers() or running(str(port)):
        process.send_signal(signal.SIGKILL)
    while True:
        try:
            await simulation.look()
        except SimulationGoneError:
            break
        except UESError:
            await asyncio.sleep(0.02)
    back = await claimed(servers, checkpoint, issue=ISSUE)
    assert back.port == port
    with pytest.raises(SimulationGoneError):  # who judged what is lost isn't answered by what stands in its place
        await simulation.look()
    # A server that takes our keys gives the participant no reason to notice.
    assert back.is_known_to_participant == (command == OURS) == (back.participant_secret == secret)


@only_nightly
@one_kind
async def test_many_that_look_at_a_lost_one_at_once_get_the_same(
    worker: MakeWorker, command: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "proctor.activities")
    checkpoint = await (await prepared(worker(command))).checkpoint()
    other = worker(command)
    simulations = await asyncio.gather(*(claimed(other, checkpoint, looks=True) for _ in range(6)))
    assert len({id(simulation) for simulation in simulations}) == 1
    assert sum("POST /scenario/import/full" in line for line in caplog.messages) in (0, 2)


@only_nightly
@one_kind
async def test_judges_look_and_change_nothing(worker: MakeWorker, command: str) -> None:
    simulation = await prepared(worker(command))
    again = await claimed(worker(command), await simulation.checkpoint(), looks=True)
    for sim in (simulation, again):
        await sim.reader.email.get_state()
        with pytest.raises(PermissionDeniedError):
            await sim.reader.chat.send(role="assistant", content="I was here.")


@one_kind
async def test_a_new_key_ends_the_old_one(worker: MakeWorker, command: str) -> None:
    servers = worker(command)
    simulation = await prepared(servers)
    checkpoint = await simulation.checkpoint()
    async with participant(simulation) as old:
        await claimed(servers, checkpoint, issue=2)
        with pytest.raises(AuthenticationError):
            await old.time.get_state()
        async with participant(simulation) as client:
            await client.time.get_state()
            await claimed(servers, checkpoint, issue=3)  # back to where the first key was the one
            for revoked in (old, client):
                with pytest.raises(AuthenticationError):
                    await revoked.time.get_state()


@by_export
async def test_the_key_of_what_is_given_up_dies_before_the_simulation_is_put_back(
    worker: MakeWorker, command: str
) -> None:
    servers = worker(command)
    simulation = await prepared(servers)
    checkpoint = await simulation.checkpoint()
    asked: list[int | None] = []

    async def content() -> bytes:
        with pytest.raises(AuthenticationError):
            await late.time.get_state()
        asked.append(issue)
        return checkpoint

    for issue in (2, None):
        async with participant(simulation) as late:
            await late.chat.send(role="assistant", content="Of a turn that is given up.")
            await servers.claim(Claim("a", next(FENCES), blob_ref(checkpoint), issue=issue), content)
            with pytest.raises(AuthenticationError):
                await late.time.get_state()
    assert asked == [2, None]


@only_nightly
@one_kind
async def test_a_revoked_key_opens_again_only_where_somebody_says_so(worker: MakeWorker, command: str) -> None:
    servers = worker(command)
    simulation = await prepared(servers)
    before = await simulation.checkpoint()
    await simulation.revoke_participant_key()
    await simulation.revoke_participant_key()
    after = await simulation.checkpoint()
    for at_end in (simulation, await claimed(worker(command), after), await claimed(servers, after)):
        async with participant(at_end) as client:
            with pytest.raises(AuthenticationError):
                await client.time.get_state()
        await at_end.reader.time.get_state()
    back = await claimed(servers, before, issue=ISSUE)
    async with participant(back) as client:
        await client.time.get_state()


@only_nightly
async def test_workers_of_one_machine_share_the_ports(worker: MakeWorker) -> None:
    workers = [worker(OURS), worker(OURS)]
    simulations = await asyncio.gather(
        *(each.create(f"{n}-{i}", 7, 1) for n, each in enumerate(workers) for i in range(2))
    )
    assert len({simulation.own.port for simulation in simulations}) == 4
    for simulation in simulations:
        assert (await simulation.admin.simulation.status()).is_running is False


async def test_the_output_is_read_and_no_key_is_in_it(
    worker: MakeWorker, program: Program, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "proctor.activities")
    simulation = await prepared(worker(program.command))
    for _ in range(60):  # some 8 kB each: far more than a pipe holds
        await simulation.admin.time.get_state()
    said = "\n".join(caplog.messages)
    assert "GET /simulator/time …" in said
    assert simulation.admin._runner.exchange.headers["X-API-Key"] not in said


@only_nightly
async def test_participants_elsewhere_get_an_address_that_they_can_reach(worker: MakeWorker) -> None:
    servers = worker(OURS, ues_public_url="http://localhost.localdomain:{port}/")
    simulation = await servers.create("a", 7, 1)
    assert simulation.own.address == f"http://localhost.localdomain:{simulation.own.port}"
    listening = [connection for connection in psutil.net_connections("tcp4") if connection.status == psutil.CONN_LISTEN]
    assert ("0.0.0.0", simulation.own.port) in [tuple(connection.laddr) for connection in listening]


async def test_nothing_is_left_of_one_that_was_removed_or_whose_start_was_given_up(
    worker: MakeWorker, program: Program
) -> None:
    servers = worker(program.command)
    await servers.create("a", 7, 1)
    starting = asyncio.create_task(servers.create("b", 7, 1))
    while len(program.servers()) < 2:
        await asyncio.sleep(0.01)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert servers.held() == ["a"]
    await servers.end("a", 1)
    await servers.end("a", 1)
    assert servers.held() == []
    assert await asyncio.to_thread(program.are_all_gone)


def test_what_a_worker_leaves_when_it_is_killed(program: Program) -> None:
    """With a process of its own as the worker, since this one has to live on."""
    worker_itself = """
import asyncio, httpx, sys
from proctor.activities.simulation.own_servers import OwnServers
from proctor.settings.config import GreenAgentConfig
async def main():
    config = GreenAgentConfig(secret="s" * 32, ues_base_port=int(sys.argv[2]), ues_command=sys.argv[1])
    servers = OwnServers(config, sys.argv[1], httpx.AsyncClient())
    await servers.create("a", 7, 1)
    print("up", flush=True)
    await asyncio.sleep(3600)
asyncio.run(main())
"""
    command = processes.program(worker_itself, program.command, str(free_ports(1)[0]))
    with processes.running(command, by=signal.SIGKILL) as worker:
        assert processes.read_line(worker) == "up"
        assert len(program.processes()) >= 2
    assert program.are_all_gone()


BAD = {
    "no such program": ("/no/such/server --port {port}", 10),
    "ends at once": ("sh -c 'echo no licence; exit 3' {port}", 10),
    "never answers": ("sh -c 'echo thinking; sleep 3600' {port}", 1),
    "is of UES 0.1": (
        f"{sys.executable} {LIMITED} --host {{host}} --port {{port}} --trap /no/trap --without /scenario/ /keys",
        10,
    ),
    "knows another key": (f"{sys.executable} -S {KEYLESS} {{port}}", 3),
}


@pytest.mark.parametrize(("command", "timeout"), BAD.values(), ids=BAD)
async def test_a_command_that_is_no_good(worker: MakeWorker, command: str, timeout: int) -> None:
    servers = worker(command, ues_start_timeout=timeout)
    with pytest.raises(ApplicationError, check=says("AGENTBEATS_GREEN_UES_COMMAND")) as caught:
        await servers.create("a", 7, 1)
    assert caught.value.non_retryable
    assert servers.held() == []


async def test_a_checkpoint_of_another_kind_of_simulator(worker: MakeWorker, program: Program) -> None:
    ours = await prepared(worker(OURS))
    with pytest.raises(ApplicationError, check=says()) as caught:
        await claimed(worker(program.command), await ours.checkpoint())
    assert caught.value.non_retryable
    with pytest.raises(ApplicationError, check=says()) as caught:
        await claimed(worker(program.command), await ours.admin.simulation.checkpoint(), "b")
    assert caught.value.non_retryable
