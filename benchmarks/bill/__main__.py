"""The bill of one assessment, measured: ``python -m benchmarks.bill`` writes ``benchmarks/bill.json``.

Everything is real and on this machine: Temporal's dev server, simulator, worker, gateway and participants are
separate processes; a model is a scripted endpoint in this process, whose own work is not counted. Renew docs/SCALE.md
with ``python -m benchmarks.scale --write`` afterwards.
"""

import argparse
import asyncio
import os
from pathlib import Path

from benchmarks.bill.playing import TURNS, measure_memory, measure_play, measure_trials, measure_waiting
from benchmarks.bill.record import FILE, Bill, Trial, this_machine
from benchmarks.evaluator import evaluator
from benchmarks.terminal import an_engine

AT_ONCE = (1, 8, 32)
OWN = "own"


async def measure(repetitions: int) -> Bill:
    machine = this_machine()
    async with evaluator() as running:
        await running.assess("email_triage_basic", "instant", 2, 1)
        waiting = await measure_waiting(running)  # first, since it needs an idle machine
        plays = [
            await measure_play(running, scenario, participant, repetitions, with_models=with_models)
            for scenario in TURNS
            for participant, with_models in (("instant", False), ("baseline", False), ("baseline", True))
        ]
    async with evaluator() as running:  # fresh processes, without memory of earlier plays
        await running.assess("email_triage_basic", "triage", 2, 1)
        memory = await measure_memory(running, AT_ONCE)
    return Bill(machine=machine, plays=plays, waiting=waiting, memory=memory)


async def measure_with_engine(url: str, trials: int) -> Trial:
    async with evaluator({"DOCKER_HOST": url, "AGENTBEATS_GREEN_CONTAINERS": "on"}) as running:
        return await measure_trials(running, trials)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5, help="plays of each kind, one after another (default 5)")
    parser.add_argument("--file", type=Path, default=FILE, help="where it is kept")
    parser.add_argument("--engine", help=f"a Docker engine's address, for terminal trials; {OWN!r} starts one (root)")
    arguments = parser.parse_args()
    if arguments.repetitions < 1:
        parser.error(f"--repetitions is {arguments.repetitions}: give at least 1")
    bill = asyncio.run(measure(arguments.repetitions))
    bill.save(arguments.file)  # a missing engine doesn't lose the other measurements
    if arguments.engine:
        with an_engine(None if arguments.engine == OWN else arguments.engine) as url:
            bill = bill.model_copy(update={"trial": asyncio.run(measure_with_engine(url, 4))})
    bill.save(arguments.file)
    print(f"{os.path.relpath(arguments.file)} is written")


if __name__ == "__main__":
    main()
