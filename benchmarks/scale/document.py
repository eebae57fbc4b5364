"""The tables of docs/SCALE.md, written from what was measured and simulated."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from benchmarks.bill.record import Bill, Play
from benchmarks.scale.load import EVALUATOR, load_of
from benchmarks.scale.outcome import Simulated
from benchmarks.scale.settings import Settings
from benchmarks.scale.walls import TEMPORAL, Sized, memory_of_one

DOCUMENT = Path(__file__).parents[2] / "docs" / "SCALE.md"
_PART = re.compile(r"(<!-- written by benchmarks.scale: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def written(text: str, bill: Bill, settings: Settings, sized: Sized, simulated: Simulated) -> str:
    """A document with its tables written anew, between the remarks that name them."""
    parts = {
        "machine": _machine(bill),
        "bill": _bill(bill, settings),
        "memory": _memory(bill),
        "trial": _trial(bill),
        "night": _night(bill, settings, sized),
        "money": _money(bill, settings, sized),
        "walls": _walls(settings, sized),
        "parts": _parts(simulated),
        "checks": _checks(simulated),
    }
    return _PART.sub(lambda found: f"{found[1]}\n{parts[found[2]]}\n\n{found[3]}", text)


def number(value: float) -> str:
    """As people read it: two or three digits that mean something, and commas."""
    if value == math.inf:
        return "no end"
    if value >= 100:
        return f"{round(value, 2 - math.floor(math.log10(value))):,.0f}"
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def share(used: float) -> str:
    """How much of something is used."""
    return f"{used:.0f} times" if used >= 9.5 else f"{used:.1f} times" if used > 1.005 else f"{used * 100:.0f} %"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """In Markdown; the first column is text."""
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _machine(bill: Bill) -> str:
    of = bill.machine
    busy = "" if of.load < 1 else f", which others used, too (a load of {of.load:g})"
    return (
        f"Measured on {of.measured_at:%d %B %Y} at commit `{of.commit}`: {of.cores} cores of {of.processor}{busy}, "
        f"Python {of.python}, Temporal's dev server."
    )


def _bill(bill: Bill, settings: Settings) -> str:
    plays = [play for play in bill.plays if play.participant == settings.night.participant]

    def row(what: str, of: "list[str]") -> list[str]:
        return [what, *of]

    def waits(play: Play) -> float:
        return load_of(bill, play, settings.night).waits

    rows = [
        row("turns", [str(play.turns) for play in plays]),
        row("CPU, in all", [f"{_cpu(play):.2f} s" for play in plays]),
        *(row(f"· {name}", [f"{play.cpu.get(name, 0):.2f} s" for play in plays]) for name in EVALUATOR),
        row("· of all, beside turns", [f"{sum(play.cpu_fixed.values()):.2f} s" for play in plays]),
        row("a turn, all in", [f"{_cpu(play) / play.turns * 1000:.0f} ms" for play in plays]),
        row(
            "CPU while others are waited for",
            [f"{waits(play) * sum(bill.waiting.cpu.values()):.2f} s" for play in plays],
        ),
        row("store", [f"{play.store.bytes / 1e6:.2f} MB, {play.store.objects:.0f} objects" for play in plays]),
        row("archive", [f"{play.archive.bytes / 1e6:.2f} MB, {play.archive.objects:.0f} objects" for play in plays]),
        row("history", [f"{play.events:.0f} events, {play.history_bytes / 1e6:.2f} MB" for play in plays]),
        row("activities", [f"{play.activities:.0f}" for play in plays]),
        row("Temporal actions, played", [f"{play.played_actions:.0f}" for play in plays]),
        row("· heartbeats while waiting", [number(waits(play) * bill.waiting.heartbeats) for play in plays]),
        row("requests to Temporal, played", [f"{play.played_requests:.0f}" for play in plays]),
        row("· while waiting", [number(waits(play) * bill.waiting.requests) for play in plays]),
        row("judges' calls", [f"{play.judges.calls:,}" for play in plays]),
        row("· tokens in", [f"{play.judges.input:,} ({play.judges.uncached:,} uncached)" for play in plays]),
        row("characters' calls", [f"{play.characters.calls:,}" for play in plays]),
        row("· tokens in", [f"{play.characters.input:,}" for play in plays]),
    ]
    names = [f"{play.scenario}{', with models' if play.with_models else ', offline'}" for play in plays]
    return table(["one assessment", *names], rows)


def _cpu(play: Play) -> float:
    return sum(play.cpu.get(name, 0) for name in EVALUATOR)


def _memory(bill: Bill) -> str:
    rows = [
        [
            name,
            *(f"{memory.peak[name] / 1e6:.0f} MB" for memory in bill.memory),
            f"{memory_of_one(bill, name) / 1e6:.1f} MB",
        ]
        for name in EVALUATOR
    ]
    return table(["peak memory", *(f"{memory.at_once} at once" for memory in bill.memory), "one more adds"], rows)


def _trial(bill: Bill) -> str:
    trial = bill.trial
    if trial is None:
        return "A terminal trial was not measured with these."
    return (
        f"A terminal trial (`{trial.task}`, in runs of {trial.trials}) takes {sum(trial.cpu.values()):.2f} s of the "
        f"evaluator's CPU, {sum(trial.actions.values()):.0f} actions, {trial.events:.0f} events "
        f"({trial.history_bytes / 1e3:.0f} kB) and {trial.archive.bytes / 1e3:.0f} kB in the archive; what it takes in "
        "its containers stands in [benchmarks](../benchmarks/README.md#what-a-terminal-trial-costs)."
    )


def _night(bill: Bill, settings: Settings, sized: Sized) -> str:
    night, fleet = settings.night, settings.fleet
    a_second = night.assessments / night.seconds
    loads = sized.loads_at(a_second)
    lasts = mean(load.shortest for load in loads)
    actions = mean(load.all_actions for load in loads)
    of_server = mean(load.cpu(TEMPORAL) for load in loads)
    whole = mean(sum(map(load.cpu, EVALUATOR)) for load in loads)
    stored, archived, history = _bytes(bill, settings)
    rows = [
        ["assessments a second", f"{a_second:.2f}"],
        ["one lasts", f"{lasts / 60:.1f} minutes"],
        ["under way at once", number(a_second * lasts)],
        ["worker processes", f"{sized.workers}, each a core and {fleet.memory_gb:g} GB"],
        ["simulator hosts", f"{sized.simulators}"],
        ["gateways", f"{sized.gateways}"],
        [
            "Temporal actions",
            f"{number(night.assessments * actions / 1e6)} million: {number(a_second * actions)} a second",
        ],
        ["requests to Temporal", f"{number(a_second * mean(load.all_requests for load in loads))} a second"],
        [
            "Temporal, self-hosted",
            f"{number(a_second * of_server)} cores, were it the dev server, of which a core does "
            f"{number(actions / of_server)} actions a second",
        ],
        [
            f"one machine of {bill.machine.cores} cores with all of it (`proctor up`)",
            f"at most {number(bill.machine.cores * night.seconds / whole)} such assessments a night",
        ],
        [
            "store",
            f"{number(night.assessments * stored / 1e9)} GB a night, "
            f"{number(night.assessments * stored * night.kept_days / 1e12)} TB after {night.kept_days:g} days; "
            f"{number(a_second * mean(load.writes for load in loads))} writes a second",
        ],
        ["archive", f"{number(night.assessments * archived / 1e9)} GB a night"],
        [
            "histories",
            f"{number(night.assessments * history / 1e9)} GB a night, "
            f"{number(night.assessments * history * night.retention_days / 1e12)} TB in {night.retention_days:g} days",
        ],
        [
            "models",
            f"{number(a_second * 60 * mean(load.calls for load in loads))} calls and "
            f"{number(a_second * 60 * mean(load.tokens for load in loads) / 1e6)} million tokens a minute",
        ],
    ]
    return table([f"{night.assessments:,} in {night.hours:g} hours", "takes"], rows)


def _plays(bill: Bill, settings: Settings) -> list[Play]:
    night = settings.night
    return [bill.play(name, night.participant, with_models=night.with_models) for name in night.scenarios]


def _bytes(bill: Bill, settings: Settings) -> tuple[float, float, float]:
    """What one assessment leaves in store, archive and histories, on average."""
    plays = _plays(bill, settings)
    return (
        mean(play.store.bytes for play in plays),
        mean(play.archive.bytes for play in plays),
        mean(play.history_bytes for play in plays),
    )


def money(bill: Bill, settings: Settings, sized: Sized) -> dict[str, float]:
    """What a night costs, by what it is spent on; what is billed by the month is shared by its nights."""
    night, prices = settings.night, settings.prices
    plays, nights = _plays(bill, settings), settings.night.nights_a_month
    stored, archived, history = _bytes(bill, settings)
    loads = sized.loads_at(night.assessments / night.seconds)
    actions = night.assessments * mean(load.all_actions for load in loads)
    lasts = mean(load.shortest for load in loads) / 3600
    uncached = mean(play.judges.uncached + play.characters.uncached for play in plays) if night.with_models else 0
    read = mean(play.judges.input + play.characters.input for play in plays) if night.with_models else 0
    said = mean(play.calls for play in plays) * night.output_tokens if night.with_models else 0
    gb_hours = night.assessments * history / 1e9
    return {
        f"models ({prices.model})": night.assessments
        / 1e6
        * (uncached * prices.input + (read - uncached) * prices.cached_input + said * prices.output),
        "Temporal Cloud, actions": prices.of_actions(actions * nights) / nights,
        "Temporal Cloud, histories": gb_hours
        * (lasts / 2 * prices.history_active_gbh + night.retention_days * 24 * prices.history_retained_gbh),
        "processors": sized.vcpus * night.hours * prices.vcpu_hour,
        "memory": sized.vcpus * settings.fleet.memory_gb * night.hours * prices.memory_gb_hour,
        "store, kept": night.assessments * stored / 1e9 * night.kept_days / 30 * prices.store_gb_month,
        "store and archive, written and listed": night.assessments
        / 1000
        * (mean(load.writes for load in loads) * prices.store_1000_writes),
        "store and archive, read": night.assessments
        / 1000
        * (mean(load.reads for load in loads) * prices.store_1000_reads),
        "archive, a year of it": night.assessments * archived / 1e9 * 12 * prices.store_gb_month,
    }


def _money(bill: Bill, settings: Settings, sized: Sized) -> str:
    spent = money(bill, settings, sized)
    count = settings.night.assessments
    rows = [[what, f"{number(cost)}", f"{cost / count * 100:.3f}"] for what, cost in spent.items()]
    whole = sum(spent.values())
    rows.append(["**all**", f"**{number(whole)}**", f"**{whole / count * 100:.2f}**"])
    return table(["example, in US dollars", f"{count:,}", "one, in cents"], rows)


def _walls(settings: Settings, sized: Sized) -> str:
    seconds, wanted = settings.night.seconds, settings.night.assessments / settings.night.seconds
    rows = [
        [
            str(place),
            wall.name,
            number(wall.most(seconds)),
            share(wall.used(wanted)),
            wall.moves,
        ]
        for place, wall in enumerate(sized.walls(seconds), start=1)
    ]
    return table(
        ["", "wall", "assessments a night", f"at {settings.night.assessments:,}", "what moves it"],
        rows,
    )


def _parts(simulated: Simulated) -> str:
    rows = [
        [
            part.what,
            f"{part.assessments:,}",
            number(part.at_once),
            ", ".join(f"{name} {share(used)}" for name, used in _most_used(part.used)),
            f"{part.held_up[0]:,.0f} s, {part.held_up[1]:,.0f} s",
        ]
        for part in simulated.parts
    ]
    return table(["simulated", "a night", "at once", "most used", "held up (half, 95 %)"], rows)


def _most_used(used: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(used.items(), key=lambda item: -item[1])[:3]


def _checks(simulated: Simulated) -> str:
    rows = [
        [
            check.what,
            "unknown" if check.load is None else f"{check.load:.1f}",
            f"{check.measured:.1f} s",
            f"{check.simulated:.1f} s",
            f"{check.deviation * 100:+.0f} %",
        ]
        for check in simulated.checks
    ]
    return table(["played for real", "load before", "measured", "simulated", "deviation"], rows)
