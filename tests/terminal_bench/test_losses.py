"""Worker, engine and agent die in the middle of a run: it completes, nothing is done twice, nothing is left behind."""

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import httpx
import pytest
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.client import Client

from proctor.storage.temporal import connect
from proctor.workflows.names import CAMPAIGN_WORKFLOW, TRIAL_WORKFLOW
from purple_sdk.examples.terminal_agent.shell import Shell
from purple_sdk.processes.ports import free_ports
from purple_sdk.protocol.terminal import FailureMode, TerminalTaskMessage
from tests.docker_engine import DockerEngine, own_engine
from tests.stack import Stack, running_stack
from tests.terminal_bench.asking import Run, ScriptedTerminalAgent, left_on, ran, run, serving
from tests.waiting import eventually
from tests.work import only_nightly

STEPS = ["prepare_image", "start_environment", "hand_over", "run_trial_tests", "collect_logs", "take_down_trial"]
FIVE = ["hello-file", "count-errors", "sort-table", "partial-credit", "find-secret"]


async def at_work(client: Client, step: str) -> bool:
    """Whether some trial is at this step now."""
    return any(pending.activity_type.name == step for pending in await pending_steps(client))


async def pending_steps(client: Client) -> list[PendingActivityInfo]:
    """What all trials are at now."""
    query = f"WorkflowType = '{TRIAL_WORKFLOW}' AND ExecutionStatus = 'Running'"
    found: list[PendingActivityInfo] = []
    async for trial in client.list_workflows(query):
        described = (await client.get_workflow_handle(trial.id).describe()).raw_description
        found += described.pending_activities
    return found


async def times_run(client: Client, run_id: str) -> Counter[str]:
    """How many workflows there were for each trial of a run."""
    query = f"WorkflowType = '{TRIAL_WORKFLOW}'"
    return Counter([trial.id async for trial in client.list_workflows(query) if trial.id.startswith(run_id)])


async def kill_worker(stack: Stack) -> None:
    """Kill it, and wait for the next one."""
    pid = stack.supervisor.find_pid("worker")
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await eventually(lambda: stack.supervisor.find_pid("worker") not in (None, pid))


async def test_a_worker_that_dies_while_the_agent_works(terminal_stack: Stack, docker_engine: str) -> None:
    """The next one goes on with the same container and the same task of the agent's, at the same address."""
    is_at_it, go_on = asyncio.Event(), asyncio.Event()

    async def solve(task: TerminalTaskMessage, shell: Shell) -> str:
        await ran(shell, "echo 'Hello, terminal!' > /app/hello.part")
        is_at_it.set()
        await go_on.wait()
        done = await ran(shell, "mv /app/hello.part /app/hello.txt")
        return f"exit code {done.exit_code}"

    agent = ScriptedTerminalAgent(solve)
    async with serving(agent) as url:
        running = asyncio.create_task(run(terminal_stack.gateway_url, "hello-file", url=url, access="endpoint"))
        await is_at_it.wait()
        await kill_worker(terminal_stack)
        client = await connect(terminal_stack.config)

        async def is_taken_up() -> bool:
            return any(pending.attempt > 1 for pending in await pending_steps(client))

        await eventually(is_taken_up)
        go_on.set()
        ended = await running
    assert ended.state == "completed"
    assert ended.verdicts() == {"hello-file": [True]}
    assert ended.results.results[0].agent_message == "exit code 0"
    assert ended.results.results[0].tries == 1
    assert len(agent.told) == 1
    assert left_on(docker_engine, ended.results.run_id) == []


async def test_an_agent_that_dies_at_work(terminal_stack: Stack) -> None:
    """Its trial fails by its own fault, and is not played again; the others go on."""
    is_at_it = asyncio.Event()

    async def solve(task: TerminalTaskMessage, shell: Shell) -> str:
        is_at_it.set()
        await asyncio.sleep(600)
        return "never"

    agent = ScriptedTerminalAgent(solve)
    async with serving(agent) as url:
        running = asyncio.create_task(run(terminal_stack.gateway_url, "hello-file", url=url))
        await is_at_it.wait()
    ended = await running
    (trial,) = ended.results.results
    assert (trial.failure_mode, trial.blame, trial.tries) == (FailureMode.UNKNOWN_AGENT_ERROR, "participant", 1)
    assert trial.is_resolved is False


@only_nightly
@pytest.mark.parametrize("step", STEPS)
async def test_a_worker_that_dies_in_any_step(terminal_stack: Stack, docker_engine: str, step: str) -> None:
    """Five tasks, two attempts each."""
    client = await connect(terminal_stack.config)
    running = asyncio.create_task(run(terminal_stack.gateway_url, *FIVE, agent="oracle", n_attempts=2))
    await eventually(lambda: at_work(client, step))
    await kill_worker(terminal_stack)
    ended = await running
    await is_whole(client, ended, docker_engine)


PHASES = ["the agent's changes are read", "the fresh container is prepared", "the tests run"]


@only_nightly
@pytest.mark.parametrize("phase", PHASES)
async def test_a_worker_that_dies_in_the_middle_of_the_tests(
    terminal_stack: Stack, docker_engine: str, phase: str
) -> None:
    """The verifier is ``separate``: the next worker goes on with the files of the agent's container."""
    client = await connect(terminal_stack.config)
    running = asyncio.create_task(run(terminal_stack.gateway_url, *FIVE, agent="oracle", n_attempts=2))
    await eventually(lambda: asyncio.to_thread(is_in_phase, docker_engine, phase))
    await kill_worker(terminal_stack)
    ended = await running
    assert {trial.verifier for trial in ended.results.results} == {"separate"}
    await is_whole(client, ended, docker_engine)


def is_in_phase(engine: str, phase: str) -> bool:
    """Whether the tests of some trial on the engine are in this phase."""

    def docker(*words: str) -> str:
        asked = subprocess.run(["docker", "--host", engine, *words], capture_output=True, text=True, check=False)
        return asked.stdout

    listed = docker("ps", "--all", "--filter", "label=proctor.run", "--format", "{{.Names}} {{.State}}").splitlines()
    states = dict(line.split() for line in listed)
    fresh = [name for name in states if name.endswith("-verifier")]
    if phase == "the agent's changes are read":
        agents = [name for name, state in states.items() if name.endswith("-tests") and state == "exited"]
        return any(f"{name.removesuffix('-tests')}-verifier" not in fresh for name in agents)
    tested = [name for name in fresh if "/tests/" in docker("top", name, "-eo", "pid,args")]
    return bool(tested) if phase == "the tests run" else len(fresh) > len(tested)


@only_nightly
@pytest.mark.parametrize("step", STEPS)
async def test_an_engine_that_dies_in_any_step(mortal: tuple[DockerEngine, Stack], step: str) -> None:
    """With all its containers; it comes back after a while."""
    engine, stack = mortal
    client = await connect(stack.config)
    running = asyncio.create_task(run(stack.gateway_url, *FIVE, agent="oracle", n_attempts=2))
    await eventually(lambda: at_work(client, step))
    await asyncio.to_thread(engine.kill)
    await asyncio.sleep(1)
    await asyncio.to_thread(engine.start)
    ended = await running
    await is_whole(client, ended, engine.url)


@pytest.fixture(scope="module")
def mortal() -> Iterator[tuple[DockerEngine, Stack]]:
    """An engine that may be killed, and an evaluator beside it."""
    with own_engine() as engine, running_stack(environment={"DOCKER_HOST": engine.url}) as stack:
        yield engine, stack


@only_nightly
@pytest.mark.parametrize("step", STEPS)
async def test_an_agent_that_dies_in_any_step(terminal_stack: Stack, docker_engine: str, step: str) -> None:
    """And comes back at once, knowing nothing: what it was at is lost by its own fault, and nothing else is."""
    client = await connect(terminal_stack.config)
    (port,) = free_ports(1)
    agent = AgentProcess(port)
    await agent.start()
    try:
        running = asyncio.create_task(
            run(terminal_stack.gateway_url, *FIVE, url=f"http://127.0.0.1:{port}", n_attempts=2)
        )
        await eventually(lambda: at_work(client, step))
        agent.kill()
        await agent.start()
        ended = await running
    finally:
        agent.kill()
    assert ended.state == "completed"
    trials = ended.results.results
    assert set((await times_run(client, ended.results.run_id)).values()) == {1}
    assert [trial.tries for trial in trials] == [1] * 10
    lost = [trial for trial in trials if trial.failure is not None]
    assert {(trial.failure_mode, trial.blame) for trial in lost} <= {(FailureMode.UNKNOWN_AGENT_ERROR, "participant")}
    assert len(lost) <= 4, "no more than were at work"
    assert all(trial.is_resolved for trial in trials if trial not in lost)
    assert all(trial.is_resolved is not None for trial in lost), "what it left is tested all the same"
    await eventually(lambda: left_on(docker_engine, ended.results.run_id) == [])


class AgentProcess:
    """An agent that solves everything, in a process of its own."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        command = [sys.executable, "-m", "tests.terminal_bench.agents", str(self._port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        await eventually(self._answers)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    async def _answers(self) -> bool:
        async with httpx.AsyncClient(trust_env=False) as http:
            try:
                answer = await http.get(f"http://127.0.0.1:{self._port}/.well-known/agent-card.json")
            except httpx.TransportError:
                return False
        return answer.status_code == 200


async def is_whole(client: Client, ended: Run, engine: str) -> None:
    """All ten are resolved, none was played twice, nothing is left."""
    assert ended.state == "completed"
    assert ended.verdicts() == {task_id: [True, True] for task_id in FIVE}
    assert set((await times_run(client, ended.results.run_id)).values()) == {1}
    assert [trial.tries for trial in ended.results.results] == [1] * 10
    await eventually(lambda: left_on(engine, ended.results.run_id) == [])
    query = f"WorkflowType = '{CAMPAIGN_WORKFLOW}' AND ExecutionStatus = 'Running'"
    assert [workflow.id async for workflow in client.list_workflows(query)] == []
