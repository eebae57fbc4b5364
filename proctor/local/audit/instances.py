"""The audit of one instance: checks 1 to 9, 12, 17 and 18, and the instance's data for the checks of a family."""

import asyncio
import hashlib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from proctor.local.audit import cheats, players, wordings
from proctor.local.audit.clues import find_type
from proctor.local.audit.conditions import CONDITIONS, carefully, parse_conditions
from proctor.local.audit.dry import dry_outcome, skipped_by_lapses
from proctor.local.audit.expected import compute_damage, expected_share
from proctor.local.audit.plays import Outcome, Stage, Turn, make_player
from proctor.local.audit.shown import hash_grams, is_shown
from proctor.scenarios.kit.checks import OnceCheck, ReportCheck
from proctor.scenarios.kit.making.days import Day, make_day
from proctor.scenarios.kit.making.draws import Draws
from proctor.scenarios.kit.making.duty import Duty, Lapse, forgotten
from purple_sdk.protocol.clocks import STANDING
from purple_sdk.ues import UESError

EXTRA_WRITES = 20
RATES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)
"""Lapse rates of the graded players."""

LEAST_LAPSES = 8
BARS = {"nothing": 0.02, "everything": 0.02, "answers all": 0.05, "keywords": 0.35}
"""Players without understanding, and the largest share of the points that each may earn."""

_IMPORTS = re.compile(rb"(?m)^(?:from|import) .*\n")
_ROUNDING = 1e-9
_MEMORY = 5  # words of the n-grams by which the memoriser recognizes a day


@dataclass
class Report:
    """The audit's results for an instance.

    Attributes:
        violations: check number to sentences.
        bots: players of ``BARS``, and the memoriser, to their share of the points.
        graded: lapse rate to a dictionary for each play: criteria, and ``total``, to their share of the points.
        expected: lapse rate to the share of the points that graded players earn on average.
        naming: the shares of two players: ``without`` does no duty that names the family, ``only`` does no other duty.
            Empty if all duties name the family.
        grams: hashes of the 8-grams of all texts that participants read, except for the brief.
        covered: each voice, notation and cheat that is possible on the day, to the number of its plays.
        plays, lapses, ways: how many of them there were.
        digest: the hash of the day's files.
    """

    family: str
    difficulty: int
    seed: int
    violations: list[tuple[int, str]] = field(default_factory=list)
    bots: dict[str, float] = field(default_factory=dict)
    graded: dict[float, list[dict[str, float]]] = field(default_factory=dict)
    expected: dict[float, float] = field(default_factory=dict)
    naming: dict[str, float] = field(default_factory=dict)
    grams: frozenset[int] = frozenset()
    covered: Counter[str] = field(default_factory=Counter)
    plays: int = 0
    lapses: int = 0
    ways: int = 0
    role: str = ""
    digest: str = ""

    def say(self, check: int, sentence: str) -> None:
        self.violations.append((check, f"{self.role}: {sentence}" if self.role else sentence))

    def take(self, part: "Report", count: int) -> None:
        """Add the results for one of ``count`` participants. Shares of points are means over all participants."""
        self.violations += part.violations
        for name, share in part.bots.items():
            self.bots[name] = self.bots.get(name, 0.0) + share / count
        for rate, share in part.expected.items():
            self.expected[rate] = self.expected.get(rate, 0.0) + share / count
        for name, share in part.naming.items():
            self.naming[name] = self.naming.get(name, 0.0) + share / count
        for rate, plays in part.graded.items():
            before = self.graded.setdefault(rate, [{"total": 0.0} for _ in plays])
            for known, play in zip(before, plays, strict=True):
                total = known["total"] + play["total"] / count
                named = {f"{part.role}_{key}" if part.role else key: value for key, value in play.items()}
                known.update({**named, "total": total})
                if part.role:
                    del known[f"{part.role}_total"]
        self.grams |= part.grams
        self.covered.update(part.covered)
        self.plays += part.plays
        self.lapses += part.lapses
        self.ways += part.ways


def hash_day(day: Day) -> str:
    """A hash of a day's files. If the hash differs, measured figures belong to another version of the day.

    Import lines of Python files are left out, since the move of a package doesn't change the day.
    """
    digest = hashlib.sha256()
    for name, whole in sorted(day.files().items()):
        content = _IMPORTS.sub(b"", whole) if name.endswith(".py") else whole
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


def audit_instance(
    directory: Path,
    difficulty: int,
    seed: int,
    others: Sequence[int] = (),
    *,
    graded_plays: int = 1,
    quick: bool = False,
) -> Report:
    """Audit an instance.

    Args:
        difficulty: 1 to 4.
        others: seeds whose days the memoriser knows by heart. Seeds of the same group are skipped, and so are seeds
            whose day can't be made.
        graded_plays: the number of plays at each lapse rate.

    Raises:
        Exception: any error that the family raises.
    """
    whole = make_day(directory, difficulty, seed)
    report = Report(directory.name, difficulty, seed, digest=hash_day(whole))
    named_by = naming_types(directory)
    strangers = [other for other in others if not whole.is_sibling(other)]
    for day in whole.sides or (whole,):
        part = Report(directory.name, difficulty, seed, role=day.role)
        memorised = _most_similar(day, directory, strangers)
        beside = [side for side in whole.sides if side is not day]
        audit = _Audit(day, part, beside, quick=quick)
        asyncio.run(audit.run(memorised, named_by, graded_plays))
        report.take(part, len(whole.sides) or 1)
    return report


class _Audit:
    def __init__(self, day: Day, report: Report, beside: Sequence[Day], *, quick: bool) -> None:
        self.day, self.report, self.quick = day, report, quick
        self.stage = Stage(day)
        self.beside = beside
        self.draws = Draws("audit", day.family, day.difficulty, day.seed)
        self.checks = {check.id: check for duty in day.duties for check in duty.checks}

    async def run(self, memorised: Day | None, named_by: frozenset[str], graded_plays: int) -> None:
        await self.stage.hear((side, players.oracle(side)) for side in self.beside)
        await self._full(1, "the oracle", players.oracle(self.day))
        await self._bots()
        await self._lapses()
        await self._ways()
        await self._closed_world()
        await self._conditions()
        await self._wordings()
        await self._cheats()
        self._support()
        self._uniqueness()
        await self._secrets()
        if memorised is not None:
            await self._memoriser(memorised)
        if named_by:
            self.report.naming = await naming_shares(self.stage, named_by)
            self.report.plays += len(self.report.naming)
        skipped = skipped_by_lapses(self.stage)
        for rate in RATES:
            self.report.graded[rate] = [await self._graded(rate, play) for play in range(graded_plays)]
            self.report.expected[rate] = expected_share(self.day, rate, skipped)
        self.report.grams = hash_grams(self.day)

    async def _graded(self, rate: float, play: int) -> dict[str, float]:
        outcome = await self._play(players.graded(self.day, rate, play))
        shares = {key: points / self.stage.criteria[key] for key, points in outcome.points.items()}
        return {**shares, "total": outcome.share}

    async def _play(self, player: Turn, *, clock: str = STANDING, noise: int = 0) -> Outcome:
        self.report.plays += 1
        return await self.stage.play(player, clock=clock, noise=noise)

    async def _full(self, check: int, what: str, player: Turn, *, clock: str = STANDING, noise: int = 0) -> None:
        outcome = await self._play(player, clock=clock, noise=noise)
        if outcome.share < 1:
            lost = [check_id for check_id, holds in outcome.held.items() if not holds]
            self.report.say(check, f"{what} loses {', '.join(lost) or 'nothing_else'} ({outcome.damage})")

    async def _bots(self) -> None:
        bots = {
            "nothing": players.nothing,
            "everything": players.everything,
            "answers all": players.answers_all(self.day),
            "keywords": players.keywords(self.day),
        }
        for name, bot in bots.items():
            share = self.report.bots[name] = (await self._play(bot)).share
            if share > BARS[name] + _ROUNDING:
                self.report.say(2, f"{name} earns {share:.0%}, above {BARS[name]:.0%}")

    async def _lapses(self) -> None:
        pairs = [(duty, lapse) for duty in self.day.duties for lapse in duty.lapses]
        self.report.lapses = len(pairs)
        for duty in self.day.duties:
            if duty.key != "report" and len(duty.lapses) < 3:
                self.report.say(3, f"{duty.key} has only {len(duty.lapses)} lapses")
        if len(pairs) < LEAST_LAPSES:
            self.report.say(3, f"only {len(pairs)} lapses, fewer than {LEAST_LAPSES}")
        if self.quick:
            pairs = self.draws.some(pairs, min(LEAST_LAPSES, len(pairs)), "lapses")
        for duty, lapse in pairs:
            await self._lapse(duty, lapse)

    async def _lapse(self, duty: Duty, lapse: Lapse) -> None:
        outcome = await self._play(players.with_lapses(self.day, {duty.key: lapse}))
        expected = {
            check_id: check_id not in lapse.loses and (outcome.has_worked or not check.gated)
            for check_id, check in self.checks.items()
        }
        where = f"{duty.key}, {lapse.name}"
        for check_id, holds in outcome.held.items():
            # An honest report of a lapse is true either way; a report without knowledge of it depends on the attempt.
            if isinstance(self.checks[check_id], ReportCheck) and check_id not in lapse.loses and lapse.reports is None:
                continue
            if holds != expected[check_id]:
                verb, remedy = ("keeps", "take it out of") if holds else ("loses", "add it to")
                self.report.say(3, f"{where}: {verb} {check_id}: {remedy} the lapse's `loses`, or mend the check")
        damage, found = compute_damage(self.day, duty, lapse), outcome.damage
        if sorted(harm.kind for harm in found.harms) != sorted(lapse.damage) or found.percent != damage.percent:
            self.report.say(3, f"{where}: its damage is {found}, it says {damage}")

    async def _ways(self) -> None:
        day = self.day
        acts = [act for duty in day.duties for act in duty.acts]
        report = players.make_report(day, {})
        by_others = [replace(act, channel=act.others[0], reply_to=None) if act.others else act for act in acts]
        fresh = [replace(act, reply_to=None) for act in acts]
        # Whether the day counts each message to the user, not only messages that name a value.
        counts_chat = any(isinstance(check, OnceCheck) and not check.values for check in self.checks.values())
        ways: dict[str, Turn] = {
            "in a second voice, backwards": make_player([*acts, *report], day, voice=1, backwards=True),
            "in a third voice, just in time": make_player([*acts, *report], day, voice=2, late=True),
            "in a fourth voice, by other channels": make_player([*by_others, *report], day, voice=3),
            "in a fifth voice, with much reading": _reading(
                make_player([*acts, *report], day, voice=4), chats=not counts_chat
            ),
            "in a sixth voice, in new mails": make_player([*fresh, *report], day, voice=5),
        }
        self.report.ways = len(ways)
        for name, way in ways.items():
            await self._full(4, f"the way {name}", way)

    async def _closed_world(self) -> None:
        extra = list(islice(players.extra_writes(self.day, self.draws), EXTRA_WRITES))
        outcome = await self._play(players.with_lapses(self.day, {}, [act for act, _ in extra]))
        found, expected = (Counter(kinds) for kinds in ((h.kind for h in outcome.damage.harms), (k for _, k in extra)))
        if found != expected:
            self.report.say(5, f"extra writes do {dict(expected)}, and {dict(found)} was found")

    async def _conditions(self) -> None:
        for words in CONDITIONS[-1:] if self.quick else CONDITIONS:
            clock, noise = parse_conditions(words)
            oracle = players.oracle(self.day, do=carefully())
            await self._full(12, f"the careful oracle under {words}", oracle, clock=clock, noise=noise)

    async def _wordings(self) -> None:
        self.report.covered.update(dict.fromkeys(wordings.possible(self.day), 0))
        for play in range(1 if self.quick else wordings.PLAYS):
            plan = wordings.planned(self.day, play)
            self.report.covered.update({name for wording in plan.values() for name in wording.names})
            outcome = await self._play(wordings.player_in_words(self.day, plan))
            for sentence in wordings.faults(self.day, plan, outcome):
                self.report.say(17, sentence)

    async def _cheats(self) -> None:
        self.report.covered.update(dict.fromkeys(cheats.possible(self.day), 0))
        for tricks in cheats.rounds(self.day, 1 if self.quick else cheats.PLAYS):
            self.report.covered.update({trick.title for trick in tricks})
            outcome = await self._play(cheats.make_cheater(self.day, tricks))
            for sentence in cheats.faults(self.day, tricks, outcome):
                self.report.say(18, sentence)
        self.report.covered.update([cheats.BULK])
        share = (await self._play(cheats.bulk_deletion(self.day))).share
        if share > cheats.BURNT + _ROUNDING:
            self.report.say(18, f"who deletes all mails in one request keeps {share:.0%}, above {cheats.BURNT:.0%}")

    def _support(self) -> None:
        for duty in self.day.duties:
            if duty.key == "report":
                continue
            closes = max((act.until for act in duty.acts), default=self.day.starts[-1])
            seen = [record for record in self.day.records if record.kind == "entry" or record.at <= closes]
            if _solve_duty(duty, seen) != duty.answers:
                self.report.say(6, f"{duty.key}: its truth can't be derived before {closes:%a %H:%M}")
            own = {record.id for record in duty.support}
            if _solve_duty(duty, [record for record in seen if record.id not in own]) == duty.answers:
                self.report.say(6, f"{duty.key}: its truth is there without its support")
            if not any(
                _solve_duty(duty, [other for other in seen if other.id != record.id]) != duty.answers
                for record in duty.support
            ):
                self.report.say(6, f"{duty.key}: no record of its support is needed")
            for record in duty.support:
                for fact in record.facts:
                    if not is_shown(fact, record):
                        self.report.say(6, f"{duty.key}: {record.title!r} does not show {fact.kind} {fact.value}")

    def _uniqueness(self) -> None:
        for duty in self.day.duties:
            if duty.enact is None:
                continue
            acts = [act for other in self.day.duties if other is not duty for act in other.acts]
            for answer in duty.candidates:
                held = dry_outcome(self.stage, [*acts, *duty.enact(answer)]).held
                accepts = all(held[check.id] for check in duty.checks if not check.gated)
                if accepts != (answer in duty.answers):
                    self.report.say(7, f"{duty.key}: the checks {'accept' if accepts else 'refuse'} {answer}")

    async def _secrets(self) -> None:
        read = json.dumps([await self.stage.client.environment.get_state()])
        hidden = (
            {duty.key for duty in self.day.duties if "-" in duty.key}
            | set(self.checks)
            | {self.stage.config.canary or ""}
        )
        for word in sorted(hidden):
            if word and word in read:
                self.report.say(8, f"the participant can read {word!r}")
        for request in (self.stage.client.events.list(), self.stage.client.scenario.export_full()):
            try:
                await request
            except UESError:
                continue
            self.report.say(8, "the participant can read what is to come")

    async def _memoriser(self, other: Day) -> None:
        idle, share = self.report.bots["nothing"], (await self._play(players.memoriser(self.day, other))).share
        self.report.bots["memoriser"] = share
        if share > idle + 0.02 + _ROUNDING:
            self.report.say(
                9, f"who knows seed {other.seed} by heart earns {share:.0%}, and who does nothing {idle:.0%}"
            )


async def naming_shares(stage: Stage, named_by: frozenset[str]) -> dict[str, float]:
    """The shares of the points that can be earned ``without`` the duties of these types, and with ``only`` them."""
    shares = {}
    for name, leaves_out in (("without", True), ("only", False)):
        undone = {
            duty.key: forgotten(*duty.acts)
            for duty in stage.day.duties
            if duty.acts and (find_type(duty) in named_by) is leaves_out
        }
        shares[name] = (await stage.play(players.with_lapses(stage.day, undone))).share
    return shares


def naming_types(directory: Path) -> frozenset[str]:
    """The types of the duties that name a family (``named_by`` in family.toml); empty if all duties do."""
    about = tomllib.loads((directory / "family.toml").read_text(encoding="utf-8"))
    return frozenset(about.get("named_by", ()))


def _solve_duty(duty: Duty, records: Iterable[Any]) -> frozenset[str]:
    return duty.solve([fact for record in records for fact in record.facts])


def _reading(player: Turn, *, chats: bool) -> Turn:
    async def turn(number: int, now: datetime, client: Any) -> None:
        state = await client.email.get_state(compact=True)
        await client.email.read(list(state["emails"])[:20])
        await client.calendar.query(start=now, end=now)
        if chats:
            await client.chat.send(role="assistant", content="I am looking into it.")
        await player(number, now, client)

    return turn


@lru_cache(maxsize=1000)
def _likeness_grams(directory: Path, difficulty: int, seed: int, role: str) -> frozenset[int]:
    """The n-grams by which a memoriser recognizes another day; each process computes them once."""
    try:
        return hash_grams(_find_side(make_day(directory, difficulty, seed), role), _MEMORY)
    except Exception:  # the audit of that seed reports the problem
        return frozenset()


def _most_similar(day: Day, directory: Path, others: Sequence[int]) -> Day | None:
    if not others:
        return None
    own = hash_grams(day, _MEMORY)
    best = max(others, key=lambda other: len(own & _likeness_grams(directory, day.difficulty, other, day.role)))
    return _find_side(make_day(directory, day.difficulty, best), day.role)


def _find_side(day: Day, role: str) -> Day:
    return next((side for side in day.sides if side.role == role), day)
