"""The cost of a terminal trial: seconds by step, the evaluator's own share, and eight trials at once.

    python -m benchmarks.terminal [--engine URL] [--trials 8]

Runs of a whole evaluator, Temporal and all: one trial after another, and all of them at once. Without ``--engine`` it
starts its own engine (root, Debian's docker.io and debootstrap).
"""

import argparse
import asyncio
import contextlib
import statistics
import time
from collections.abc import Iterator

from tests.docker_engine import TASKS, own_engine
from tests.stack import running_stack
from tests.terminal_bench.asking import run

TASK = TASKS / "hello-file"

PHASES = ("build", "start", "agent", "tests", "logs", "stop")
"""The phases in a trial's result. The rest of a trial's time is the workflow's own."""

MOST_WHOLE, MOST_OWN = 4.0, 1.5
"""The most seconds of a trivial trial, and of the evaluator's own share, which excludes build, agent and tests."""


async def measure_runs(url: str, count: int) -> None:
    """Measure runs of a whole evaluator; its own share is the time without build, agent and tests."""
    with running_stack(environment={"DOCKER_HOST": url, "AGENTBEATS_GREEN_CONTAINERS": "on"}) as stack:
        await run(stack.gateway_url, TASK.name, agent="oracle", keep_images=True)  # builds, and warms everything up
        took = {}
        for at_once in (1, count):
            began = time.perf_counter()
            ended = await run(
                stack.gateway_url,
                TASK.name,
                agent="oracle",
                n_attempts=count,
                n_concurrent_trials=at_once,
                keep_images=True,
            )
            took[at_once] = time.perf_counter() - began
            trials = ended.results.results
            assert ended.results.accuracy == 1.0, ended.sentence
            whole = [
                (t.trial_ended_at - t.trial_started_at).total_seconds()
                for t in trials
                if t.trial_ended_at and t.trial_started_at
            ]
            theirs = [sum(t.phases[name] for name in ("build", "agent", "tests")) for t in trials]
            own = [a - b for a, b in zip(whole, theirs, strict=True)]
            print(f"\n{count} trials of a run, {at_once} at once: {took[at_once]:.1f} s")
            for name in PHASES:
                print(f"{name:24} {statistics.median(t.phases[name] for t in trials):6.3f} s")
            middle, share = statistics.median(whole), statistics.median(own)
            print(f"a trial, median: {middle:.2f} s, {share:.2f} s of it neither build, agent nor tests")
        print(
            f"the aim, one at a time on an idle machine: {MOST_WHOLE:g} s, {MOST_OWN:g} s of them the evaluator's own"
        )
        print(f"\n{count} trials: {took[1]:.1f} s one after another, {took[count]:.1f} s at once")


@contextlib.contextmanager
def an_engine(url: str | None) -> Iterator[str]:
    if url is not None:
        yield url
        return
    with own_engine() as engine:
        yield engine.url


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", help="an engine's address, such as unix:///var/run/docker.sock")
    parser.add_argument("--trials", type=int, default=8)
    arguments = parser.parse_args()
    with an_engine(arguments.engine) as url:
        asyncio.run(measure_runs(url, arguments.trials))


if __name__ == "__main__":
    main()
