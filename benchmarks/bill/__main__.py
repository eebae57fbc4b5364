"""The bill of one assessment, measured: ``python -m benchmarks.bill`` writes ``benchmarks/bill.json``.

Everything is real and on this machine: Temporal's dev server, simulator, worker, gateway and participants are each a
process of their own; a model is a scripted endpoint in this process, whose own work is not counted. Renew docs/SCALE.md
with ``python -m benchmarks.scale --write`` afterwards.

``--many FILE`` plays nothing: it adds what ``python -m benchmarks.many`` has printed, for the simulation to be compared
with.
"""

import argparse
import asyncio
import contextlib
import json
import os
from pathlib import Path

from benchmarks.bill.evaluator import evaluator
from benchmarks.bill.playing import (
    TURNS,
    measure_memory,
    measure_play,
    measure_together,
    measure_trials,
    measure_waiting,
)
from benchmarks.bill.record import FILE, Bill, Together, Trial, this_machine
from benchmarks.terminal import an_engine

AT_ONCE = (1, 8, 32)
TOGETHER = (4, 16)
OWN = "own"


async def measure(repetitions: int) -> Bill:
    machine = this_machine()
    async with evaluator() as running:
        await running.assess("email_triage_basic", "instant", 2, 1)
        waiting = await measure_waiting(running)  # first of all, since it needs a machine that has the time
        plays = [
            await measure_play(running, scenario, participant, repetitions, with_models=with_models)
            for scenario in TURNS
            for participant, with_models in (("instant", False), ("baseline", False), ("baseline", True))
        ]
    async with evaluator(worker_processes=None) as running:
        await running.assess("email_triage_basic", "instant", 2, 1)
        together = [await measure_together(running, count, machine.cores) for count in TOGETHER]
    async with evaluator() as running:  # fresh processes, which hold nothing of what was played
        await running.assess("email_triage_basic", "triage", 2, 1)
        memory = await measure_memory(running, AT_ONCE)
    return Bill(machine=machine, plays=plays, waiting=waiting, memory=memory, together=together)


async def measure_with_engine(url: str, trials: int) -> Trial:
    """Play terminal trials on an engine."""
    async with evaluator({"DOCKER_HOST": url, "AGENTBEATS_GREEN_CONTAINERS": "on"}) as running:
        return await measure_trials(running, trials)


def read_many(text: str, takes: str, load: float | None = None) -> Together:
    """What ``benchmarks.many`` has printed, its last line alone or with what came before."""
    figures = json.loads(text.strip().splitlines()[-1])
    shortest, longest = map(float, takes.split("-"))
    return Together(
        what=f"{figures['assessments']:,} at once, {shortest:g} to {longest:g} s a turn",
        scenario="email_triage_basic",
        participant="instant",
        assessments=figures["assessments"],
        turns=round(figures["turns"] / figures["assessments"]),
        cores=os.cpu_count() or 1,
        worker_processes=sum(name.startswith("worker, process") for name in figures["peak_mb"]) or 1,
        turn_seconds=(shortest, longest),
        seconds=figures["took_s"],
        load=load,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5, help="plays of each kind, one after another (default 5)")
    parser.add_argument("--file", type=Path, default=FILE, help="where it is kept")
    parser.add_argument("--engine", help=f"a Docker engine's address, for terminal trials; {OWN!r} starts one (root)")
    parser.add_argument("--many", type=Path, metavar="FILE", help="add what benchmarks.many has printed")
    parser.add_argument("--takes", default="5-20", help="with --many: seconds of a turn, as given to it (default 5-20)")
    parser.add_argument("--load", type=float, help="with --many: the load of the machine before")
    arguments = parser.parse_args()
    if arguments.repetitions < 1:
        parser.error(f"--repetitions is {arguments.repetitions}: give at least 1")
    if arguments.many:
        bill = Bill.load(arguments.file).with_together(
            read_many(arguments.many.read_text(encoding="utf-8"), arguments.takes, arguments.load)
        )
    else:
        bill = asyncio.run(measure(arguments.repetitions))
        bill.save(arguments.file)  # so that an engine that can't be had doesn't cost what was measured
        if arguments.engine:
            with contextlib.ExitStack() as stack:
                url = stack.enter_context(an_engine(None if arguments.engine == OWN else arguments.engine))
                bill = bill.model_copy(update={"trial": asyncio.run(measure_with_engine(url, 4))})
    bill.save(arguments.file)
    print(f"{os.path.relpath(arguments.file)} is written")


if __name__ == "__main__":
    main()
