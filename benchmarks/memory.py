"""The same agent with and without a memory over five days: ``python -m benchmarks.memory`` prints a table.

A rule-based player reads the mails that are new, notes what they say, and acts by its notes with the solvers of the
duties. It passes over each mail with a probability of ``--miss``. It plays three times: it keeps its notes, it forgets
them each night, or it forgets them and reads the whole mailbox again each morning. Everything is played in this
process, as in the audit. ``--write`` also writes docs/memory.md and docs/memory.svg.
"""

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from benchmarks import table as markdown
from proctor.cli.audit import compute_mean
from proctor.client.run_settings import parse_seeds
from proctor.local.audit.players import make_report
from proctor.local.audit.plays import Stage, Turn, perform
from proctor.scenarios.kit.making.days import Day, make_day
from proctor.scenarios.kit.making.draws import Draws
from proctor.scenarios.kit.making.duty import Act, Duty
from purple_sdk.ues import AsyncUESClient
from tests.docs.plots import Line, plotted

ROOT = Path(__file__).parent.parent
FAMILIES = ("the_week", "promises")
MEMORIES = ("keeps notes", "forgets", "reads again")


_PAGE = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
"""The page's text, with places for the figures."""


class Cell(NamedTuple):
    """The mean points of some plays in percent, half of its 95 % interval, and the mails that were read per play."""

    mean: float
    error: float
    mails: float


@dataclass
class Notes:
    """A player's memory: the ids of read mails, the ids of acts that were done, and the time of the last look."""

    read: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)
    looked: datetime | None = None


class Player:
    """Reads, notes and acts.

    Args:
        memory: one of ``MEMORIES``.
        miss: the probability with which the player passes over a mail.
    """

    def __init__(self, day: Day, memory: str, miss: float) -> None:
        self._day, self._memory, self._miss = day, memory, miss
        self._records = {record.id: record for record in day.records}
        self._draws = Draws("memory", day.family, day.difficulty, day.seed)
        self._notes = Notes()
        self.mails = 0

    async def play(self, number: int, now: datetime, client: AsyncUESClient) -> None:
        if number and now.date() > self._day.starts[number - 1].date() and self._memory != MEMORIES[0]:
            self._notes = Notes(looked=None if self._memory == MEMORIES[2] else self._notes.looked)
        await self._read_mails(number, now, client)
        for act in self._find_due_acts(now):
            self._notes.done.add(act.id)
            await perform(act, self._day, client)
        if now == self._day.starts[-1]:
            is_done = {duty.number or 0: any(a.id in self._notes.done for a in duty.acts) for duty in self._day.listed}
            for act in make_report(self._day, {number: "done" if done else "open" for number, done in is_done.items()}):
                await perform(act, self._day, client)

    async def _read_mails(self, number: int, now: datetime, client: AsyncUESClient) -> None:
        notes, offset = self._notes, 0
        while True:
            found = await client.email.query(received_after=notes.looked, limit=1000, offset=offset)
            mails = [mail["message_id"] for mail in found["emails"]]
            self.mails += len(mails)
            notes.read |= {mail for mail in mails if not self._draws.chance(self._miss, mail, number)}
            offset += len(mails)
            if not mails or offset >= found["total_count"]:
                break
        notes.looked = now

    def _find_due_acts(self, now: datetime) -> Iterator[Act]:
        known = [
            fact
            for record in self._records.values()
            if record.id in self._notes.read or record.kind not in ("mail", "text")
            for fact in record.facts
        ]
        for duty in self._day.duties:
            for answer in sorted(duty.solve(known)):
                for act in _acts(duty, answer):
                    if act.at <= now <= act.until and act.id not in self._notes.done:
                        yield act


def _acts(duty: Duty, answer: str) -> Sequence[Act]:
    """The acts that follow from an answer of a duty's solver, right or wrong."""
    if duty.enact is not None:
        return duty.enact(answer)
    people = [person for person in duty.people if person.name in answer]
    return [
        replace(act, to=people[0] if people else act.to)
        for act in duty.acts
        if all(value.value in answer for value in act.values)
    ]


async def measured(family: str, difficulty: int, seeds: Sequence[int], miss: float) -> dict[str, Cell]:
    """The results of the days of a family at a difficulty, for each memory."""
    shares: dict[str, list[float]] = {memory: [] for memory in MEMORIES}
    mails = dict.fromkeys(MEMORIES, 0)
    for seed in seeds:
        day = make_day(ROOT / "scenarios" / "families" / family, difficulty, seed)
        stage = Stage(day)
        for memory in MEMORIES:
            player = Player(day, memory, miss)
            turn: Turn = player.play
            shares[memory].append((await stage.play(turn)).share)
            mails[memory] += player.mails
    return {memory: Cell(*compute_mean(shares[memory]), mails[memory] / len(seeds)) for memory in MEMORIES}


def table(cells: dict[tuple[str, int], dict[str, Cell]]) -> list[str]:
    rows = []
    for (family, difficulty), by_memory in cells.items():
        points = [f"{cell.mean:.0f} ± {cell.error:.0f}" for cell in by_memory.values()]
        read = " / ".join(f"{cell.mails:.0f}" for cell in by_memory.values())
        rows.append([f"`{family}`", str(difficulty), *points, read])
    return markdown(["family", "difficulty", *MEMORIES, "mails read"], rows).splitlines()


def page(lines: Sequence[str], seeds: int, miss: float) -> str:
    return _PAGE.format(table="\n".join(lines), seeds=seeds, miss=f"{miss:.0%}")


def plot(cells: dict[tuple[str, int], dict[str, Cell]], difficulties: Sequence[int]) -> str:
    """The SVG of the players that keep and that forget their notes, by difficulty."""
    lines = [
        Line(f"{family}, {memory}", [cells[family, difficulty][memory][:2] for difficulty in difficulties])
        for family in dict.fromkeys(family for family, _ in cells)
        for memory in MEMORIES[:2]
    ]
    title = "points by difficulty, with and without a memory"
    return plotted(title, "difficulty", [str(difficulty) for difficulty in difficulties], lines, legend=170)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--seeds", default="1-25", help="seeds of the days (1-25)")
    parser.add_argument("--difficulty", default="1-4", help="difficulties (1-4)")
    parser.add_argument("--miss", type=float, default=0.05, help="how likely a mail is passed over (0.05)")
    parser.add_argument("--write", action="store_true", help="write docs/memory.md and docs/memory.svg")
    asked = parser.parse_args()
    seeds, difficulties = parse_seeds(asked.seeds), parse_seeds(asked.difficulty)
    cells = {
        (family, difficulty): asyncio.run(measured(family, difficulty, seeds, asked.miss))
        for family in FAMILIES
        for difficulty in difficulties
    }
    print("\n".join(table(cells)))
    if asked.write:
        (ROOT / "docs" / "memory.md").write_text(page(table(cells), len(seeds), asked.miss), encoding="utf-8")
        (ROOT / "docs" / "memory.svg").write_text(plot(cells, difficulties), encoding="utf-8")


if __name__ == "__main__":
    main()
