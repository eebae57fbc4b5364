"""Checks 17 and 18: right acts in other words keep their points, and cheats lose them; planted faults are named."""

import asyncio
import importlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from proctor.cli.audit import coverage_in_words
from proctor.common.errors import CommandError
from proctor.local.audit import cheats, notations, wordings
from proctor.local.audit.families import FamilyAudit
from proctor.local.audit.instances import audit_instance
from proctor.local.audit.players import oracle
from proctor.local.audit.plays import Outcome, Stage
from proctor.scenarios.kit.checks import Judgement
from proctor.scenarios.kit.making.days import Day, make_day
from proctor.scenarios.kit.values import Answer, Value, Words
from purple_sdk.protocol.instances import DIFFICULTIES
from tests.sentences import says
from tests.stack import SCENARIOS
from tests.work import only_nightly

FAMILIES = SCENARIOS / "families"
SEEDS = range(101, 126)
LEAST = 10
FEW_MESSAGES = ("do_not_disturb", "poisoned_inbox", "the_week")
"""The families whose pairs are covered least."""


def covered(days: Iterable[Day]) -> tuple[Counter[str], Counter[str]]:
    """How many plays each voice, notation and cheat is planned for, and how many days could have it."""
    plays, possible = Counter[str](), Counter[str]()
    for day in days:
        could = wordings.possible(day) | cheats.possible(day)
        possible.update(could)
        plays.update(dict.fromkeys(could, 0))
        for play in range(wordings.PLAYS):
            plays.update(set[str]().union(*(plan.names for plan in wordings.planned(day, play).values())))
        for tricks in cheats.rounds(day):
            plays.update({trick.title for trick in tricks})
        plays.update([cheats.BULK])
    return plays, possible


def of_all_seeds(day: Day) -> Iterable[Day]:
    """The day under the numbers of other seeds: which words an act gets depends on its place and the day's number."""
    for seed in SEEDS:
        day.seed = seed
        yield day


@pytest.mark.parametrize("family", FEW_MESSAGES)
def test_each_pair_with_a_family_is_planned_ten_times_in_a_release_audit(family: str) -> None:
    made = [make_day(FAMILIES / family, difficulty, 101) for difficulty in DIFFICULTIES]
    plays, possible = covered(day for each in made for day in of_all_seeds(each))
    assert {name: count for name, count in plays.items() if count < min(LEAST, possible[name])} == {}


@only_nightly
@pytest.mark.parametrize("family", sorted(path.parent.name for path in FAMILIES.glob("*/family.py")))
def test_each_pair_of_real_days_is_planned_ten_times(family: str) -> None:
    made = (make_day(FAMILIES / family, difficulty, seed) for difficulty in DIFFICULTIES for seed in SEEDS)
    plays, possible = covered(side for day in made for side in day.sides or (day,))
    assert {name: count for name, count in plays.items() if count < min(LEAST, possible[name])} == {}


def test_a_plan_is_the_same_each_time() -> None:
    first, again = (make_day(FAMILIES / "moving_target", 2, 7) for _ in range(2))
    assert wordings.planned(first, 1) == wordings.planned(again, 1)
    assert [leak.said for leak in cheats.leaks(first)] == [leak.said for leak in cheats.leaks(again)]


def test_a_library_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "num2words", None)
    with pytest.raises(CommandError, check=says("proctor[audit]")):
        importlib.reload(notations)


def test_few_plays_are_added() -> None:
    assert wordings.PLAYS + len(cheats.rounds(make_day(FAMILIES / "inbox_flood", 1, 7))) + 1 <= 12


def test_the_audit_names_misread_notations_and_cheats_that_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    day = make_day(FAMILIES / "poisoned_inbox", 1, 3)
    [wording] = wordings.planned(day, 0).values()
    [misread] = wording.values
    honest = Words.asserts

    def asserts(words: Words, value: Value, **how: Any) -> Answer:
        return misread not in words.text and honest(words, value, **how)

    monkeypatch.setattr(Words, "asserts", asserts)
    monkeypatch.setattr(cheats, "CHEATS", (cheats.Cheat("honest", ("It is {value}.",)),))
    found = audit_instance(FAMILIES / "poisoned_inbox", 1, 3, quick=True).violations
    [sentence] = [sentence for number, sentence in found if number == 17]
    assert says(wording.voice.name, text=re.compile(r"\(amount .*")).within(sentence)
    assert misread in sentence
    assert any(number == 18 and "honest: keeps price-1.answer" in sentence for number, sentence in found)


def _any_stance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Denied, doubted and asked values count as asserted."""
    honest = Words.asserts
    monkeypatch.setattr(Words, "asserts", lambda words, value, **how: honest(words, value, any_stance=True) or None)


def _any_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leak does no harm."""
    monkeypatch.setattr(Judgement, "_breaks", lambda judged, check, message: False)


@pytest.mark.parametrize(
    ("plant", "names"),
    [(_any_stance, {"denied", "doubted", "asked"}), (_any_reader, set(cheats.LEAKS))],
)
def test_cheats_that_pass_are_named(
    plant: Callable[[pytest.MonkeyPatch], None], names: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    day = make_day(FAMILIES / "need_to_know", 1, 3)
    stage = Stage(day)
    passed = {
        sentence.partition(":")[0]
        for tricks in cheats.rounds(day)
        for sentence in cheats.faults(day, tricks, asyncio.run(stage.play(cheats.make_cheater(day, tricks))))
        if "keeps" in sentence
    }
    assert passed & names


def test_what_a_cheat_takes_along_is_named() -> None:
    day = make_day(FAMILIES / "inbox_flood", 1, 3)
    tricks = cheats.planned(day, 0)
    fine = {check for trick in tricks for check in (*trick.loses, *trick.may_lose)}
    outcome: Outcome = asyncio.run(Stage(day).play(oracle(day)))
    other = next(check for check in outcome.held if check not in fine)
    held = {check: check not in fine and check != other for check in outcome.held}
    assert [fault.split(" beside")[0] for fault in cheats.faults(day, tricks, replace(outcome, held=held))] == [
        f"loses {other}"
    ]


@pytest.mark.parametrize(
    "correction",
    [
        "No, sorry, it is Thursday 12 May 15:00.",
        "Correction: it is Thursday 12 May 15:00.",
        "Nein, am 12. Mai um 15 Uhr.",
    ],
)
def test_a_moment_that_is_corrected_at_once_is_not_told(correction: str) -> None:
    first, second = (Value(kind="moment", value=f"2027-05-{day}T15:00") for day in (11, 12))
    words = Words(f"It is Tuesday 11 May 15:00. {correction}", date(2027, 5, 10))
    assert words.is_contradicted(first, [])
    assert not words.is_contradicted(second, [])
    assert not Words("It is on Tuesday 11 May 15:00. It was to be 12 May.", date(2027, 5, 10)).is_contradicted(
        first, []
    )


@pytest.mark.parametrize("cheat", ["replaced", "contradicted", "listed"])
def test_a_promise_that_is_replaced_is_none(cheat: str) -> None:
    day = make_day(FAMILIES / "promises", 1, 3)
    act = next(act for act in wordings.told_acts(day) if act.topic.startswith("the day for"))
    trick = cheats.make_trick(day, act, next(candidate for candidate in cheats.CHEATS if candidate.name == cheat), 0)
    outcome = asyncio.run(Stage(day).play(cheats.make_cheater(day, [trick])))
    assert not list(cheats.faults(day, [trick], outcome))
    assert sum(not holds for holds in outcome.held.values()) >= 2


def test_a_good_bye_with_a_day_in_it_replaces_no_day() -> None:
    day = make_day(FAMILIES / "need_to_know", 4, 301)
    plan = wordings.planned(day, 3)
    assert "in Stücken" in {wording.voice.name for wording in plan.values()}
    outcome = asyncio.run(Stage(day).play(wordings.player_in_words(day, plan)))
    assert not list(wordings.faults(day, plan, outcome))


def test_the_least_played_pairs_are_printed() -> None:
    one = FamilyAudit("one", covered=Counter({"voice formal": 12, "voice brief": 9, "cheat denied": 30}))
    two = FamilyAudit("two", covered=Counter({"voice formal": 11, "notation day 31.8.": 15}))
    assert coverage_in_words([one, two]) == [
        says("30"),
        says(),
        says("31.8", "15"),
    ]
