"""What the evaluator itself costs: ``python -m benchmarks.turns`` prints one JSON line.

``turn_overhead_ms_p50`` and ``turn_overhead_ms_p95``: wall time of a whole assessment (12 turns, offline, from the
request to the last event of its stream) with a participant that answers at once, divided by its turns; milliseconds,
over ``--repetitions`` assessments one after another. ``sixteen_at_once_s``: seconds until 16 of them, all asked for at
once, have ended. ``worker_rss_mb``: resident memory of the largest of the worker's processes after all that, in MB
(10**6 bytes). ``cpu_ms_per_turn``: processor time of each process with its children, in milliseconds per turn of those
assessments that ran alone; set-up and judging are in it.

Everything is real and on this machine: Temporal's dev server, simulator, worker, gateway and the participant each in a
process of their own, and the scenario ``email_triage_basic``.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psutil

from proctor.caller import AssessmentCall, Ended
from proctor.local import LocalStack, Ports
from proctor.settings import LOOPBACK
from proctor.supervisor import Service, Supervisor
from proctor_processes.ports import free_ports
from proctor_protocol.results import AssessmentResults
from proctor_settings.config import GreenAgentConfig

SCENARIO = "email_triage_basic"
TURNS = 12
AT_ONCE = 16
SERVICES = ("worker", "temporal", "ues", "gateway", "instant_agent")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


async def assess(gateway_url: str, agent_url: str, seed: int) -> float:
    """Run one assessment; seconds from the request to its end."""
    request = {
        "participants": {"personal_assistant": agent_url},
        "config": {"scenario_id": SCENARIO, "seed": seed, "offline": True, "max_turns": TURNS},
    }
    began = time.perf_counter()
    async with AssessmentCall(gateway_url, json.dumps(request)) as call:
        async for event in call.events():
            if isinstance(event, Ended):
                took = time.perf_counter() - began
                turns = AssessmentResults.model_validate_json(event.results).turns_taken if event.results else 0
                if (event.state, turns) != ("completed", TURNS):
                    raise SystemExit(f"the assessment is {event.state} after {turns} turns: {event.sentence}")
                return took
    raise SystemExit("the stream ended without an end")


def cpu_seconds(pid: int) -> float:
    """Processor time that a process and its children have used so far, those that have ended included."""
    used = 0.0
    process = psutil.Process(pid)
    for each in [process, *process.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            times = each.cpu_times()
            used += times.user + times.system + times.children_user + times.children_system
    return used


def workers_of(pid: int) -> list[psutil.Process]:
    """The worker itself, and its processes where it has several."""
    worker = psutil.Process(pid)
    return [worker, *(each for each in worker.children() if "proctor.worker_process" in each.cmdline())]


def cpu_of_services(supervisor: Supervisor) -> dict[str, float]:
    """Processor time of every service so far, in seconds."""
    return {name: cpu_seconds(pid) for name in SERVICES if (pid := supervisor.find_pid(name)) is not None}


def agent_service(name: str, port: int, environment: Mapping[str, str | None] | None = None) -> Service:
    """A participant of ours, the module of that name beside this one, as a service of the supervisor's."""

    async def answers(_pid: int) -> bool:
        try:
            async with httpx.AsyncClient(trust_env=False) as http:
                return (await http.get(f"http://{LOOPBACK}:{port}/.well-known/agent-card.json")).is_success
        except httpx.TransportError:
            return False

    command = [sys.executable, "-m", f"benchmarks.{name}", "--host", LOOPBACK, "--port", str(port)]
    return Service(name, command, answers, environment or {})


async def measure(repetitions: int, scenarios_dir: str) -> dict[str, Any]:
    """Start everything, measure, end everything."""
    gateway, ues, temporal, ui, agent = free_ports(5)
    with tempfile.TemporaryDirectory(prefix="proctor-benchmark-", ignore_cleanup_errors=True) as folder:
        local = LocalStack(
            config=GreenAgentConfig(host=LOOPBACK, scenarios_dir=scenarios_dir),
            ports=Ports(gateway, ues, temporal, ui),
            state=Path(folder),
            is_durable=False,
        )
        supervisor = Supervisor([*local.list_services(), agent_service("instant_agent", agent)], local.logs, say=say)
        async with supervisor:
            await supervisor.start()
            agent_url = f"http://{LOOPBACK}:{agent}"
            say(f"warm-up: {await assess(local.gateway_url, agent_url, 0):.2f} s")
            alone = []
            before = cpu_of_services(supervisor)
            for repetition in range(repetitions):
                took = await assess(local.gateway_url, agent_url, repetition + 1)
                alone.append(took / TURNS * 1000)
                say(f"alone {repetition + 1} of {repetitions}: {took:.2f} s, {alone[-1]:.0f} ms a turn")
            after = cpu_of_services(supervisor)
            cpu = {name: (after[name] - before[name]) / repetitions / TURNS * 1000 for name in after}
            say(f"CPU a turn, in ms: {', '.join(f'{name} {spent:.0f}' for name, spent in cpu.items())}")
            began = time.perf_counter()
            await asyncio.gather(*(assess(local.gateway_url, agent_url, 100 + i) for i in range(AT_ONCE)))
            together = time.perf_counter() - began
            say(f"{AT_ONCE} at once: {together:.1f} s")
            worker = supervisor.find_pid("worker")
            if worker is None:
                raise SystemExit("the worker is gone")
            memory = max(process.memory_info().rss for process in workers_of(worker))
    quantiles = statistics.quantiles(alone, n=20, method="inclusive")
    return {
        "turn_overhead_ms_p50": round(statistics.median(alone), 1),
        "turn_overhead_ms_p95": round(quantiles[-1], 1),
        "sixteen_at_once_s": round(together, 1),
        "worker_rss_mb": round(memory / 1e6, 1),
        "cpu_ms_per_turn": {
            **{name: round(spent, 1) for name, spent in cpu.items()},
            "all": round(sum(cpu.values()), 1),
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what the evaluator itself costs.")
    parser.add_argument("--repetitions", type=int, default=10, help="assessments one after another (at least 2)")
    parser.add_argument("--scenarios-dir", default=str(Path(__file__).parent.parent / "scenarios"))
    arguments = parser.parse_args()
    if arguments.repetitions < 2:
        parser.error(f"--repetitions is {arguments.repetitions}: give at least 2")
    print(json.dumps(asyncio.run(measure(arguments.repetitions, arguments.scenarios_dir))), flush=True)


if __name__ == "__main__":
    main()
