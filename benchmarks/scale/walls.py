"""How much of each resource a night takes, how many of each that makes, and which is used up first."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import mean

from benchmarks.bill.record import Bill
from benchmarks.scale.load import Load, load_of
from benchmarks.scale.night import Fleet
from benchmarks.scale.settings import Settings

TEMPORAL = "Temporal"
_MOST = 1e9
_STEPS = 200


@dataclass(frozen=True)
class Resource:
    """Something that a night uses.

    Attributes:
        name: what tables call it; ``key`` is the simulation's name for it, empty where that has none.
        demand: what so many assessments a second take of it in a second; never less for more of them.
        capacity: what there is of it in a second.
        moves: how to have more of it.
    """

    name: str
    key: str
    demand: Callable[[float], float]
    capacity: float
    moves: str

    def used(self, a_second: float) -> float:
        """The share that so many assessments a second use."""
        return self.demand(a_second) / self.capacity

    def most(self, seconds: float) -> float:
        """How many assessments a night of so many seconds can have at most."""
        less, more = 0.0, _MOST
        if self.used(more) < 1:
            return math.inf
        for _ in range(_STEPS):
            middle = (less + more) / 2
            less, more = (middle, more) if self.used(middle) < 1 else (less, middle)
        return less * seconds


@dataclass(frozen=True)
class Sized:
    """A fleet for a night, and all that it uses.

    Attributes:
        loads_at: what assessments are like where so many begin in a second: the more wait, the rarer each gives signs
            of life.
    """

    loads_at: Callable[[float], tuple[Load, ...]]
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

    def on_average(self, a_second: float, of: Callable[[Load], float]) -> float:
        """What one assessment takes where so many begin in a second."""
        return mean(map(of, self.loads_at(a_second)))


def loads_of(bill: Bill, settings: Settings, lively: float = 1.0) -> tuple[Load, ...]:
    """What is played in a night like this."""
    night = settings.night
    return tuple(
        load_of(bill, bill.play(name, night.participant, with_models=night.with_models), night, lively)
        for name in night.scenarios
    )


def liveliness(bill: Bill, settings: Settings, workers: int, a_second: float) -> float:
    """How often what waits gives signs of life, as a share of what was measured with a few that waited."""
    return liveliness_of(bill, settings, workers, a_second * need(lambda load: load.waits, loads_of(bill, settings)))


def liveliness_of(bill: Bill, settings: Settings, workers: int, waiting: float) -> float:
    """The same where so many activities wait at once."""
    measured, fleet = bill.waiting.heartbeats, settings.fleet
    if not measured or not waiting:
        return 1.0
    rare = max(workers * fleet.heartbeats_per_second / waiting, 1 / fleet.longest_pause)
    return min(rare / measured, 1.0)


def memory_of_one(bill: Bill, process: str) -> float:
    """Bytes that one more assessment at play adds to a process: between the two largest loads that were measured, since
    below them there are processes for scenarios' code that are only begun.
    """
    *_, less, more = sorted(bill.memory, key=lambda memory: memory.at_once)
    return max((more.peak[process] - less.peak[process]) / (more.at_once - less.at_once), 0.0)


def size(bill: Bill, settings: Settings) -> Sized:
    """As many processes as leave each used by ``used_at_most``, where the settings don't say how many there are.

    Raises:
        LookupError: a scenario or participant that was not measured.
        ValueError: memory in which a process has no room.
    """
    night, fleet = settings.night, settings.fleet
    a_second = night.assessments / night.seconds
    room = _rooms(bill, settings)
    workers = fleet.worker_processes or 1
    while fleet.worker_processes is None:
        loads = loads_of(bill, settings, liveliness(bill, settings, workers, a_second))
        needs = max(need(load_need, loads) for load_need in _worker_needs(bill, settings, room["worker"]))
        if needs * a_second <= fleet.used_at_most * workers:
            break
        workers += 1

    def enough(given: int | None, process: str) -> int:
        loads = loads_of(bill, settings)
        takes = max(need(lambda load: load.cpu(process), loads), 0.0)
        if process in room:
            takes = max(takes, need(lambda load: load.shortest * memory_of_one(bill, process) / room[process], loads))
        return given or max(1, math.ceil(takes * a_second / fleet.used_at_most))

    simulators, gateways = enough(fleet.simulator_hosts, "simulator"), enough(fleet.gateways, "gateway")

    def loads_at(per_second: float) -> tuple[Load, ...]:
        return loads_of(bill, settings, liveliness(bill, settings, workers, per_second))

    resources = _resources(bill, settings, loads_at, workers, simulators, gateways)
    keys = Load.__dataclass_fields__
    return Sized(
        loads_at=loads_at,
        workers=workers,
        simulators=simulators,
        gateways=gateways,
        resources=resources,
        fleet=Fleet(
            processes={"worker": workers, "simulator": simulators, "gateway": gateways},
            slots=workers * fleet.slots,
            model_slots=workers * fleet.model_slots,
            rates={each.key: each.capacity for each in resources if each.key in keys},
        ),
    )


def need(of: Callable[[Load], float], loads: tuple[Load, ...]) -> float:
    """What an assessment takes on average."""
    return mean(map(of, loads))


def _rooms(bill: Bill, settings: Settings) -> dict[str, float]:
    """Bytes for assessments in a process of each kind."""
    room = {}
    for name in ("worker", "simulator"):
        empty = min(memory.peak[name] for memory in bill.memory)
        room[name] = settings.fleet.memory_gb * 1e9 - empty
        if room[name] <= 0:
            given = settings.fleet.memory_gb
            raise ValueError(f"fleet.memory_gb is {given:g}: a {name} has {empty / 1e9:.2f} GB with one assessment")
    return room


def _worker_needs(bill: Bill, settings: Settings, room: float) -> list[Callable[[Load], float]]:
    """What of a worker process an assessment takes, in seconds of it: by CPU, memory, slots, what is begun."""
    fleet = settings.fleet
    return [
        lambda load: load.cpu("worker"),
        lambda load: load.shortest * memory_of_one(bill, "worker") / room,
        lambda load: load.participant_seconds / fleet.slots,
        lambda load: load.model_waits / fleet.model_slots,
        lambda load: load.waits_begun / fleet.waits_begun_per_second,
    ]


def _resources(
    bill: Bill,
    settings: Settings,
    loads_at: Callable[[float], tuple[Load, ...]],
    workers: int,
    simulators: int,
    gateways: int,
) -> tuple[Resource, ...]:
    fleet, limits, room = settings.fleet, settings.limits, _rooms(bill, settings)
    cloud = "it rises with its use; Temporal Resource Units; more namespaces; rarer signs of life"
    provider = "a higher quota; a second provider; fewer criteria that a model judges"
    more = "more of them, on any machine"

    def resource(name: str, key: str, of: Callable[[Load], float], capacity: float, moves: str) -> Resource:
        return Resource(name, key, lambda a_second: a_second * need(of, loads_at(a_second)), capacity, moves)

    def memory(name: str) -> Callable[[Load], float]:
        return lambda load: load.shortest * memory_of_one(bill, name)

    found = (
        resource("worker processes", "worker", lambda load: load.cpu("worker"), workers, more),
        resource("workers' memory", "", memory("worker"), workers * room["worker"], "more workers"),
        resource(
            "workers' slots", "slots", lambda load: load.participant_seconds, workers * fleet.slots, "more workers"
        ),
        resource(
            "workers' slots for models",
            "model slots",
            lambda load: load.model_waits,
            workers * fleet.model_slots,
            "more workers",
        ),
        resource(
            "turns begun by workers",
            "waits_begun",
            lambda load: load.waits_begun,
            workers * fleet.waits_begun_per_second,
            "more workers",
        ),
        resource("simulator hosts", "simulator", lambda load: load.cpu("simulator"), simulators, more),
        resource("simulators' memory", "", memory("simulator"), simulators * room["simulator"], more),
        resource("gateways", "gateway", lambda load: load.cpu("gateway"), gateways, "more of them, behind a proxy"),
        resource("Temporal Cloud: actions", "actions", lambda load: load.all_actions, limits.actions_per_second, cloud),
        resource(
            "Temporal Cloud: requests", "requests", lambda load: load.all_requests, limits.requests_per_second, cloud
        ),
        resource("model provider: tokens", "tokens", lambda load: load.tokens, limits.tokens_per_minute / 60, provider),
        resource("model provider: calls", "calls", lambda load: load.calls, limits.calls_per_minute / 60, provider),
        resource(
            "store: writes",
            "writes",
            lambda load: load.writes,
            limits.writes_per_second,
            "more prefixes: the store splits them by itself",
        ),
    )
    # Worked out once for each intensity that is asked for: the search for a wall asks often.
    return tuple(replace(each, demand=_remembered(each.demand)) for each in found if each.demand(1.0) > 0)


def _remembered(demand: Callable[[float], float]) -> Callable[[float], float]:
    known: dict[float, float] = {}

    def of(a_second: float) -> float:
        if a_second not in known:
            known[a_second] = demand(a_second)
        return known[a_second]

    return of
