"""The evaluator on which everything is killed: two workers, a simulator, a gateway, a dev server with a database file,
and a participant, each a process that a supervisor brings back.
"""

import asyncio
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
from temporalio.client import Client

from proctor.local.stack import LocalStack, Ports, answers
from proctor.service.supervisor import Service, Supervisor
from proctor.settings.config import GreenAgentConfig
from proctor.storage.temporal import connect
from purple_sdk.processes.ports import free_ports
from tests.assessments.packages import TINY, edited, write_package, write_pair
from tests.chaos.moments import Matches, Moments, Seen, listening_post, proxy
from tests.openai_endpoint import OpenAIEndpoint, quoting
from tests.stack import Stack

SCENARIO = "three_turns"
PAIR = "two_at_work"
"""The scenario of two participants: Ana's, who asks Ben each turn, and Ben's."""

NIGHT = "a_night"
"""The scenario whose first turn ends on the next morning."""

PROCESSES = ("worker", "simulator", "gateway", "participant", "temporal")
COLLEAGUE = "colleague"
"""The process of the second participant, where there are two."""

CUTS = ("worker to simulator", "worker to Temporal")
"""Networks that can be cut: by way of a relay each."""

WORKERS = ("worker", "worker-2")
_SERVICE = {"simulator": "ues", "participant": "agent"}
_TO_SIMULATOR = "relay-simulator"
_TO_TEMPORAL = {worker: f"relay-temporal-of-{worker}" for worker in WORKERS}
_RUBRIC = {
    "items": [{"id": "thanks", "reason": "It does.", "points": 2}, {"id": "warm", "reason": "A bit.", "points": 1}],
    "explanation": "Polite, a little cool.",
}
_EVALUATORS = (
    (TINY / "evaluators.py").read_text()
    + """

_told_once = told


async def told(ctx: AgentBeatsEvalContext, params: dict[str, Any]) -> EvalResult:
    await ctx.client.sms.query()
    return await _told_once(ctx, params)
"""
)
"""Those of the tiny scenario, but one of them looks at the simulation twice."""


@dataclass(frozen=True, eq=False)
class Case:
    """What is played while something is done to it.

    Attributes:
        name: what people call it.
        phases: its moments, with the turn that each is in; the usual ones without any.
        scenario: its id.
        turns: how many are played.
        roles: of its participants, where there are two.
        conditions: clock, noise and seed, where they aren't the usual ones.
    """

    name: str = "usual"
    phases: Mapping[str, tuple[int, Matches]] = field(default_factory=dict)
    scenario: str = SCENARIO
    turns: int = 3
    roles: tuple[str, ...] = ()
    conditions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def processes(self) -> tuple[str, ...]:
        """What can be killed."""
        return (*PROCESSES, COLLEAGUE) if self.roles else PROCESSES


USUAL = Case()


class Services(Stack):
    """A running evaluator, its moments, and the means to kill its processes. ``case`` is what is played on it."""

    moments: Moments
    case: Case = USUAL
    colleague_url = ""

    @property
    def agent_url(self) -> str:
        return str(self.local.agent_url)

    @property
    def participants(self) -> dict[str, str]:
        """Each role of the case, and the address of its agent."""
        roles = self.case.roles or ("personal_assistant",)
        return dict(zip(roles, (self.agent_url, self.colleague_url), strict=False))

    def pid(self, name: str) -> int | None:
        """The process id of a service; None while it is dead."""
        return self.supervisor.find_pid(name)

    def kill(self, name: str) -> None:
        """SIGKILL a service, as the kernel would when memory runs out."""
        if pid := self.pid(name):
            with suppress(ProcessLookupError):  # it has died just now
                os.kill(pid, signal.SIGKILL)

    def halt(self, process: str, number: signal.Signals = signal.SIGSTOP) -> None:
        """Have one of ``PROCESSES`` stand still, or (SIGCONT) go on."""
        if pid := self.pid(_SERVICE.get(process, process)):
            with suppress(ProcessLookupError):  # it has died just now
                os.kill(pid, number)

    async def kill_process(self, process: str, task_id: str, seen: Seen) -> None:
        """Kill one of ``PROCESSES``; of the workers, the one that is at it."""
        if process == "worker":
            self.kill(await self.worker_at(task_id, seen))
        else:
            self.kill(_SERVICE.get(process, process))

    def kill_any(self, process: str, number: int) -> None:
        """Kill one of ``PROCESSES``; of the workers, the ``number``-th, counted round."""
        self.kill(self.service_of(process, number))

    def service_of(self, name: str, number: int = 0) -> str:
        """The service that is one of ``PROCESSES``, or relays one of ``CUTS``; of the workers, the ``number``-th."""
        worker = WORKERS[number % len(WORKERS)]
        by_worker = {"worker": worker, CUTS[0]: _TO_SIMULATOR, CUTS[1]: _TO_TEMPORAL[worker]}
        return by_worker.get(name) or _SERVICE.get(name, name)

    async def all_up(self) -> None:
        """Wait until every service answers again."""
        for service in self.each_service:
            while (pid := self.pid(service.name)) is None or not await service.is_ready(pid):
                await asyncio.sleep(0.05)

    async def client(self) -> Client:
        """A Temporal client."""
        return await connect(self.config)

    each_service: list[Service]

    async def worker_at(self, task_id: str, seen: Seen) -> str:
        """The worker whose activity it is: it made the request, or it is said to run the pending activity."""
        pids = {pid: name for name in WORKERS if (pid := self.pid(name))}
        if seen.who != "participant":
            for pid, name in pids.items():
                ports = {link.laddr.port for link in psutil.Process(pid).net_connections("tcp") if link.laddr}
                if seen.peer in ports:
                    return name
        described = await (await self.client()).get_workflow_handle(task_id).describe()
        for activity in described.raw_description.pending_activities:
            number, _, _ = activity.last_worker_identity.partition("@")
            if number.isdigit() and int(number) in pids:
                return pids[int(number)]
        raise AssertionError(f"no worker is at {seen.what}")


def write_scenario(folder: Path) -> None:
    """The scenarios that are played, below a folder: their users talk in the chat."""

    def talks(scenario: dict[str, Any]) -> None:
        scenario["user_talks"] = ["chat"]

    def sleeps(scenario: dict[str, Any]) -> None:
        talks(scenario)
        scenario["nights"] = [{"start": "2026-03-02T10:00:00+00:00", "end": "2026-03-03T08:00:00+00:00"}]
        scenario["end_time"] = "2026-03-03T20:00:00+00:00"
        scenario["characters"]["ben"]["response_timing"] = {"base_delay": "PT8H", "variance": "PT20M"}

    scenarios = folder / "scenarios"
    for name, change, news_at in ((SCENARIO, talks, "2026-03-02T11:30"), (NIGHT, sleeps, "2026-03-03T03:00")):
        state = edited("initial_state.json", lambda state, at=news_at: _add_news(state, f"{at}:00+00:00"))  # type: ignore[misc]
        write_package(scenarios, name, change=change, files={"evaluators.py": _EVALUATORS, "initial_state.json": state})
    write_pair(scenarios, PAIR, change=talks)


def _add_news(state: dict[str, Any], at: str) -> None:
    """Something happens in the quiet turn or the night, while time moves on: it is counted, however often that is
    begun.
    """
    [newsletter] = state["events"]["events"]
    data = {**newsletter["data"], "message_id": "more-news", "thread_id": "more-news", "timestamp": at}
    state["events"]["events"].append({**newsletter, "event_id": "more-news", "scheduled_time": at, "data": data})


@contextmanager
def serving_models(moments: Moments, port: int) -> Iterator[dict[str, str]]:
    """The models of characters and judges, with moments; gives a worker's environment."""
    with OpenAIEndpoint() as model:
        model.answer("Would you answer this", {"should_respond": True, "reason": "He is asked."})
        model.answer("You decided to answer", {"text": "Half past twelve suits me well."})
        model.answer("Now judge this criterion", quoting(_RUBRIC))
        with proxy(moments, "model", model.base_url.removesuffix("/v1"), port) as url:
            yield {
                "OPENAI_API_KEY": "key-of-this-test",
                "AGENTBEATS_GREEN_RESPONSE_GENERATOR_MODEL": "openai/people",
                "AGENTBEATS_GREEN_RESPONSE_GENERATOR_BASE_URL": f"{url}/v1",
                "AGENTBEATS_GREEN_EVALUATION_MODEL": "openai/judge",
                "AGENTBEATS_GREEN_EVALUATION_BASE_URL": f"{url}/v1",
            }


@contextmanager
def running_services(*, for_abilities: bool = False) -> Iterator[Services]:
    """Start everything on free ports in a temporary folder; nothing of it is left afterwards.

    Args:
        for_abilities: whether a second participant runs, and a proxy is before the simulator as participants reach it.
    """
    moments = Moments()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True)))
        write_scenario(folder)
        gateway, ues, temporal, ui, agent, *own_ports = free_ports(10 + 1 + len(WORKERS))
        post, model_port, ues_port, tools_port, colleague, *relay_ports = own_ports
        local = LocalStack(
            config=GreenAgentConfig(host="127.0.0.1", scenarios_dir=str(folder / "scenarios"), worker_processes=1),
            ports=Ports(gateway, ues, temporal, ui, agent),
            state=folder,
            is_durable=True,
        )
        to_simulator, *to_temporal = (f"127.0.0.1:{port}" for port in relay_ports)
        addresses = dict(zip(WORKERS, to_temporal, strict=True))
        ues_url = stack.enter_context(proxy(moments, "simulator", f"http://{to_simulator}", ues_port))
        for_workers = {
            **stack.enter_context(serving_models(moments, model_port)),
            "AGENTBEATS_GREEN_UES_URL": ues_url,
            "AGENTBEATS_GREEN_UES_PUBLIC_URL": local.ues_url,
            "AGENTBEATS_GREEN_MODELS_TASK_QUEUE": "chaos-models",
        }
        if for_abilities:
            tools_url = stack.enter_context(proxy(moments, "tools", local.ues_url, tools_port))
            for_workers["AGENTBEATS_GREEN_UES_PUBLIC_URL"] = tools_url
        asks_leave_at = stack.enter_context(listening_post(moments, post))
        each_service = [
            relay(_TO_SIMULATOR, to_simulator, f"127.0.0.1:{ues}"),
            *(relay(_TO_TEMPORAL[worker], at, local.temporal_address) for worker, at in addresses.items()),
            *_all_services(local, for_workers, addresses, asks_leave_at, colleague if for_abilities else None),
        ]
        loop = stack.enter_context(loop_of_its_own())
        supervisor = Supervisor(each_service, local.logs, say=lambda _: None, longest_pause=0.2)
        services = Services(local, supervisor, loop)
        services.moments, services.each_service = moments, each_service
        services.colleague_url = f"http://127.0.0.1:{colleague}"
        services.run(supervisor.__aenter__())
        try:
            services.run(supervisor.start())
            yield services
        finally:
            services.run(supervisor.stop())


def relay(name: str, address: str, *upstreams: str) -> Service:
    """A relay as a service."""
    port = address.rpartition(":")[2]

    async def is_ready(_pid: int) -> bool:
        try:
            _, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", int(port)), 1)
        except (OSError, TimeoutError):
            return False
        writer.close()
        return True

    return Service(name, [sys.executable, "-m", "tests.chaos.relay", port, *upstreams], is_ready)


def _all_services(
    local: LocalStack,
    for_workers: dict[str, str],
    to_temporal: dict[str, str],
    asks_leave_at: str,
    colleague: int | None,
) -> Iterator[Service]:
    participant = [sys.executable, "-m", "tests.chaos.participant"]
    for service in local.list_services():
        if service.name == "agent":
            yield replace(service, command=[*participant, str(local.ports.agent), asks_leave_at])
            if colleague is not None:
                is_ready = answers(f"http://127.0.0.1:{colleague}/.well-known/agent-card.json")
                command = [*participant, str(colleague), asks_leave_at, COLLEAGUE]
                yield replace(service, name=COLLEAGUE, command=command, is_ready=is_ready)
        elif service.name == "worker":
            relays = (_TO_SIMULATOR, *(_TO_TEMPORAL[name] for name in to_temporal))
            for name, address in to_temporal.items():
                environment = {**service.environment, **for_workers, "AGENTBEATS_GREEN_TEMPORAL_ADDRESS": address}
                yield replace(service, name=name, environment=environment, after=(*service.after, *relays))
        else:
            yield service


@contextmanager
def loop_of_its_own() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
