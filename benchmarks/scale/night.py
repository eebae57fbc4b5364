"""A night of assessments, simulated event by event (SimPy).

Whatever takes processor time waits for a process that is free, in the order in which it comes (one core each); with
``cores``, all processes share so many. Slots of workers are held while participants and models are waited for. Actions
and requests of Temporal, tokens and calls of a provider, and writes to the store pass one after another at the rate
that is allowed: more than that waits.
"""

import math
import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import simpy

from benchmarks.scale.load import Load

Process = Generator[simpy.Event, Any, None]

_OWN = ("actions", "requests", "writes", "waits_begun")
"""What is counted of an assessment whatever waits: an equal part for each turn, and one for the rest."""

_PIECE = 5.0
"""Seconds of waiting whose signs of life, and models' tokens, are passed on together."""


@dataclass(frozen=True)
class Fleet:
    """What assessments are played with.

    Attributes:
        processes: how many of each kind there are; a kind that isn't named takes no time.
        slots: activities that may wait for participants at once, in all; ``model_slots`` for models.
        rates: what is allowed in a second, by name: actions, requests, tokens, calls, writes, waits_begun.
        cores: of one machine that all processes share; None where each has its own.
    """

    processes: dict[str, int]
    slots: int = 10**9
    model_slots: int = 10**9
    rates: dict[str, float] = field(default_factory=dict)
    cores: int | None = None


@dataclass(frozen=True)
class Outcome:
    """How it went, between ``begin`` and ``end`` (in the simulation's seconds).

    Attributes:
        used: share of each resource. ended: assessments. at_once: under way, on average. held_up: seconds that an
        assessment took beyond its shortest, for each that ended. last_end: when the last one ended.
    """

    begin: float
    end: float
    used: dict[str, float]
    ended: int
    begun: int
    at_once: float
    held_up: list[float]
    last_end: float

    def quantile(self, share: float) -> float:
        """By so much or less that share of the assessments was held up, in seconds; 0 where none ended."""
        return float(np.quantile(self.held_up, share)) if self.held_up else 0.0


class _Resource:
    """Servers with one queue; ``busy``: seconds of work, from ``begin`` on, that they have done."""

    def __init__(self, environment: simpy.Environment, servers: int, begin: float) -> None:
        self.servers, self.begin, self.busy = servers, begin, 0.0
        self.environment = environment
        self.resource = simpy.Resource(environment, servers)

    def note(self, seconds: float) -> None:
        """Work of so many seconds has just been done."""
        now = self.environment.now
        self.busy += max(min(seconds, now - self.begin), 0)


class _Night:
    def __init__(self, fleet: Fleet, seed: int, begin: float) -> None:
        self.env = simpy.Environment()
        self.begin = begin
        self.dice = random.Random(seed)
        self.processes = {n: _Resource(self.env, count, begin) for n, count in fleet.processes.items()}
        self.cores = _Resource(self.env, fleet.cores, begin) if fleet.cores else None
        self.rates = fleet.rates
        self.gates = {name: _Resource(self.env, 1, begin) for name in fleet.rates}
        self.slots = simpy.Container(self.env, fleet.slots, fleet.slots)
        self.model_slots = simpy.Container(self.env, fleet.model_slots, fleet.model_slots)
        self.slots_held, self.model_slots_held = _Held(self.env, begin), _Held(self.env, begin)
        self.under_way = _Held(self.env, begin)
        self.begun = 0
        self.ended: list[tuple[float, float]] = []

    def assess(self, load: Load, at: float) -> Process:
        """One assessment, from its arrival to its end."""
        env = self.env
        if at > 0:
            yield env.timeout(at)
        self.begun += 1
        self.under_way.add(1)
        began, others = env.now, load.turns * load.thinking + load.judging
        own = {name: getattr(load, name) / (load.turns + 1) for name in _OWN}
        fixed = {name: cpu / 2 for name, cpu in load.fixed.items()}
        half = {name: cpu / 2 for name, cpu in load.per_turn.items()}
        yield from self._work(fixed)
        for _ in range(load.turns):
            yield from self._work(half)
            seconds = self.dice.uniform(*load.turn_seconds)
            others += seconds
            yield from self._wait(load, self.slots, self.slots_held, 1, seconds)
            yield from self._pass(own)
            waited = seconds + load.thinking * load.thinkers
            yield from self._work(self._with_waiting(half, load, waited))
            yield from self._wait(load, self.model_slots, self.model_slots_held, load.thinkers, load.thinking)
        yield from self._wait(load, self.model_slots, self.model_slots_held, load.judges, load.judging)
        yield from self._pass(own)
        yield from self._work(self._with_waiting(fixed, load, load.judging * load.judges))
        self.under_way.add(-1)
        ours = [load.fixed.get(name, 0) + load.turns * load.per_turn.get(name, 0) for name in self.processes]
        shortest = sum(ours) + others
        self.ended.append((env.now, env.now - began - shortest))

    def _with_waiting(self, cpu: dict[str, float], load: Load, seconds: float) -> dict[str, float]:
        return {name: spent + seconds * load.waiting.get(name, 0) for name, spent in cpu.items()}

    def _work(self, demand: dict[str, float]) -> Process:
        for name, seconds in demand.items():
            if seconds <= 0 or name not in self.processes:
                continue
            server = self.processes[name]
            with server.resource.request() as turn:
                yield turn
                if self.cores is None:
                    yield self.env.timeout(seconds)
                else:
                    with self.cores.resource.request() as core:
                        yield core
                        yield self.env.timeout(seconds)
                        self.cores.note(seconds)
                server.note(seconds)

    def _wait(self, load: Load, slots: simpy.Container, held: "_Held", count: float, seconds: float) -> Process:
        """Have so many activities wait for others; meanwhile there are signs of life, and models read and write."""
        if count <= 0 or seconds <= 0:
            return
        yield slots.get(count)
        held.add(count)
        pieces = math.ceil(seconds / _PIECE)
        waited = seconds * count / pieces
        counted = {"actions": waited * load.heartbeats, "requests": waited * load.waiting_requests}
        if slots is self.model_slots:
            share = waited / load.model_waits
            counted |= {"tokens": load.tokens * share, "calls": load.calls * share}
        for _ in range(pieces):
            yield self.env.timeout(seconds / pieces) & self.env.process(self._pass(counted))
        held.add(-count)
        yield slots.put(count)

    def _pass(self, counted: dict[str, float]) -> Process:
        """What others count, by the name of the rate that they allow."""
        for name, gate in self.gates.items():
            if (seconds := counted.get(name, 0) / self.rates[name]) > 0:
                with gate.resource.request() as turn:
                    yield turn
                    yield self.env.timeout(seconds)
                    gate.note(seconds)


class _Held:
    """A number that goes up and down, and its mean from ``begin`` on."""

    def __init__(self, environment: simpy.Environment, begin: float) -> None:
        self.environment, self.begin = environment, begin
        self.now, self.area, self.since = 0.0, 0.0, begin

    def add(self, change: float) -> None:
        at = self.environment.now
        if at > self.begin:
            self.area += self.now * (at - max(self.since, self.begin))
            self.since = at
        self.now += change

    def mean(self) -> float:
        self.add(0)
        return self.area / max(self.environment.now - self.begin, 1e-9)


def arrivals(count: float, seconds: float, seed: int) -> list[float]:
    """So many moments in a time, on average: each as likely as any other, whatever the others are."""
    dice = random.Random(seed)
    found, at = [], 0.0
    while (at := at + dice.expovariate(count / seconds)) < seconds:
        found.append(at)
    return found


def play(
    loads: Sequence[Load], fleet: Fleet, at: Sequence[float], seed: int, begin: float = 0.0, end: float | None = None
) -> Outcome:
    """Play assessments of several kinds, one kind after the other, each at its moment.

    Args:
        begin, end: what is before and after is played, and not counted; without an end, until the last one has ended.
    """
    night = _Night(fleet, seed, begin)
    for number, moment in enumerate(at):
        night.env.process(night.assess(loads[number % len(loads)], moment))
    night.env.run(until=end)
    span = max(night.env.now - begin, 1e-9)
    servers = {**night.processes, **night.gates, **({"cores": night.cores} if night.cores else {})}
    used = {name: server.busy / server.servers / span for name, server in servers.items()}
    used["slots"] = night.slots_held.mean() / fleet.slots
    used["model slots"] = night.model_slots_held.mean() / fleet.model_slots
    counted = [held_up for at, held_up in night.ended if at >= begin]
    return Outcome(
        begin=begin,
        end=night.env.now,
        used=used,
        ended=len(counted),
        begun=night.begun,
        at_once=night.under_way.mean(),
        held_up=counted,
        last_end=max((at for at, _ in night.ended), default=0.0),
    )
