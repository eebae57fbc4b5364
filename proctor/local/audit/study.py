"""Shortcuts, constants and equal answers that many days of a family and difficulty give away (checks 14 to 16).

Days are only made, not played. ``known.toml`` in a folder of families lists violations that aren't fixed yet.
"""

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from proctor.local.audit.clues import Choice, Decision, find_choices, find_decisions, find_type, split_answers
from proctor.local.audit.shortcuts import Learned, learn_choices, learn_decisions
from proctor.scenarios import kit
from proctor.scenarios.kit.making.days import Day, make_day
from proctor.scenarios.kit.making.duty import Duty
from purple_sdk.protocol.instances import group_of

STUDIED = range(1001, 1251)
"""The seeds of the days: the learner is trained on four fifths of them, and tested on the rest."""

COUNTED = 25
"""A count has to vary within this number of days."""

LEAST_CHANCE, LEAST_APART = 1e-4, 0.02
"""Equal answers are a violation if two conditions hold. Their share has a probability below the first number, and it
differs from chance by more than the second.
"""

_OURS = Path(kit.__file__).parents[1] / "families"
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:T(\d\d:\d\d)\S*)?")


@dataclass
class Study:
    """The shortcuts that many days give away.

    Attributes:
        learned: the shortcut learner's results for each subject.
        counts: (duty's type, counted thing) to the counts that occurred in ``COUNTED`` days.
        equal: duty's type and part of the answer to two shares of equal pairs: within a day, and by chance.
        violations: (check, sentence).
        known: the violations that ``known.toml`` lists, in the same form.
    """

    family: str
    difficulty: int
    learned: list[Learned] = field(default_factory=list)
    counts: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    equal: dict[str, tuple[float, float]] = field(default_factory=dict)
    violations: list[tuple[int, str]] = field(default_factory=list)
    known: list[tuple[int, str]] = field(default_factory=list)

    @property
    def gain(self) -> float:
        """The learner's largest gain without known shortcuts."""
        return max((gain for learned in self.learned for gain in learned.unknown.values()), default=0.0)

    def figures(self) -> dict[str, Any]:
        """The figures for the page of shortcuts. Gains are in points."""

        def points(gains: Mapping[str, float]) -> dict[str, float]:
            return {name: round(100 * gain, 1) for name, gain in gains.items()}

        return {
            "shortcuts": [
                {
                    "subject": lesson.subject,
                    "cases": lesson.cases,
                    "baseline": round(100 * lesson.baseline, 1),
                    "bar": round(100 * lesson.bar, 1),
                    "gains": points(lesson.gains),
                    "unknown": points(lesson.unknown),
                    "clues": points(lesson.clues),
                }
                for lesson in self.learned
                if lesson.has_enough
            ],
            "too_few": [lesson.subject for lesson in self.learned if not lesson.has_enough],
            "known": [f"check {check}: {sentence}" for check, sentence in self.known],
        }

    def say(self, check: int, sentence: str, *, is_known: bool) -> None:
        (self.known if is_known else self.violations).append((check, sentence))


class Known:
    """The known shortcuts from ``known.toml``.

    The file has a table for each check: ``clues`` (senses, see ``clues.Clues``), ``counts`` and ``equal``. Keys are a
    duty type, or a family and a duty type. The file of proctor's own families applies to all families, since they share
    duty types.

    Args:
        folder: the folder of the families.
    """

    def __init__(self, folder: Path) -> None:
        paths = {_OURS / "known.toml", folder / "known.toml"}
        self._files = [tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(paths) if path.is_file()]

    def of(self, table: str, family: str, duty_type: str) -> frozenset[str]:
        """The known shortcuts of a family's duties of a type."""
        entries = [tables.get(table, {}) for tables in self._files]
        names = duty_type, f"{family} {duty_type}"
        return frozenset(shortcut for entry in entries for name in names for shortcut in entry.get(name, ()))


def study_days(directory: Path, difficulty: int, seeds: Sequence[int] = STUDIED) -> Study:
    """Study the days of a family at a difficulty; a day that can't be made is a violation of check 1."""
    found, known = Study(directory.name, difficulty), Known(directory.parent)
    choices: dict[str, list[tuple[int, Choice]]] = defaultdict(list)
    decisions: dict[str, list[tuple[int, Decision]]] = defaultdict(list)
    counts: dict[tuple[str, str], set[int]] = defaultdict(set)
    answers: dict[str, list[list[str]]] = defaultdict(list)
    for seed in seeds:
        try:
            whole = make_day(directory, difficulty, seed)
        except Exception as error:
            found.violations.append((1, f"seed {seed}: {type(error).__name__}: {error}"))
            continue
        number = group_of(seed, whole.group)  # a group shares a fold: one of its days gives away all
        for day in whole.sides or (whole,):
            for choice in find_choices(day):
                choices[choice.subject].append((number, choice))
            for decision in find_decisions(day):
                decisions[decision.subject].append((number, decision))
            if seed < seeds[0] + COUNTED:
                for duty in _list_duties(day):
                    for name, count in count_parts(duty).items():
                        counts[find_type(duty), name].add(count)
            for name, values in _collect_answers(day).items():
                answers[name].append(values)
    found.counts = {key: sorted(values) for key, values in counts.items()}
    learned = [learn_choices(name, cases, _senses(known, directory.name, name)) for name, cases in choices.items()]
    several = (learn_decisions(name, cases, _senses(known, directory.name, name)) for name, cases in decisions.items())
    found.learned = sorted([*learned, *filter(None, several)], key=lambda each: each.subject)
    _judge_learned(found)
    _judge_counts(found, known)
    _judge_answers(found, known, answers)
    return found


def _senses(known: Known, family: str, subject: str) -> frozenset[str]:
    return known.of("clues", family, subject.partition(" ")[0])


def _judge_learned(found: Study) -> None:
    for learned in found.learned:
        best = max(learned.gains.values(), default=0.0)
        if best > learned.bar:
            gain = max(learned.unknown.values())
            is_known = gain <= learned.bar
            points, chance = 100 * (best if is_known else gain), f"the {learned.baseline:.0%} of chance"
            sentence = f"{learned.subject} is found {points:.0f} points more often than {chance}"
            clues = ", ".join(learned.best_clues) or "several clues together"
            found.say(14, f"{sentence}: {clues}", is_known=is_known)


# Constants.


def count_parts(duty: Duty) -> dict[str, int]:
    """The counts of a duty: the parts of its answer, its candidates, its records' facts, and its acts."""
    facts = [fact for record in duty.records for fact in record.facts]
    return {
        "answers": len(split_answers(duty.answers)),
        "candidates": len(duty.candidates),
        "statements": len(facts),
        "acts": len(duty.acts),
    }


def _list_duties(day: Day) -> Iterator[Duty]:
    return (duty for duty in day.duties if duty.key != "report")


def _judge_counts(found: Study, known: Known) -> None:
    for (duty_type, name), counts in found.counts.items():
        if len(counts) == 1 and counts[0] > 1:
            is_known = name in known.of("counts", found.family, duty_type)
            found.say(15, f"{duty_type}: the number of {name} is always {counts[0]}", is_known=is_known)


# Equal answers.


def _collect_answers(day: Day) -> dict[str, list[str]]:
    """The answers of a day's duties, by type and place in the answer.

    A moment counts with its time of day only. Dates are left out.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for duty in day.duties:
        if len(duty.answers) == 1:
            for place, part in enumerate(next(iter(duty.answers)).split("/")):
                moment = _TIME.fullmatch(part)
                if moment is None or moment[1]:
                    found[f"{find_type(duty)} {place}"].append(moment[1] if moment else part)
    return found


def _judge_answers(found: Study, known: Known, answers: Mapping[str, list[list[str]]]) -> None:
    from scipy.stats import binomtest

    for name, days in answers.items():
        pairs = [pair for values in days for pair in combinations(values, 2)]
        if not pairs:
            continue
        equal, chance = sum(a == b for a, b in pairs), _chance_of_equals(days)
        found.equal[name] = equal / len(pairs), chance
        if (
            abs(equal / len(pairs) - chance) > LEAST_APART
            and binomtest(equal, len(pairs), chance).pvalue < LEAST_CHANCE
        ):
            sentence = f"{name}: two answers of a day are equal in {equal / len(pairs):.0%}, by chance in {chance:.0%}"
            is_known = bool(known.of("equal", found.family, name.partition(" ")[0]))
            found.say(16, sentence, is_known=is_known)


def _chance_of_equals(days: Iterable[list[str]]) -> float:
    """The share of equal pairs among answers of two different days."""
    total, within = Counter[str](), 0
    pairs = pairs_within = 0
    for values in days:
        own = Counter(values)
        total += own
        within += sum(count * (count - 1) // 2 for count in own.values())
        pairs_within += len(values) * (len(values) - 1) // 2
    count = total.total()
    pairs = count * (count - 1) // 2 - pairs_within
    equal = sum(frequency * (frequency - 1) // 2 for frequency in total.values()) - within
    return equal / pairs if pairs else 0.0
