"""How much of each resource a night takes, how many of each that makes, and which is used up first."""

import math
from dataclasses import dataclass
from statistics import mean

from benchmarks.bill.record import Bill
from benchmarks.scale.load import Load, load_of
from benchmarks.scale.night import Fleet
from benchmarks.scale.settings import Settings

TEMPORAL = "Temporal"


@dataclass(frozen=True)
class Resource:
    """Something that a night uses.

    Attributes:
        name: what tables call it; ``key`` is the simulation's name for it, empty where that has none.
        each: what one assessment takes of it. capacity: what there is of it in a second.
        unit: of ``each``. moves: how to have more of it.
    """

    name: str
    key: str
    each: float
    capacity: float
    unit: str
    moves: str

    def used(self, per_second: float) -> float:
        """The share that so many assessments a second use."""
        return self.each * per_second / self.capacity

    def most(self, seconds: float) -> float:
        """How many assessments a night of so many seconds can have of it at most."""
        return seconds * self.capacity / self.each if self.each else math.inf


@dataclass(frozen=True)
class Sized:
    """A fleet for a night, and all that it uses."""

    loads: tuple[Load, ...]
    workers: int
    simulators: int
    gateways: int
    resources: tuple[Resource, ...]
    fleet: Fleet

    @property
    def vcpus(self) -> int:
        """Cores, one for each process."""
        return self.workers + self.simulators + self.gateways

    def walls(self, seconds: float) -> list[Resource]:
        """All resources, the first to be used up first."""
        return sorted(self.resources, key=lambda resource: resource.most(seconds))


def loads_of(bill: Bill, settings: Settings) -> tuple[Load, ...]:
    """What is played in a night like this."""
    night = settings.night
    return tuple(
        load_of(bill, bill.play(name, night.participant, with_models=night.with_models), night)
        for name in night.scenarios
    )


def memory_of_one(bill: Bill, process: str) -> float:
    """Bytes that one more assessment at play adds to a process: the slope through all measurements, at least 0."""
    counts = [float(memory.at_once) for memory in bill.memory]
    held = [float(memory.peak[process]) for memory in bill.memory]
    middle, level = mean(counts), mean(held)
    spread = sum((count - middle) ** 2 for count in counts)
    slope = sum((c - middle) * (h - level) for c, h in zip(counts, held, strict=True)) / spread if spread else 0.0
    return max(slope, 0.0)


def size(bill: Bill, settings: Settings) -> Sized:
    """As many processes as leave each used by ``used_at_most``, where the settings don't say how many there are."""
    night, fleet, limits = settings.night, settings.fleet, settings.limits
    loads = loads_of(bill, settings)
    a_second = night.assessments / night.seconds

    def of(process: str) -> float:
        return mean(load.cpu(process) for load in loads)

    def enough(*needs: float) -> int:
        return max(1, math.ceil(max(needs) * a_second / fleet.used_at_most))

    lasts = mean(load.shortest for load in loads)
    waits = mean(load.participant_seconds for load in loads)
    thinks = mean(load.model_waits for load in loads)
    room = {
        name: fleet.memory_gb * 1e9 - min(memory.peak[name] for memory in bill.memory)
        for name in ("worker", "simulator")
    }
    held = {name: lasts * memory_of_one(bill, name) for name in room}
    workers = fleet.worker_processes or enough(
        mean(load.waits_begun for load in loads) / fleet.waits_begun_per_second,
        of("worker"),
        held["worker"] / room["worker"],
        waits / fleet.slots,
        thinks / fleet.model_slots,
    )
    simulators = fleet.simulator_hosts or enough(of("simulator"), held["simulator"] / room["simulator"])
    gateways = fleet.gateways or enough(of("gateway"))
    cloud = "a namespace's limit rises with its use; Temporal Resource Units; more namespaces; fewer heartbeats"
    provider = "a higher quota; a second provider; fewer criteria that a model judges"
    resources = (
        Resource("worker processes", "worker", of("worker"), workers, "s of CPU", "more of them, on any machine"),
        Resource("workers' memory", "", held["worker"], workers * room["worker"], "byte seconds", "more workers"),
        Resource("workers' slots", "slots", waits, workers * fleet.slots, "s", "more workers"),
        Resource("workers' slots for models", "model slots", thinks, workers * fleet.model_slots, "s", "more workers"),
        Resource(
            "turns begun by workers",
            "waits_begun",
            mean(load.waits_begun for load in loads),
            workers * fleet.waits_begun_per_second,
            "turns",
            "more workers",
        ),
        Resource("simulator hosts", "simulator", of("simulator"), simulators, "s of CPU", "more of them"),
        Resource(
            "simulators' memory", "", held["simulator"], simulators * room["simulator"], "byte seconds", "more of them"
        ),
        Resource("gateways", "gateway", of("gateway"), gateways, "s of CPU", "more of them, behind a proxy"),
        Resource(
            "Temporal Cloud's actions a second",
            "actions",
            mean(load.all_actions for load in loads),
            limits.actions_per_second,
            "actions",
            cloud,
        ),
        Resource(
            "Temporal Cloud's requests a second",
            "requests",
            mean(load.all_requests for load in loads),
            limits.requests_per_second,
            "requests",
            cloud,
        ),
        Resource(
            "a model provider's tokens a minute",
            "tokens",
            mean(load.tokens for load in loads),
            limits.tokens_per_minute / 60,
            "tokens",
            provider,
        ),
        Resource(
            "a model provider's calls a minute",
            "calls",
            mean(load.calls for load in loads),
            limits.calls_per_minute / 60,
            "calls",
            provider,
        ),
        Resource(
            "the store's writes a second",
            "writes",
            mean(load.writes for load in loads),
            limits.writes_per_second,
            "objects",
            "more prefixes: the store splits them by itself",
        ),
    )
    return Sized(
        loads=loads,
        workers=workers,
        simulators=simulators,
        gateways=gateways,
        resources=tuple(each for each in resources if each.each),
        fleet=Fleet(
            processes={"worker": workers, "simulator": simulators, "gateway": gateways},
            slots=workers * fleet.slots,
            model_slots=workers * fleet.model_slots,
            rates={each.key: each.capacity for each in resources if each.key in Load.__dataclass_fields__},
        ),
    )
