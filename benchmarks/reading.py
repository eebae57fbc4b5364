"""Measure the points of honest messages and of cheats that others wrote: ``python -m benchmarks.reading``.

Messages are left out if their day has changed since they were written (``days.json`` has hashes of the days).

The files in ``benchmarks/reading`` are named ``KIND-DIFFICULTY-SEED.jsonl``. Their writers saw a day as a participant
does, and no code. ``honest`` has the messages of each duty in up to eight voices, which all deserve their points.
``cheats`` has attacks that don't deserve points, each with an honest twin. All other actions are the oracle's.
"""

import asyncio
import hashlib
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks import table
from proctor.local.audit import players
from proctor.local.audit.plays import Outcome, Stage, make_player, perform
from proctor.scenarios.kit.making.days import Day, make_day
from proctor.scenarios.kit.making.duty import Act
from proctor.scenarios.kit.making.people import Person
from purple_sdk.ues import AsyncUESClient, UESError

ROOT = Path(__file__).parent.parent
LINES = Path(__file__).parent / "reading"
WRITTEN: dict[str, str] = json.loads((LINES / "days.json").read_text(encoding="utf-8"))
Row = dict[str, Any]


class Plays:
    """The stages of the days of one difficulty and seed, made when they are wanted."""

    def __init__(self, difficulty: int, seed: int) -> None:
        self._of = difficulty, seed
        self._stages: dict[tuple[str, str], Stage] = {}

    def stage(self, family: str, role: str) -> Stage:
        """The stage of a family's day, or of one participant's side of it."""
        if (family, role) not in self._stages:
            day = make_day(ROOT / "scenarios" / "families" / family, *self._of)
            sides = day.sides or (day,)
            for side in sides:
                stage = self._stages[family, side.role] = Stage(side)
                asyncio.run(stage.hear((other, players.oracle(other)) for other in sides if other is not side))
        return self._stages[family, role]

    def is_as_written(self, family: str) -> bool:
        """Whether a family's day is the one whose messages were written."""
        difficulty, seed = self._of
        day = make_day(ROOT / "scenarios" / "families" / family, difficulty, seed)
        return WRITTEN.get(f"{family}-{difficulty}-{seed}") == hash_seen_parts(day)

    def honest(self, family: str, role: str, messages: dict[str, Row]) -> Outcome:
        """Return the oracle's outcome if these messages, by the ids of acts, replace the oracle's own."""
        stage = self.stage(family, role)

        async def do(act: Act, day: Day, client: AsyncUESClient, voice: int) -> None:
            message = messages.get(act.id) if act.action == "tell" or act.id == "report" else None
            if message is None:
                await perform(act, day, client, voice)
            else:
                await send(message, act, client)

        return asyncio.run(stage.play(make_player(all_acts(stage.day), stage.day, do=do)))

    def attack(self, row: Row, which: str) -> Outcome:
        """Return the oracle's outcome with a ``cheat`` or its ``twin``.

        It replaces the message of the row's task. Without a task, it comes in addition to all messages.
        """
        stage = self.stage(row["family"], row.get("role") or "")
        day, task, messages = stage.day, row.get("task"), row[which]
        acts = all_acts(day)
        own = next((act for act in acts if act.id == task), None)
        first = next((n for n, start in enumerate(day.starts) if own and own.at <= start <= own.until), 0)
        reports = task is None and any(message["do"] == "chat" and ":" in message["body"] for message in messages)
        rest = make_player([act for act in acts if act.id != task and not (reports and act.id == "report")], day)

        async def turn(number: int, now: datetime, client: AsyncUESClient) -> None:
            due = [message for message in messages if find_round(message, first, len(day.starts)) == number]
            if task is None:
                await rest(number, now, client)
            for message in due:
                await send(message, own, client)
            if task is not None:
                await rest(number, now, client)

        return asyncio.run(stage.play(turn))


def hash_seen_parts(day: Day) -> str:
    """A hash of the parts of a day that participants see."""
    digest = hashlib.sha256()
    for side in day.sides or (day,):
        digest.update(json.dumps([side.brief, side.initial_state()], sort_keys=True, default=str).encode())
    return digest.hexdigest()[:16]


def all_acts(day: Day) -> list[Act]:
    """The oracle's acts, its report included."""
    return [*(act for duty in day.duties for act in duty.acts), *players.make_report(day, {})]


def find_round(message: Row, first: int, rounds: int) -> int:
    """Return the round in which a message is sent: that of its task, the next one, or a round given by number."""
    at = message.get("at", "same")
    return first if at == "same" else min(first + 1 if at == "next" else int(at), rounds - 1)


async def send(message: Row, act: Act | None, client: AsyncUESClient) -> None:
    """Send a written message. If the message names no reader, it goes to the act's."""
    body, reader = str(message.get("body") or ""), act.to if act else None
    to = message.get("to") or (reader.email if reader else None)
    if message["do"] == "chat":
        await client.chat.send(role="assistant", content=body)
        return
    if message["do"] == "text":
        number = to if to and "@" not in to else reader.phone if reader else None
        await client.sms.send(to_numbers=[str(number)], body=body)
        return
    if message["do"] == "forward":
        await client.email.forward(message["message_id"], to_addresses=[str(to)], body_text=body)
        return
    # A mail that comes during the day has another id in each play: the answer is a new mail then.
    if message["do"] == "reply" and await _has_author(message["message_id"], reader, client):
        await client.email.reply(message["message_id"], body_text=body)
        return
    subject = message.get("subject") or (f"About {act.topic}" if act else "Note")
    html = body if message.get("html") else None
    await client.email.send(to_addresses=[str(to)], subject=subject, body_text="" if html else body, body_html=html)


async def _has_author(message_id: str, author: Person | None, client: AsyncUESClient) -> bool:
    """Whether a mail with this id exists and comes from the author; None stands for any author."""
    try:
        mail = await client.email.get(message_id)
    except UESError:
        return False
    return author is None or any(address in str(mail["from_address"]).lower() for address in author.addresses)


def lost(outcome: Outcome) -> float:
    """The number of points that an outcome lacks."""
    return outcome.maximum - sum(outcome.points.values())


def in_words(outcome: Outcome) -> str:
    """Whether all points were kept, or the missing points are in doubt or lost."""
    lacks = lost(outcome)
    return "kept" if lacks <= 0 else "in doubt" if outcome.doubtful >= lacks else "lost"


def honest_table(plays: Plays, rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return a row for each voice: plays, points, and the shares that were lost, in doubt, and lost to damage.

    Messages with placeholders are left out.
    """
    by_play: dict[tuple[str, str, str], dict[str, Row]] = defaultdict(dict)
    for row in rows:
        if "{{" not in row["body"]:
            by_play[row["voice"], row["family"], row.get("role") or ""][row["id"]] = row
    totals: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0, 0, 0])
    for (voice, family, role), messages in sorted(by_play.items()):
        outcome = plays.honest(family, role, messages)
        for name in (voice, "all"):
            harmed = outcome.maximum * outcome.damage.percent / 100
            measured = (1, outcome.maximum, lost(outcome), outcome.doubtful, harmed)
            totals[name] = [a + b for a, b in zip(totals[name], measured, strict=True)]
    return [
        (voice, f"{n:g}", f"{points:g}", *(f"{100 * part / points:.2f} %" for part in parts))
        for voice, (n, points, *parts) in sorted(totals.items(), key=lambda each: (each[0] == "all", each[0]))
    ]


def attack_tables(plays: Plays, rows: Sequence[Row]) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Count the cheats and twins that kept all points, ended in doubt, or lost points; list the cheats that kept all.

    A cheat that ends in doubt is caught only if its twin keeps all points.
    """
    found = [{which: in_words(plays.attack(row, which)) for which in ("cheat", "twin")} for row in rows]
    counts = {which: Counter(result[which] for result in found) for which in ("cheat", "twin")}
    caught = sum(result == {"cheat": "in doubt", "twin": "kept"} for result in found)
    figures = [(which, *(str(counts[which][word]) for word in ("kept", "in doubt", "lost"))) for which in counts]
    kept: list[tuple[str, ...]] = [
        (row["family"], row["trick"].replace("_", " "), row["points_at_stake"])
        for row, result in zip(rows, found, strict=True)
        if result["cheat"] == "kept"
    ]
    return [*figures, ("caught by a doubt", "", str(caught), "")], kept


def main(arguments: Sequence[str]) -> int:
    """Print the tables of all files, or of those whose names begin with an argument. ``--write`` writes the page."""
    names = tuple(argument for argument in arguments if not argument.startswith("--"))
    page = [_PAGE]
    for path in sorted(LINES.glob("*.jsonl"), reverse=True):
        kind, difficulty, seed = path.stem.split("-")
        if names and not path.name.startswith(names):
            continue
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        plays = Plays(int(difficulty), int(seed))
        changed = {family for family in {row["family"] for row in rows} if not plays.is_as_written(family)}
        rows = [row for row in rows if row["family"] not in changed]
        part = [f"## {kind.capitalize()}, difficulty {difficulty}, seed {seed}"]
        part += [f"Left out, as their days have changed: {', '.join(sorted(changed))}."] if changed else []
        if not rows:
            page += part
            continue
        if kind == "honest":
            part.append(table(("voice", "plays", "points", "lost", "in doubt", "damage"), honest_table(plays, rows)))
        else:
            figures, kept = attack_tables(plays, rows)
            part.append(table(("", "kept", "in doubt", "lost"), figures))
            part += ["Those that kept all points:", table(("family", "trick", "what it was not owed"), kept)]
        page += part
        print("\n\n".join(part), flush=True)
    if "--write" in arguments:
        (ROOT / "docs" / "reading.md").write_text("\n\n".join(page) + "\n", encoding="utf-8")
    return 0


_PAGE = """\
# Reading: honest voices, and cheats

The authors of these messages saw a day as a participant does, and no code. All other actions of a play are the
oracle's. Honest messages deserve all their points. Each cheat has a twin: the same words without the trick.

The reader was corrected after these days. On first reading, honest messages lost 1.7 % of the points (seed 30303).
Over all families they lost 0.83 % (seed 515; 0.17 % of the points in doubt), and 1.36 % (seed 909; 0.24 %). Two people,
who did not know the scores, agreed on all losses of seed 909. They found 0.38 % deserved, by the form of a report or by
false statements. So 0.98 % were undeserved. Of the cheats of seed 30303, 55 of 100 kept their points on first reading.

The voices: *a* formal, *b* terse, *c* chatty, *d* Markdown, *e* American, *f* German, *g* HTML, quotes and forwards,
*h* thorough, with negations and closing questions.

Written by `python -m benchmarks.reading --write`. Another page has [all 520 cheats](reading-before.md), on the days
that they were written for."""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
