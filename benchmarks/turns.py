"""The evaluator's own cost: ``python -m benchmarks.turns`` prints one JSON line.

An assessment has 12 turns, offline, with a participant that answers at once. Its time is from the request to the last
event of its stream. The line has:

* ``turn_overhead_ms_p50``, ``turn_overhead_ms_p95``: wall time of an assessment divided by its turns, in milliseconds,
  over ``--repetitions`` assessments in sequence
* ``sixteen_at_once_s``: seconds until 16 assessments, all requested at once, have ended
* ``worker_rss_mb``: resident memory of the worker's largest process after all assessments, in MB (10**6 bytes)
* ``cpu_ms_per_turn``: processor time of each process with its children, in milliseconds per turn of the assessments in
  sequence; set-up and judging are included
"""

import argparse
import asyncio
import json
import statistics
import time
from typing import Any

import psutil

from benchmarks.evaluator import SCENARIO, evaluator, say
from tests.stack import SCENARIOS

TURNS = 12
AT_ONCE = 16


async def measure(repetitions: int, scenarios: str) -> dict[str, Any]:
    async with evaluator(worker_processes=None, agents=["instant"], scenarios=scenarios, is_durable=False) as running:
        say(f"warm-up: {await running.assess(SCENARIO, 'instant', TURNS, 0):.2f} s")
        alone = []
        before = running.cpu()
        for repetition in range(repetitions):
            took = await running.assess(SCENARIO, "instant", TURNS, repetition + 1)
            alone.append(took / TURNS * 1000)
            say(f"alone {repetition + 1} of {repetitions}: {took:.2f} s, {alone[-1]:.0f} ms a turn")
        after = running.cpu()
        cpu = {name: (after[name] - before[name]) / repetitions / TURNS * 1000 for name in after}
        say(f"CPU a turn, in ms: {', '.join(f'{name} {spent:.0f}' for name, spent in cpu.items())}")
        began = time.perf_counter()
        await asyncio.gather(*(running.assess(SCENARIO, "instant", TURNS, 100 + i) for i in range(AT_ONCE)))
        together = time.perf_counter() - began
        say(f"{AT_ONCE} at once: {together:.1f} s")
        worker = psutil.Process(running.pids()["worker"])
        processes = [child for child in worker.children() if "proctor.service.worker_process" in child.cmdline()]
        memory = max(process.memory_info().rss for process in [worker, *processes])
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
    parser.add_argument("--scenarios-dir", default=str(SCENARIOS))
    arguments = parser.parse_args()
    if arguments.repetitions < 2:
        parser.error(f"--repetitions is {arguments.repetitions}: give at least 2")
    print(json.dumps(asyncio.run(measure(arguments.repetitions, arguments.scenarios_dir))), flush=True)


if __name__ == "__main__":
    main()
