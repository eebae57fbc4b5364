"""Baselines under noise, under a clock, and by habit: ``python -m benchmarks.conditions``.

The last ones always act, always ask, never act, or decide. Everything is played in this process, as in the audit.
Prints three tables; ``--write`` also writes docs/conditions.md and its plots.
"""

import argparse
import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from benchmarks import table as markdown
from proctor.cli.audit import compute_mean
from proctor.client.run_settings import parse_seeds
from proctor.local.audit import players
from proctor.local.audit.conditions import carefully
from proctor.local.audit.plays import Perform, Stage, Turn, perform
from proctor.scenarios.kit.making.days import Day, make_day
from proctor.scenarios.kit.making.duties.choosing import TURNS
from proctor.scenarios.kit.making.duty import Act, Duty, Lapse
from purple_sdk.protocol.clocks import STANDING
from purple_sdk.protocol.instances import group_of
from purple_sdk.ues import AsyncUESClient
from purple_sdk.ues.errors import ServerError, UESError
from tests.docs.plots import Line, plotted

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
FAMILIES = ("clear_the_day", "deadline_desk", "flight_cancelled", "inbox_flood", "invoice_fraud", "standing_orders")
DECIDING = ("which_alex", "too_risky_to_guess")
NOISE = (0, 1, 2, 3)
CLOCKS = (STANDING, "fixed:10", "fixed:60", "fixed:180", "fixed:600")
"""Simulated seconds that each request costs."""

_READ = 12  # mails that the reader opens in a turn, by one request each
_REPEATS = 3

Means = Mapping[str, Sequence[tuple[float, float]]]
"""The mean in percent and half of its 95 % interval, at each place, by player."""

_PAGE = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
"""The page's text, with places for the figures."""


def trying(times: int) -> Perform:
    """Return a performer that tries each act up to ``times`` times, even if a failed try took effect."""

    async def do(act: Act, day: Day, client: AsyncUESClient, voice: int = 0) -> None:
        for _ in range(times):
            with suppress(ServerError):
                await perform(act, day, client, voice)
                return

    return do


def reading(player: Turn) -> Turn:
    """Opens mails one by one before it plays a turn."""

    async def turn(number: int, now: datetime, client: AsyncUESClient) -> None:
        with suppress(UESError):
            mails = (await client.email.query(folder="inbox", limit=_READ))["emails"]
            for mail in mails:
                await client.email.get(mail["message_id"])
        await player(number, now, client)

    return turn


def in_noise(day: Day) -> dict[str, Turn]:
    return {
        "careful": players.oracle(day, do=carefully()),
        "repeats": players.oracle(day, do=trying(_REPEATS)),
        "gives up": players.oracle(day, do=trying(1)),
        "graded, p = 0.1": players.graded(day, 0.1, 0, do=carefully()),
    }


def by_the_clock(day: Day) -> dict[str, Turn]:
    return {"prompt": players.oracle(day), "reader": reading(players.oracle(day))}


def find_kind(duty: Duty) -> str | None:
    """Return the right choice of acting, asking and refusing; None for duties that don't depend on it."""
    word = duty.title.rpartition(": ")[2]
    return word if word in TURNS else None


HABITS: dict[str, dict[str, tuple[str, ...]]] = {
    "decides each": {},
    "always acts": {
        "ask": ("guesses wrong", "guesses that it is wanted"),
        "refuse": ("sends it to namesake 1", "orders above the limits"),
    },
    "always asks": {"act": ("asks what can be found out",), "refuse": ("asks what can be found out",)},
    "never acts": {"act": ("forgotten",), "ask": ("forgotten",)},
}
"""By player and right choice, the names of the lapses that the player commits; a duty has one of these lapses."""


def find_lapses(habit: str, duties: Sequence[Duty]) -> dict[str, Lapse]:
    found: dict[str, Lapse] = {}
    for duty in duties:
        names = HABITS[habit].get(find_kind(duty) or "", ())
        found.update((duty.key, lapse) for lapse in duty.lapses if lapse.name in names)
    return found


async def measured(
    of: Callable[[Day], Mapping[str, Turn]], days: Sequence[Day], conditions: Sequence[tuple[str, int]]
) -> Means:
    """The means of players over days, at each (clock, noise)."""
    shares: dict[str, list[list[float]]] = {}
    for day in days:
        stage = Stage(day)
        for place, (clock, noise) in enumerate(conditions):
            for name, player in of(day).items():
                by_place = shares.setdefault(name, [[] for _ in conditions])
                by_place[place].append((await stage.play(player, clock=clock, noise=noise)).share)
    return {name: [compute_mean(values) for values in by_place] for name, by_place in shares.items()}


async def decided(days: Sequence[Day]) -> tuple[Means, dict[str, float]]:
    """Return each habit's means by the right choice, and its percentage of groups that were passed completely."""
    means, whole = {}, {}
    for habit in HABITS:
        shares: dict[str, list[float]] = {kind: [] for kind in TURNS}
        passed: dict[tuple[str, int], list[bool]] = {}
        for day in days:
            stage = Stage(day)
            outcome = await stage.play(players.with_lapses(day, find_lapses(habit, day.duties)))
            passed.setdefault((day.family, group_of(day.seed, day.group)), []).append(outcome.share == 1)
            for duty in day.duties:
                if kind := find_kind(duty):
                    shares[kind].append(outcome.points[duty.key] / stage.criteria[duty.key])
        means[habit] = [compute_mean(shares[kind]) for kind in TURNS]
        whole[habit] = 100 * sum(map(all, passed.values())) / len(passed)
    return means, whole


def table(first: str, places: Sequence[str], means: Means, more: Mapping[str, float] | None = None) -> str:
    """A Markdown table; ``more`` has the last column."""
    rows = []
    for name, by_place in means.items():
        cells = [f"{mean:.0f} ± {error:.0f}" if error else f"{mean:.0f}" for mean, error in by_place]
        rows.append([name, *cells, *([f"{more[name]:.0f}"] if more else [])])
    return markdown([first, *places, *(["groups passed"] if more else [])], rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conditions", description=__doc__)
    parser.add_argument("--seeds", default="1-10", help="seeds of the days (1-10)")
    parser.add_argument("--groups", default="1-18", help="seeds of the days in groups of three (1-18)")
    parser.add_argument("--difficulty", type=int, default=2, help="of all days (2)")
    parser.add_argument("--write", action="store_true", help="write docs/conditions.md and its plots")
    asked = parser.parse_args()
    folder, seeds = ROOT / "scenarios" / "families", parse_seeds(asked.seeds)
    days = [make_day(folder / name, asked.difficulty, seed) for name in FAMILIES for seed in seeds]
    groups = [
        make_day(folder / name, asked.difficulty, seed) for name in DECIDING for seed in parse_seeds(asked.groups)
    ]
    levels, clocks = [str(level) for level in NOISE], [clock.removeprefix("fixed:") for clock in CLOCKS]
    noise = asyncio.run(measured(in_noise, days, [(STANDING, level) for level in NOISE]))
    print(by_noise := table("player", [f"noise {level}" for level in levels], noise), flush=True)
    clock = asyncio.run(measured(by_the_clock, days, [(pace, 0) for pace in CLOCKS]))
    print(
        by_clock := table("player", [f"{seconds} s" if seconds != STANDING else seconds for seconds in clocks], clock)
    )
    habits, whole = asyncio.run(decided(groups))
    print(by_kind := table("player", [f"{kind} is right" for kind in TURNS], habits, whole))
    if asked.write:
        named = {"families": FAMILIES, "deciding": DECIDING}
        words = {key: ", ".join(f"[{name}](families/{name}.md)" for name in names) for key, names in named.items()}
        figures = {"difficulty": asked.difficulty, "seeds": len(seeds), "read": _READ}
        page = _PAGE.format(noise=by_noise, clock=by_clock, decided=by_kind, **words, **figures)
        (DOCS / "conditions.md").write_text(page, encoding="utf-8")
        plots = {"noise": ("level of noise", levels, noise), "clock": ("seconds a request", clocks, clock)}
        plots["deciding"] = ("what is right", list(TURNS), habits)
        for name, (across, places, means) in plots.items():
            lines = [Line(*mean) for mean in means.items()]
            (DOCS / f"{name}.svg").write_text(plotted(f"points by {across}", across, places, lines), encoding="utf-8")


if __name__ == "__main__":
    main()
