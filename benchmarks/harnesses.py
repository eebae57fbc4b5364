"""The duration of a terminal trial in the official harnesses and in proctor: pairs on one engine, in turn.

    python -m benchmarks.harnesses --tb VENV --harbor VENV [--pairs 5]

Each side plays a task with its own solution: once in one command, then ``TRIALS`` times in one command, one trial after
another, with the image built before. The first is the duration of a command with one trial. The difference divided
by the number of further trials is the duration of one more trial. ``tests.terminal_bench.official`` says how to install
the harnesses.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.terminal_bench.official import PLUGIN, ROOT, Harnesses, done, engine_address, write_tasks

TRIALS = 3
DATASET = ROOT / "scenarios" / "terminal_bench"
TASKS = {"tb": "hello-file", "harbor": "find-secret"}
"""The task of each pair: one of version 1, one of its successor."""


def command(harnesses: Harnesses, harness: str, task: str, name: str, trials: int) -> Sequence[str]:
    """A command line that plays a task several times, one trial at a time."""
    run: tuple[str, ...]
    place: tuple[str, ...]
    folder = str(harnesses.work / ("one" if TASKS["tb"] == task else "two"))
    many = ("--n-attempts", str(trials))
    if harness == "tb":
        run = (f"{harnesses.tb}/bin/tb", "run", "--dataset-path", folder, "--task-id", task, "--agent", "oracle")
        place = ("--no-upload-results", "--no-rebuild", "--no-cleanup", "--run-id", name)
        return (*run, *place, "--output-path", str(harnesses.work / "tb"), *many, "--n-concurrent", "1")
    if harness == "harbor":
        run = (f"{harnesses.harbor}/bin/harbor", "run", "--path", folder, "--include-task-name", task)
        engine = ("--agent", "oracle", "--env", "purple_sdk.adapters.harbor:DockerEnvironment", "--yes", "--quiet")
        return (*run, *engine, "--jobs-dir", str(harnesses.work / "harbor"), "--job-name", name, *many, "-n", "1")
    own = str(DATASET)  # without the copies for tb, which have the host's network
    run = (sys.executable, "-m", "proctor", "terminal-bench", "run", "--dataset", own, "--task-id", task)
    place = ("--agent", "oracle", "--state", str(harnesses.work / f"state-{task}"), "--quiet", "--json", f"{name}.json")
    return (*run, *place, *many, "--n-concurrent", "1")


def resolved(harnesses: Harnesses, harness: str, name: str) -> int:
    if harness == "tb":
        return int(json.loads((harnesses.work / "tb" / name / "results.json").read_text())["n_resolved"])
    if harness == "harbor":
        trials = [json.loads(file.read_text()) for file in (harnesses.work / "harbor" / name).glob("*/result.json")]
        return sum((trial.get("verifier_result") or {}).get("rewards", {}).get("reward") == 1 for trial in trials)
    return int(json.loads((harnesses.work / f"{name}.json").read_text())["n_resolved"])


async def measure(harnesses: Harnesses, harness: str, task: str, name: str) -> tuple[float, float]:
    """Seconds of a command of one trial, and of each further trial."""
    took = []
    for trials in (1, TRIALS):
        began = time.perf_counter()
        label = f"{name}-{trials}"
        await done(harnesses, label, *command(harnesses, harness, task, label, trials))
        took.append(time.perf_counter() - began)
        if (solved := resolved(harnesses, harness, label)) != trials:
            raise SystemExit(f"{label}: {solved} of {trials} trials are resolved: see {harnesses.work}/{label}.log")
    return took[0], (took[1] - took[0]) / (TRIALS - 1)


async def compare(harnesses: Harnesses, pairs: int) -> None:
    """Play the pairs, and print a row for each harness and for proctor beside it."""
    print(f"load {os.getloadavg()[0]:.1f}\n")
    print("| task | harness | one trial | each further trial |\n| --- | --- | --- | --- |", flush=True)
    for harness, task in TASKS.items():
        if getattr(harnesses, harness) is None:
            continue
        taken: dict[str, list[tuple[float, float]]] = {harness: [], "proctor": []}
        for pair in range(-1, pairs):  # the first pair builds the images, and does not count
            for side, times in taken.items() if pair % 2 else reversed(taken.items()):
                times.append(await measure(harnesses, side, task, f"{side}-{task}-{pair + 1}"))
        for side, times in taken.items():
            first, further = zip(*times[1:], strict=True)
            print(f"| `{task}` | {side} | {_middle(first)} | {_middle(further)} |", flush=True)


def _middle(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tb", type=Path, help="an environment with terminal-bench")
    parser.add_argument("--harbor", type=Path, help="an environment with harbor and proctor-purple")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--work", type=Path, help="where the outputs are kept")
    arguments = parser.parse_args()
    work = (arguments.work or Path(tempfile.mkdtemp(prefix="proctor-harnesses-"))).absolute()
    plugins = work / "docker" / "cli-plugins"
    plugins.mkdir(parents=True)
    (plugins / "docker-compose").write_text(PLUGIN)
    (plugins / "docker-compose").chmod(0o755)
    write_tasks(work, DATASET)
    with engine_address() as engine:
        os.environ.update(DOCKER_HOST=engine, DOCKER_CONFIG=str(work / "docker"))
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        tb, harbor = (venv and venv.absolute() for venv in (arguments.tb, arguments.harbor))
        asyncio.run(compare(Harnesses(tb, harbor, work, environment), arguments.pairs))


if __name__ == "__main__":
    main()
