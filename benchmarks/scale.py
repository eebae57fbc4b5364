"""The cost and the limits of a night of assessments: ``python -m benchmarks.scale``.

It combines the measurements of ``python -m benchmarks.bill`` (``benchmarks/bill.json``) with the night, limits and
prices of ``benchmarks/scale.toml``. ``--write`` writes the tables into docs/SCALE.md; without it they are printed.
Nothing is simulated: queues, networks and other users of a machine are left out.
"""

import argparse
import math
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import mean
from types import SimpleNamespace
from typing import Any

from benchmarks import table
from benchmarks.bill.record import Bill, Play
from benchmarks.evaluator import PROCESSES

DEFAULTS = Path(__file__).with_name("scale.toml")
DOCUMENT = Path(__file__).parents[1] / "docs" / "SCALE.md"
EVALUATOR = tuple(PROCESSES.values())
_CLOUD = "it rises with its use; Temporal Resource Units; more namespaces; rarer heartbeats"
_PROVIDER = "a higher quota; a second provider; fewer criteria that a model judges"
_PART = re.compile(r"(<!-- written by benchmarks.scale: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def read_settings(own: Path | None = None, **night: Any) -> SimpleNamespace:
    """Return the settings of ``scale.toml``, overridden by those of ``own`` and of ``night``. Raises ValueError."""
    settings = tomllib.loads(DEFAULTS.read_text(encoding="utf-8"))
    others: dict[str, Any] = tomllib.loads(own.read_text(encoding="utf-8")) if own else {}
    for part, values in [*others.items(), ("night", {name: v for name, v in night.items() if v is not None})]:
        if part not in settings or not isinstance(values, dict):
            raise ValueError(f"{part} is not a table of {DEFAULTS.name}, which has {', '.join(settings)}")
        for name, value in values.items():
            if name not in settings[part]:
                raise ValueError(f"{part}.{name} is unknown. Use one of {', '.join(settings[part])}")
            if type(settings[part][name]) in (int, float) and (type(value) not in (int, float) or value < 0):
                raise ValueError(f"{part}.{name} is {value!r}: give a number from 0 on")
            settings[part][name] = value
    if min(settings["night"]["assessments"], settings["night"]["hours"]) <= 0:
        raise ValueError("night.assessments and night.hours must be more than 0")
    return SimpleNamespace(**{part: SimpleNamespace(**values) for part, values in settings.items()})


@dataclass(frozen=True)
class Need:
    """The needs of one assessment, in seconds and counts. ``lasts`` is the time from start to end if nothing queues."""

    play: Play
    cpu: dict[str, float]
    lasts: float
    participant: float
    models: float
    actions: float
    requests: float
    tokens: float
    writes: float
    reads: float


def compute_need(bill: Bill, play: Play, settings: SimpleNamespace) -> Need:
    """The needs of an assessment like a measured play, in a night."""
    night, thinking, waiting = settings.night, play.thinking, bill.waiting
    participant = play.turns * mean(night.turn_seconds)
    models = (thinking.characters_waits + thinking.judges_waits) * night.model_seconds
    waits, answers = participant + models, (thinking.characters_depth + thinking.judges_depth) * night.model_seconds
    return Need(
        play=play,
        cpu={name: play.cpu.get(name, 0.0) + waits * waiting.cpu.get(name, 0.0) for name in EVALUATOR},
        lasts=sum(play.cpu.get(name, 0.0) for name in EVALUATOR) + participant + answers,
        participant=participant,
        models=models,
        actions=play.played_actions + waits * waiting.heartbeats,
        requests=play.played_requests + waits * waiting.requests,
        tokens=play.judges.input + play.characters.input + night.output_tokens * play.calls,
        writes=night.store_writes.get(play.scenario, play.store.objects + play.archive.objects),
        reads=night.store_reads.get(play.scenario, 0.0),
    )


@dataclass(frozen=True)
class Night:
    """A night's needs (means of its scenarios' assessments), and the processes that it takes."""

    settings: SimpleNamespace
    needs: list[Need]
    bill: Bill

    def mean(self, name: str) -> float:
        return float(mean(getattr(need, name) for need in self.needs))

    def cpu(self, process: str) -> float:
        return mean(need.cpu[process] for need in self.needs)

    @property
    def a_second(self) -> float:
        return float(self.settings.night.assessments / self.settings.night.hours / 3600)

    def processes(self, name: str) -> int:
        """Return the settings' number of processes of a kind, or enough for a load up to ``used_at_most`` of each."""
        fleet = self.settings.fleet
        per_process = [self.cpu(name)]
        if name == "worker":
            per_process += [self.mean("participant") / fleet.slots, self.mean("models") / fleet.model_slots]
        fixed = {"worker": fleet.worker_processes, "simulator": fleet.simulator_hosts, "gateway": fleet.gateways}[name]
        return int(fixed or max(1, math.ceil(max(per_process) * self.a_second / fleet.used_at_most)))

    @property
    def gigabytes(self) -> dict[str, float]:
        """The gigabytes that the night leaves in the store, in the archive and in Temporal's histories."""
        plays, count = [need.play for need in self.needs], self.settings.night.assessments / 1e9
        store, archive = mean(play.store.bytes for play in plays), mean(play.archive.bytes for play in plays)
        histories = mean(play.history_bytes for play in plays)
        return {"store": store * count, "archive": archive * count, "histories": histories * count}

    @property
    def vcpus(self) -> int:
        return sum(map(self.processes, ("worker", "simulator", "gateway")))


def plan(bill: Bill, settings: SimpleNamespace) -> Night:
    """Return the night of the settings. Raises LookupError if a scenario or participant was not measured."""
    night = settings.night
    plays = [bill.play(name, night.participant, with_models=night.with_models) for name in night.scenarios]
    return Night(settings, [compute_need(bill, play, settings) for play in plays], bill)


def walls(night: Night) -> list[tuple[str, float, str]]:
    """Return the resources, scarcest first: name, assessments a night that it allows, and a way to get more of it."""
    fleet, limits, workers = night.settings.fleet, night.settings.limits, night.processes("worker")
    rows = [
        ("worker processes", workers, night.cpu("worker"), "more of them, on any machine"),
        ("workers' slots", workers * fleet.slots, night.mean("participant"), "more workers"),
        ("workers' slots for models", workers * fleet.model_slots, night.mean("models"), "more workers"),
        ("simulator hosts", night.processes("simulator"), night.cpu("simulator"), "more of them, on any machine"),
        ("gateways", night.processes("gateway"), night.cpu("gateway"), "more of them, behind a proxy"),
        ("Temporal Cloud: actions", limits.actions_per_second, night.mean("actions"), _CLOUD),
        ("Temporal Cloud: requests", limits.requests_per_second, night.mean("requests"), _CLOUD),
        ("model provider: tokens", limits.tokens_per_minute / 60, night.mean("tokens"), _PROVIDER),
        ("model provider: calls", limits.calls_per_minute / 60, mean(n.play.calls for n in night.needs), _PROVIDER),
        ("store: writes", limits.writes_per_second, night.mean("writes"), "more prefixes: the store splits them"),
    ]
    nights = [
        (name, capacity / takes * night.settings.night.hours * 3600, moves)
        for name, capacity, takes, moves in rows
        if takes
    ]
    return sorted(nights, key=lambda wall: wall[1])


def action_cost(prices: SimpleNamespace, actions: float) -> float:
    """The price of a month's billable actions, by the steps of the tariff."""
    steps: list[tuple[float, float]] = [(0, 0.0), *prices.actions, (math.inf, prices.beyond)]
    return sum(max(min(actions / 1e6, to) - start, 0) * price for (start, _), (to, price) in pairwise(steps))


def money(night: Night) -> dict[str, float]:
    """The price of a night, by item; the nights of a month share monthly bills."""
    of, prices, plays = night.settings.night, night.settings.prices, [need.play for need in night.needs]
    count, nights = of.assessments, of.nights_a_month
    uncached = mean(play.judges.uncached + play.characters.uncached for play in plays)
    read = mean(play.judges.input + play.characters.input for play in plays)
    written = mean(play.calls for play in plays) * of.output_tokens
    tokens = uncached * prices.input + (read - uncached) * prices.cached_input + written * prices.output
    kept = night.mean("lasts") / 7200 * prices.history_active_gbh + of.retention_days * 24 * prices.history_retained_gbh
    costs = {
        f"models ({prices.model})": count / 1e6 * tokens if of.with_models else 0.0,
        "Temporal Cloud, actions": action_cost(prices, count * night.mean("actions") * nights) / nights,
        "Temporal Cloud, histories": night.gigabytes["histories"] * kept,
        "processors": night.vcpus * of.hours * prices.vcpu_hour,
        "memory": night.vcpus * night.settings.fleet.memory_gb * of.hours * prices.memory_gb_hour,
        "store, kept": night.gigabytes["store"] * of.kept_days / 30 * prices.store_gb_month,
        "store and archive, written": count / 1000 * night.mean("writes") * prices.store_1000_writes,
        "store and archive, read": count / 1000 * night.mean("reads") * prices.store_1000_reads,
        "archive, a year of it": night.gigabytes["archive"] * 12 * prices.store_gb_month,
    }
    return {**costs, "all": sum(costs.values())}


def number(value: float) -> str:
    """A number for people: two or three significant digits, and commas."""
    if value >= 100:
        return f"{round(value, 2 - math.floor(math.log10(value))):,.0f}"
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def tables(night: Night) -> dict[str, str]:
    of, bill, fleet = night.settings.night, night.bill, night.settings.fleet
    machine, trial, whole = bill.machine, bill.trial, sum(night.cpu(name) for name in EVALUATOR)
    busy = "" if machine.load < 1 else f", which others used, too (a load of {machine.load:g})"
    plays = [compute_need(bill, play, night.settings) for play in bill.plays if play.participant == of.participant]
    columns = [f"{need.play.scenario}{', with models' if need.play.with_models else ', offline'}" for need in plays]
    per: dict[str, Callable[[Need], str]] = {
        "turns; activities": lambda n: f"{n.play.turns}; {n.play.activities:.0f}",
        "CPU, in all": lambda n: f"{sum(n.play.cpu.get(name, 0) for name in EVALUATOR):.2f} s",
        **{f"· {name}": partial(lambda name, n: f"{n.play.cpu.get(name, 0):.2f} s", name) for name in EVALUATOR},
        "CPU while waiting": lambda n: f"{sum(bill.waiting.cpu.values()) * (n.participant + n.models):.2f} s",
        "store": lambda n: f"{n.play.store.bytes / 1e6:.2f} MB, {n.play.store.objects:.0f} objects",
        "archive": lambda n: f"{n.play.archive.bytes / 1e6:.2f} MB, {n.play.archive.objects:.0f} objects",
        "history": lambda n: f"{n.play.events:.0f} events, {n.play.history_bytes / 1e6:.2f} MB",
        "Temporal actions, while playing": lambda n: f"{n.play.played_actions:.0f}",
        "· actions while waiting": lambda n: number(n.actions - n.play.played_actions),
        "requests to Temporal, while playing": lambda n: f"{n.play.played_requests:.0f}",
        "· requests while waiting": lambda n: number(n.requests - n.play.played_requests),
        "judges' calls": lambda n: f"{n.play.judges.calls:,}",
        "· tokens in": lambda n: f"{n.play.judges.input:,} ({n.play.judges.uncached:,} uncached)",
        "characters' calls; tokens in": lambda n: f"{n.play.characters.calls:,}; {n.play.characters.input:,}",
    }
    a_night = [
        ("assessments a second", f"{night.a_second:.2f}"),
        ("one lasts", f"{night.mean('lasts') / 60:.1f} minutes"),
        ("under way at once", number(night.a_second * night.mean("lasts"))),
        ("worker processes", f"{night.processes('worker')}, each a core and {fleet.memory_gb:g} GB"),
        ("simulator hosts; gateways", f"{night.processes('simulator')}; {night.processes('gateway')}"),
        ("Temporal actions", f"{number(night.a_second * night.mean('actions'))} a second"),
        ("requests to Temporal", f"{number(night.a_second * night.mean('requests'))} a second"),
        ("Temporal, self-hosted", f"{number(night.a_second * night.cpu('Temporal'))} cores of the dev server"),
        (
            f"a machine of {machine.cores} cores with all of it",
            f"at most {number(machine.cores * of.hours * 3600 / whole)}",
        ),
        ("store; archive; histories", "; ".join(f"{number(size)} GB" for size in night.gigabytes.values())),
        ("models", f"{number(night.a_second * 60 * night.mean('tokens') / 1e6)} million tokens a minute"),
    ]
    return {
        "machine": f"Measured on {machine.measured_at:%d %B %Y} at commit `{machine.commit}`: {machine.cores} cores of "
        f"{machine.processor}{busy}, Python {machine.python}, Temporal's dev server.",
        "bill": table(["one assessment", *columns], [[what, *map(cell, plays)] for what, cell in per.items()]),
        "memory": table(
            ["peak memory", *(f"{memory.at_once} at once" for memory in bill.memory)],
            [[name, *(f"{memory.peak[name] / 1e6:.0f} MB" for memory in bill.memory)] for name in EVALUATOR],
        ),
        "trial": ""
        if trial is None
        else f"A terminal trial (`{trial.task}`, in runs of {trial.trials}) takes {sum(trial.cpu.values()):.2f} s of "
        f"the evaluator's CPU, {sum(trial.actions.values()):.0f} actions and {trial.events:.0f} events.",
        "night": table([f"{of.assessments:,} in {of.hours:g} hours", "takes"], a_night),
        "money": table(
            ["example, in US dollars", f"{of.assessments:,}", "one, in cents"],
            [(what, number(cost), f"{cost / of.assessments * 100:.3f}") for what, cost in money(night).items()],
        ),
        "walls": table(
            ["wall", "assessments a night", f"used at {of.assessments:,}", "what moves it"],
            [(name, number(most), f"{of.assessments / most:.0%}", moves) for name, most, moves in walls(night)],
        ),
    }


def written(text: str, night: Night) -> str:
    """A document with the tables between the comments that name them."""
    return _PART.sub(lambda part: f"{part[1]}\n\n{tables(night)[part[2]]}\n\n{part[3]}", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--settings", type=Path, help="a file like benchmarks/scale.toml; what it leaves out stays")
    parser.add_argument("--assessments", type=int, help="how many a night")
    parser.add_argument("--hours", type=float, help="how long the night is")
    parser.add_argument("--write", action="store_true", help="write docs/SCALE.md, with the settings that come with it")
    arguments = parser.parse_args()
    if arguments.write and (arguments.settings or arguments.assessments or arguments.hours):
        parser.error("--write takes no other option: leave the others out")
    try:
        night = plan(
            Bill.load(), read_settings(arguments.settings, assessments=arguments.assessments, hours=arguments.hours)
        )
    except (OSError, ValueError, LookupError) as error:
        parser.error(str(error))
    if arguments.write:
        DOCUMENT.write_text(written(DOCUMENT.read_text(encoding="utf-8"), night), encoding="utf-8")
    else:
        print("\n\n".join(tables(night)[name] for name in ("night", "money", "walls")))


if __name__ == "__main__":
    main()
