"""Plays of assessments for measurements."""

import asyncio
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHistory

from benchmarks.bill.actions import billable_actions
from benchmarks.bill.record import HEARTBEAT, Memory, Play, Stored, Thinking, Tokens, Trial, Waiting
from benchmarks.evaluator import BASELINES, PROCESSES, SLOW_SECONDS, Evaluator, say
from benchmarks.terminal import TASK
from tests.judge_tokens import counted, nothing_bears_on_it
from tests.openai_endpoint import OpenAIEndpoint
from tests.terminal_bench.asking import run

TURNS = {"email_triage_basic": 12, "reschedule_day": 8}
FEW_TURNS = 3
"""Turns of the plays by which memory is measured."""

LOOK_SECONDS = 10.0
"""How long the cost of waiting is measured."""

_TRIES = 3

LATENCY = 1.0
"""Seconds that the scripted model takes in the measurement of waits for models."""


def requests_and_actions(metrics: str, namespace: str = "default") -> tuple[Counter[str], Counter[str]]:
    """Return a namespace's counts at a Temporal server's front end: gRPC requests by operation, and actions by type.

    ``metrics`` is in Prometheus' text format. Actions are the units that Temporal Cloud bills.
    """
    requests, actions = Counter[str](), Counter[str]()
    for sample in (measurement for family in text_string_to_metric_families(metrics) for measurement in family.samples):
        name = sample.name.removesuffix("_total")  # the parser adds it to metrics of the type counter
        if sample.labels.get("service_name") == "frontend" and sample.labels.get("namespace") == namespace:
            if name == "action":
                actions[sample.labels["action_type"]] += int(sample.value)
            elif name == "service_requests":
                requests[sample.labels["operation"]] += int(sample.value)
    return requests, actions


async def read_counters(metrics_url: str) -> tuple[Counter[str], Counter[str]]:
    async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
        return requests_and_actions((await http.get(metrics_url)).text)


def measure_store(folder: Path) -> Stored:
    sizes = []
    for file in folder.rglob("*"):
        with suppress(FileNotFoundError):  # a file that is being written under a temporary name
            if file.is_file():
                sizes.append(file.stat().st_size)
    return Stored(objects=len(sizes), bytes=sum(sizes))


class _Watched:
    def __init__(self, evaluator: Evaluator, requests: Counter[str], actions: Counter[str]) -> None:
        self.cpu = evaluator.cpu()
        self.requests, self.actions = requests, actions
        self.store = measure_store(evaluator.local.state / "storage")
        self.archive = measure_store(evaluator.local.state / "archive")


async def _watch(evaluator: Evaluator) -> _Watched:
    return _Watched(evaluator, *await read_counters(evaluator.metrics_url))


def _per(parts: float, after: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    return {n: (value - before.get(n, 0)) / parts for n, value in after.items() if value != before.get(n, 0)}


async def measure_play(
    evaluator: Evaluator, scenario: str, participant: str, repetitions: int, *, with_models: bool
) -> Play:
    """Play the same assessment several times in sequence, and return the means."""
    agent, turns = BASELINES[scenario] if participant == "baseline" else participant, TURNS[scenario]
    _script(evaluator.endpoint)
    seen = {workflow.run_id for workflow in await evaluator.ended_workflows(set())}
    await evaluator.assess(scenario, agent, turns, 0, offline=not with_models)
    judged = [prompt for prompt in evaluator.endpoint.prompts if "Now judge this criterion" in prompt]
    spoken = [prompt for prompt in evaluator.endpoint.prompts if "Now judge this criterion" not in prompt]
    seen |= {workflow.run_id for workflow in await evaluator.ended_workflows(seen, 1)}
    before = await _watch(evaluator)
    took = [
        await evaluator.assess(scenario, agent, turns, 100 + at, offline=not with_models) for at in range(repetitions)
    ]
    runs = await evaluator.ended_workflows(seen, repetitions)
    after = await _watch(evaluator)
    known = seen | {workflow.run_id for workflow in runs}
    histories = [await evaluator.history(workflow) for workflow in runs]
    thinking = await _measure_thinking(evaluator, scenario, agent, histories, known) if with_models else Thinking()
    events = [event for history in histories for event in history.events]
    actions = sum((billable_actions(history.events) for history in histories), Counter[str]())
    names = {*PROCESSES.values(), agent}
    cpu = {name: spent for name, spent in _per(repetitions, after.cpu, before.cpu).items() if name in names}
    store, archive = (after.store - before.store).over(repetitions), (after.archive - before.archive).over(repetitions)
    play = Play(
        scenario=scenario,
        participant=participant,
        with_models=with_models,
        turns=turns,
        repetitions=repetitions,
        cpu={("participant" if name == agent else name): spent for name, spent in cpu.items()},
        activities=sum(e.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED for e in events) / repetitions,
        events=len(events) / repetitions,
        history_bytes=sum(event.ByteSize() for event in events) / repetitions,
        actions=_per(repetitions, actions, {}),
        counted_by_server=_per(repetitions, after.actions, before.actions),
        requests=_per(repetitions, after.requests, before.requests),
        store=store,
        archive=archive,
        judges=_count_tokens(judged),
        characters=_count_tokens(spoken),
        thinking=thinking,
    )
    say(
        f"{play.name}: {statistics.mean(took):.2f} s, {sum(cpu.values()):.2f} s of CPU "
        f"({', '.join(f'{name} {spent:.2f}' for name, spent in play.cpu.items())}), "
        f"{sum(play.actions.values()):.0f} actions ({sum(play.counted_by_server.values()):.0f} by the server's count)"
    )
    return play


async def _measure_thinking(
    evaluator: Evaluator, scenario: str, agent: str, quick: list[WorkflowHistory], known: set[str]
) -> Thinking:
    """Measure the waits for models, as the difference between a play with a slow model and the play with a fast one."""
    evaluator.endpoint.delay = LATENCY
    await evaluator.assess(scenario, agent, TURNS[scenario], 100, offline=False)
    evaluator.endpoint.delay = 0.0
    slow = [await evaluator.history(workflow) for workflow in await evaluator.ended_workflows(known, 1)]
    of_one = quick[:1]
    figures = {}
    for who, activity in (("characters", "respond"), ("judges", "judge_criterion")):
        (depth, waits), (least_depth, least_waits) = measure_waits(slow, activity), measure_waits(of_one, activity)
        figures[f"{who}_depth"] = max(depth - least_depth, 0) / LATENCY
        figures[f"{who}_waits"] = max(waits - least_waits, 0) / LATENCY
    return Thinking(**figures)


def measure_waits(histories: Iterable[WorkflowHistory], activity: str | None = None) -> tuple[float, float]:
    """Return the seconds that activities ran: first with overlaps counted once, then the sum of all.

    ``activity`` is the type of the activities; None for all.
    """
    spans = sorted(span for history in histories for span in _spans(history, activity))
    clock, until = 0.0, float("-inf")
    for begun, ended in spans:
        clock += max(ended - max(begun, until), 0)
        until = max(until, ended)
    return clock, sum(ended - begun for begun, ended in spans)


def _spans(history: WorkflowHistory, activity: str | None) -> Iterator[tuple[float, float]]:
    of_kind, begun = set(), {}
    for event in history.events:
        at = event.event_time.ToNanoseconds() / 1e9
        if event.HasField("activity_task_scheduled_event_attributes"):
            if activity in (None, event.activity_task_scheduled_event_attributes.activity_type.name):
                of_kind.add(event.event_id)
        elif event.HasField("activity_task_started_event_attributes"):
            begun[event.activity_task_started_event_attributes.scheduled_event_id] = at
        elif event.HasField("activity_task_completed_event_attributes"):
            scheduled = event.activity_task_completed_event_attributes.scheduled_event_id
            if scheduled in of_kind:
                yield begun[scheduled], at


def _script(endpoint: OpenAIEndpoint) -> None:
    """A model that answers everything: each character replies, no judge finds anything."""
    endpoint.forget()
    endpoint.answer("Now judge this criterion", nothing_bears_on_it)
    endpoint.answer(
        "You decided to answer",
        lambda prompt: (
            {"response": "accepted", "comment": ""}
            if "Answer the invitation" in prompt
            else {"text": "Thank you, that works for me."}
        ),
    )
    endpoint.answer("Would you answer this", {"should_respond": True, "reason": "It is a question."})


def _count_tokens(prompts: list[str]) -> Tokens:
    counts = counted(prompts)
    return Tokens(calls=counts.calls, input=counts.all, uncached=counts.uncached)


async def measure_waiting(evaluator: Evaluator, at_once: int = 12) -> Waiting:
    """Measure the cost of waiting: assessments with a slow participant, compared with an idle evaluator."""

    async def look() -> tuple[dict[str, float], Counter[str], float]:
        before, began = await _watch(evaluator), time.perf_counter()
        await asyncio.sleep(LOOK_SECONDS)
        after, seconds = await _watch(evaluator), time.perf_counter() - began
        return _per(seconds, after.cpu, before.cpu), after.requests - before.requests, seconds

    async def done() -> int:
        return (await _watch(evaluator)).requests["RespondActivityTaskCompleted"]

    idle_cpu, idle, idle_seconds = await look()
    for attempt in range(1, _TRIES + 1):
        before = seen = await done()
        plays = [evaluator.assess("email_triage_basic", "slow", 1, 100 * attempt + i) for i in range(at_once)]
        playing = asyncio.gather(*plays)
        await asyncio.sleep(3)
        while (now := await done()) != seen or now < before + 2 * at_once:
            seen = now
            await asyncio.sleep(3)  # some still act: not all are waiting
        slow_cpu, slow, seconds = await look()
        were_waiting = await done() == seen and not playing.done()
        await playing
        more = {name: slow_cpu.get(name, 0) - idle_cpu.get(name, 0) for name in ("worker", "Temporal")}
        say(
            f"CPU a second, idle and with {at_once} that wait: "
            + ", ".join(f"{name} {idle_cpu.get(name, 0):.4f} and {slow_cpu.get(name, 0):.4f}" for name in more)
        )
        if not were_waiting:
            say(f"turns of {SLOW_SECONDS:g} s were over before all waited: this machine is busy")
        elif min(more.values()) <= 0:
            say("waiting took less CPU than nothing at all: other work on this machine changes what is measured")
        else:
            break
    else:
        raise SystemExit("the cost of waiting can't be measured here: this machine is too busy")
    waiting = Waiting(
        cpu={name: spent / at_once for name, spent in more.items()},
        heartbeats=slow[HEARTBEAT] / seconds / at_once,
        requests=(slow.total() / seconds - idle.total() / idle_seconds) / at_once,
    )
    say(f"a second of waiting: {waiting.heartbeats:.2f} heartbeats, {sum(waiting.cpu.values()) * 1000:.1f} ms of CPU")
    return waiting


async def measure_trials(evaluator: Evaluator, trials: int) -> Trial:
    """Measure the cost of a terminal trial: a run of several in sequence, on an engine that the evaluator knows."""
    await run(evaluator.local.gateway_url, TASK.name, agent="oracle", keep_images=True)  # builds the image
    seen = {workflow.run_id for workflow in await evaluator.ended_workflows(set(), 1 + 1)}  # the run, and its trial
    before = await _watch(evaluator)
    await run(
        evaluator.local.gateway_url,
        TASK.name,
        agent="oracle",
        n_attempts=trials,
        n_concurrent_trials=1,
        keep_images=True,
    )
    histories = [await evaluator.history(workflow) for workflow in await evaluator.ended_workflows(seen, 1 + trials)]
    after = await _watch(evaluator)
    events = [event for history in histories for event in history.events]
    actions = sum((billable_actions(history.events) for history in histories), Counter[str]())
    cpu = _per(trials, after.cpu, before.cpu)
    trial = Trial(
        task=TASK.name,
        trials=trials,
        cpu={name: cpu.get(name, 0.0) for name in PROCESSES.values()},
        actions=_per(trials, actions, {}),
        events=len(events) / trials,
    )
    say(f"a terminal trial: {sum(trial.actions.values()):.0f} actions")
    return trial


async def measure_memory(evaluator: Evaluator, at_once: Iterable[int]) -> list[Memory]:
    """Measure the most memory of each process, for each number of assessments at once."""
    memories = []
    for count in at_once:
        peaks: dict[str, int] = {}
        watching = asyncio.create_task(evaluator.watch_memory(peaks))
        plays = [evaluator.assess("email_triage_basic", "triage", FEW_TURNS, 400 + i) for i in range(count)]
        await asyncio.gather(*plays)
        watching.cancel()
        memories.append(Memory(at_once=count, peak={name: peaks[name] for name in PROCESSES.values()}))
        say(f"{count} at once: {', '.join(f'{n} {peak / 1e6:.0f} MB' for n, peak in memories[-1].peak.items())}")
    return memories
