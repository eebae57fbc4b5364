"""``proctor up``: everything until Ctrl-C, its services brought back, its assessments kept."""

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
from datetime import datetime
from urllib.parse import urlsplit

import httpx
import psutil

from proctor.activities.attempts import failures
from proctor.settings.config import GreenAgentConfig
from proctor.storage.temporal import connect
from purple_sdk.processes.ports import free_ports
from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.ues import AsyncUESClient
from tests.a2a_gateway.callers import message03
from tests.cli.commands import Running, Sandbox
from tests.cli.test_commands import scenario
from tests.cli.worker_processes import failed_attempts, process_at_work
from tests.docs.blocks import of_language
from tests.sentences import says
from tests.stack import SCENARIOS, assess, holding, serving
from tests.waiting import PATIENCE, eventually
from tests.work import NIGHTLY, only_nightly

FLAGS = ("--port", "--ues-port", "--temporal-port", "--ui-port")


def up(ports: list[int], *more: str, scenarios: str = str(SCENARIOS)) -> list[str]:
    flags = [word for flag, port in zip(FLAGS, ports, strict=True) for word in (flag, str(port))]
    agent = [] if "--agent-port" in more else ["--without-agent"]
    return ["up", *flags, "--scenarios-dir", scenarios, "--state", "state", *agent, *more]


def short_day(sandbox: Sandbox) -> str:
    """A folder with the scenario "quiet" of three turns."""
    scenario(sandbox.folder / "mine" / "quiet", end_time="2026-03-02T11:00:00+00:00")
    return "mine"


async def test_an_assessment_goes_on_after_a_process_died_and_everything_was_started_again(sandbox: Sandbox) -> None:
    """One of two worker processes is killed in the first turn, and all is ended in the second. The second time others
    may reach it, too: a participant elsewhere is told an address that it can reach.
    """
    ports, quiet = free_ports(4), short_day(sandbox)
    gateway = f"http://127.0.0.1:{ports[0]}"
    temporal = GreenAgentConfig(temporal_address=f"127.0.0.1:{ports[2]}")
    killed: list[psutil.Process] = []
    is_ended = asyncio.Event()
    play_on = holding(2, is_ended)

    async def play(turn: int, ues: AsyncUESClient, now: datetime) -> None:
        if not killed:
            worker = sandbox.process_running("worker").pid
            killed.append(await process_at_work(await connect(temporal), worker))
            killed[0].kill()
        await play_on(turn, ues, now)

    async with serving(play) as agent:
        with sandbox.started(*up(ports, scenarios=quiet), AGENTBEATS_GREEN_WORKER_PROCESSES="2") as first:
            await asyncio.to_thread(first.wait_for, "proctor is up")
            assert gateway in first.output
            asked = ("assess", "quiet", "--agent", agent, "--gateway", gateway)
            with sandbox.started(*asked, "--offline", "--json", "r.json") as caller:
                await asyncio.to_thread(caller.wait_for, "turn 1/3")
                (task_id,) = set(re.findall(r"/workflows/([\w-]+)", caller.output))
                failed = await failed_attempts(await connect(temporal), task_id)
                assert failed == {failures.WORKERS_LOST}, "given back by its parent: no one waited for a heartbeat"
                log = sandbox.folder / "state" / "logs" / "worker.log"
                await eventually(lambda: "works again" in log.read_text())
                assert says("SIGKILL", number=re.compile(r"(?<=process )[12]")).within(log.read_text())
                assert await asyncio.to_thread(first.end, signal.SIGINT) == 0
                assert "all ended" in first.output
                is_ended.set()
                with sandbox.started(*up(ports, *open_to_others(ports), scenarios=quiet)) as second:
                    await asyncio.to_thread(second.wait_for, "proctor is up")
                    code = await asyncio.to_thread(caller.process.wait, PATIENCE)
                    assert task_id[:8] in await asyncio.to_thread(shell, sandbox, "list"), "without --state"
                    await a_participant_elsewhere_is_told_an_address_that_it_can_reach(sandbox, second, ports)
                    assert await asyncio.to_thread(second.end, signal.SIGTERM) == 0
    assert code == 0, caller.output
    assert "connected again" in caller.output
    # What happened between the gateway's return and the caller's may have gone by; nothing comes twice.
    told = [int(number) for number in re.findall(r"^turn +(\d+)", caller.output, re.MULTILINE)]
    assert told[0] == 1
    assert told == sorted(set(told))
    results = AssessmentResults.model_validate_json((sandbox.folder / "r.json").read_bytes())
    assert (results.turns_taken, results.actions_taken) == (3, 3)
    assert results.turn_tries == {"2": 2}, "it was lost with the simulator; the first one was not lost with a process"
    assert not sandbox.processes()
    if NIGHTLY:
        for file in (sandbox.folder / "state").glob("temporal.db*"):
            file.unlink()
        with sandbox.started(*up(ports, scenarios=quiet)) as third:
            await asyncio.to_thread(third.wait_for, "proctor is up")
            await asyncio.to_thread(all_is_there_without_temporals_database, sandbox, gateway, results)


def open_to_others(ports: list[int]) -> tuple[str, ...]:
    return ("--open", "--host", "0.0.0.0", "--card-url", f"http://{socket.gethostname()}:{ports[0]}/")


async def a_participant_elsewhere_is_told_an_address_that_it_can_reach(
    sandbox: Sandbox, running: Running, ports: list[int]
) -> None:
    this_machine = socket.gethostname()
    told = set()

    async def look_around(turn: int, ues: AsyncUESClient, now: datetime) -> None:
        told.add(urlsplit(ues.base_url)[:2])
        await ues.chat.send(role="assistant", content="I can see it from here.")

    async with serving(look_around) as agent:
        assessed = await assess(f"http://127.0.0.1:{ports[0]}", agent, "quiet", max_turns=1)
    assert assessed.state == "completed", assessed.sentence
    assert told == {("http", f"{this_machine}:{ports[1]}")}
    listening = psutil.Process(sandbox.process_running("ues", str(ports[1])).pid).net_connections("tcp")
    assert ("0.0.0.0", ports[1]) in {tuple(at.laddr) for at in listening if at.status == psutil.CONN_LISTEN}
    assert says("warning", gateway_port=ports[0]).within(running.output)
    assert says("warning", ues_port=ports[1]).within(running.output)
    assert f"participants: http://{this_machine}:{ports[1]}" in running.output


@only_nightly
async def test_a_backup_that_was_made_in_mid_assessment_is_restored_and_goes_on(sandbox: Sandbox) -> None:
    """The commands are those of docs/operations/storage.md; what was played after the backup is played again."""
    ports = free_ports(4)
    gateway = f"http://127.0.0.1:{ports[0]}"
    state, backup = sandbox.folder / "state", sandbox.folder / "backup"
    known = {**os.environ, "STATE": str(state), "BACKUP": str(backup)}

    def run(note: str) -> None:
        (block,) = [candidate for candidate in of_language("console") if candidate.note == note]
        for line in block.text.splitlines():
            ended = subprocess.run(["bash", "-c", line.removeprefix("$ ")], env=known, check=False)
            assert ended.returncode in (0, 1), line

    is_ended = asyncio.Event()
    async with serving(holding(4, is_ended)) as agent:
        with sandbox.started(*up(ports)) as first:
            await asyncio.to_thread(first.wait_for, "proctor is up")
            assess = ("assess", "email_triage_basic", "--agent", agent, "--gateway", gateway)
            with sandbox.started(*assess, "--offline", "--max-turns", "4", "--json", "r.json") as caller:
                await asyncio.to_thread(caller.wait_for, "turn 2/4")
                await asyncio.to_thread(run, "backup")
                await asyncio.to_thread(caller.wait_for, "turn 3/4")
                assert await asyncio.to_thread(first.end, signal.SIGINT) == 0
                is_ended.set()
                shutil.rmtree(state)
                state.mkdir(mode=0o700)
                await asyncio.to_thread(run, "restore")
                with sandbox.started(*up(ports)) as second:
                    await asyncio.to_thread(second.wait_for, "proctor is up")
                    code = await asyncio.to_thread(caller.process.wait, PATIENCE)
                    assert await asyncio.to_thread(second.end, signal.SIGTERM) == 0
    assert code == 0, caller.output
    results = AssessmentResults.model_validate_json((sandbox.folder / "r.json").read_bytes())
    assert (results.turns_taken, results.actions_taken) == (4, 4)


def all_is_there_without_temporals_database(sandbox: Sandbox, gateway: str, results: AssessmentResults) -> None:
    """What was assessed is listed, shown, compared, exported, followed and served, as if nothing had been lost."""
    task_id = results.assessment_id
    state = ("--state", str(sandbox.folder / "state"))
    assert task_id[:8] in shell(sandbox, "list", *state)
    assert AssessmentResults.model_validate_json(shell(sandbox, "show", task_id, "--json", *state)) == results
    assert says().within(shell(sandbox, "compare", task_id, task_id, *state))
    shell(sandbox, "export", task_id, "--to", "page.html", *state)
    assert "This is round 3." in (sandbox.folder / "page.html").read_text()
    assert "This is round 3." in httpx.get(f"{gateway}/view/{task_id}?turn=3").text
    followed = shell(sandbox, "follow", task_id, "--gateway", gateway)
    assert re.findall(r"^turn +(\d+)", followed, re.MULTILINE) == ["1", "2", "3"]


def shell(sandbox: Sandbox, *words: str) -> str:
    done = sandbox.run(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def play_the_cards_example(gateway: str) -> None:
    """A stranger sends what the card gives as an example, by hand, and knows nothing else."""
    (example,) = httpx.get(f"{gateway}/.well-known/agent.json").json()["skills"][0]["examples"]
    params = message03({"kind": "text", "text": example})
    call = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params}
    task = httpx.post(gateway, json=call, timeout=PATIENCE).json()["result"]
    assert task["status"]["state"] == "completed", task["status"]
    assert task["artifacts"][0]["parts"][1]["data"]["scores"]["overall"]["score"] > 0


@only_nightly
def test_services_come_back_and_the_state_folder_is_taken(sandbox: Sandbox) -> None:
    ports = free_ports(4)
    agent = free_ports(1)[0]
    with sandbox.started(*up(ports, "--agent-port", str(agent))) as running:
        running.wait_for("proctor is up")
        assert f"http://127.0.0.1:{agent}" in running.output
        play_the_cards_example(f"http://127.0.0.1:{ports[0]}")
        for name, words in (("worker", ("worker",)), ("ues", ("ues", str(ports[1])))):
            os.kill(sandbox.process_running(*words).pid, signal.SIGKILL)
            running.wait_for(f"{name} was killed by SIGKILL; starting it again")
            running.wait_for(f"{name} is ready again after")
        again = sandbox.run(*up(free_ports(4)))
        assert again.returncode == 1
        assert f"another `proctor up` uses {sandbox.folder / 'state'}" in again.stderr
        assert running.end(signal.SIGTERM) == 0
    assert not sandbox.processes()
    assert oct((sandbox.folder / "state" / "secret").stat().st_mode & 0o777) == "0o600"
