"""Many assessments at once: ``python -m benchmarks.many --assessments 1000`` shows progress, and prints a JSON line.

All are requested at the same time and followed to their end. One agent process plays them, and takes 5 to 20 s for
each turn (``--takes``). The line has, among others:

* ``right``: the assessments that completed with all turns, each played once, and with the most frequent score
* ``tried_again``: attempts after the first, and restarted steps of workflows, by cause, from the histories
* ``peak_mb``: the most memory of each service with its children, in MB (10**6 bytes), with shared memory counted once
* ``cpu_s``: processor time of each service with its children, in seconds

The exit code is 1 if an assessment was not right, or a missed heartbeat caused another attempt.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from temporalio.api.enums.v1 import TimeoutType
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

from benchmarks.evaluator import SCENARIO, evaluator, say
from proctor.client.api import assessment_request
from proctor.client.caller import Accepted, AssessmentCall, ConnectionLost, Ended, Progress
from proctor.common.errors import CommandError
from proctor.protocol.updates import ErrorOccurredUpdate, TurnCompletedUpdate
from purple_sdk.protocol.results import AssessmentResults

MISSED = "missed heartbeat"

_SAY_SECONDS = 10.0
_READ_AT_ONCE = 4


@dataclass
class Tally:
    turns: int
    accepted: int = 0
    turns_played: int = 0
    scores: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    troubles: Counter[str] = field(default_factory=Counter)
    task_ids: list[str] = field(default_factory=list)

    @property
    def ended(self) -> int:
        return sum(self.scores.values()) + sum(self.wrong.values())

    def take(self, ended: Ended) -> None:
        results = AssessmentResults.model_validate_json(ended.results) if ended.results else None
        if ended.state != "completed" or results is None:
            self.wrong[f"{ended.state}: {ended.sentence}"] += 1
        elif results.turns_taken != self.turns or results.turn_tries:
            self.wrong[f"{results.turns_taken} turns, tries {results.turn_tries}"] += 1
        else:
            self.scores[f"{results.scores.overall.score} of {results.scores.overall.max_score}"] += 1

    def sentence(self) -> str:
        wrong = f", {sum(self.wrong.values())} NOT RIGHT" if self.wrong else ""
        troubles = f", {sum(self.troubles.values())} troubles reported" if self.troubles else ""
        return f"{self.accepted} accepted, {self.turns_played} turns played, {self.ended} ended{wrong}{troubles}"


async def follow(gateway_url: str, agent_url: str, seed: int, tally: Tally) -> None:
    request = assessment_request(agent_url, SCENARIO, seed, offline=True, max_turns=tally.turns)
    try:
        async with AssessmentCall(gateway_url, request) as call:
            async for event in call.events():
                if isinstance(event, Accepted):
                    tally.accepted += 1
                    tally.task_ids.append(event.task_id)
                elif isinstance(event, Progress) and isinstance(event.update, TurnCompletedUpdate):
                    tally.turns_played += 1
                elif isinstance(event, Progress) and isinstance(event.update, ErrorOccurredUpdate):
                    tally.troubles[event.update.error_message] += 1
                elif isinstance(event, ConnectionLost):
                    tally.troubles[f"the stream broke: {event.problem}"] += 1
                elif isinstance(event, Ended):
                    tally.take(event)
                    return
        tally.wrong["the stream ended without an end"] += 1
    except CommandError as error:
        tally.wrong[str(error)] += 1


async def watch(tally: Tally, assessments: int) -> None:
    began = time.monotonic()
    while True:
        took, load = time.monotonic() - began, os.getloadavg()[0]
        say(f"{took:5.0f} s: of {assessments} {tally.sentence()} (load {load:.0f})")
        await asyncio.sleep(_SAY_SECONDS)


async def tried_again(client: Client, task_ids: list[str]) -> Counter[str]:
    """The retries in these assessments, by cause."""
    causes: Counter[str] = Counter()
    free = asyncio.Semaphore(_READ_AT_ONCE)

    async def read(task_id: str) -> None:
        async with free:
            steps: dict[int, str] = {}
            async for event in client.get_workflow_handle(task_id).fetch_history_events():
                causes.update(_find_causes(event, steps))

    await asyncio.gather(*map(read, task_ids))
    return causes


def _find_causes(event: HistoryEvent, steps: dict[int, str]) -> Iterator[str]:
    """Yield the causes of repeated attempts in one event of a history. ``steps`` keeps activities by their events."""
    if event.HasField("activity_task_scheduled_event_attributes"):
        steps[event.event_id] = event.activity_task_scheduled_event_attributes.activity_type.name
    elif event.HasField("activity_task_started_event_attributes"):
        started = event.activity_task_started_event_attributes
        if started.attempt > 1:
            yield f"{steps.get(started.scheduled_event_id, '?')}: {_cause(started.last_failure)}"
    elif event.HasField("activity_task_timed_out_event_attributes"):
        timed_out = event.activity_task_timed_out_event_attributes
        yield f"{steps.get(timed_out.scheduled_event_id, '?')} given up: {_cause(timed_out.failure)}"
    elif event.HasField("workflow_task_timed_out_event_attributes"):
        kind = event.workflow_task_timed_out_event_attributes.timeout_type
        waited = kind == TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START
        yield "workflow: its own worker was too busy to fetch a step" if waited else "workflow: a step took too long"
    elif event.HasField("workflow_task_failed_event_attributes"):
        yield f"workflow: {event.workflow_task_failed_event_attributes.failure.message}"


def _cause(failure: Failure) -> str:
    while failure.HasField("cause") and not failure.HasField("timeout_failure_info"):
        failure = failure.cause
    if failure.HasField("timeout_failure_info"):
        kind = failure.timeout_failure_info.timeout_type
        name = TimeoutType.Name(kind).removeprefix("TIMEOUT_TYPE_").lower()
        return MISSED if kind == TimeoutType.TIMEOUT_TYPE_HEARTBEAT else f"timeout ({name})"
    return failure.application_failure_info.type or failure.message


async def measure(assessments: int, turns: int, takes: str, processes: int | None) -> dict[str, Any]:
    async with evaluator(worker_processes=processes, agents=["slow"], takes=takes, is_durable=False) as running:
        tally, peaks = Tally(turns), dict[str, int]()
        began = time.monotonic()
        watching = [
            asyncio.create_task(watch(tally, assessments)),
            asyncio.create_task(running.watch_memory(peaks)),
        ]
        url, agent = running.local.gateway_url, running.agents["slow"]
        await asyncio.gather(*(follow(url, agent, seed, tally) for seed in range(assessments)))
        took = time.monotonic() - began
        for task in watching:
            task.cancel()
        cpu = running.cpu()
        say(f"{took:5.0f} s: of {assessments} {tally.sentence()}; reading the histories")
        again = await tried_again(running.client, tally.task_ids)
        for name in ("worker", "gateway"):
            if tail := running.supervisor.read_log_tail(name, 5):
                say(f"the end of the log of {name}:\n{tail}")
    return {
        "assessments": assessments,
        "right": max(tally.scores.values(), default=0),
        "took_s": round(took, 1),
        "turns": tally.turns_played,
        "tried_again": dict(again.most_common()),
        "missed_heartbeats": sum(count for cause, count in again.items() if cause.endswith(MISSED)),
        "scores": dict(tally.scores),
        "not_right": dict(tally.wrong.most_common(10)),
        "troubles": dict(tally.troubles.most_common(10)),
        "peak_mb": {name: round(peak / 1e6, 1) for name, peak in peaks.items()},
        "cpu_s": {name: round(used, 1) for name, used in cpu.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Many assessments at once, and what had to be tried again.")
    parser.add_argument("--assessments", type=int, default=100, help="how many at once")
    parser.add_argument("--turns", type=int, default=4, help="turns of each")
    parser.add_argument("--takes", default="5-20", help="seconds that the participant takes for a turn: FROM-TO")
    parser.add_argument("--processes", type=int, default=None, help="processes of the worker (as many as cores)")
    arguments = parser.parse_args()
    figures = asyncio.run(measure(arguments.assessments, arguments.turns, arguments.takes, arguments.processes))
    print(json.dumps(figures), flush=True)
    sys.exit(int(figures["right"] != arguments.assessments or figures["missed_heartbeats"] > 0))


if __name__ == "__main__":
    main()
