"""Instances of families pass the audit in its cheapest form, nightly four of each; planted faults are named.

By default one family is audited. In the others the oracle earns everything, and who does nothing nothing;
``tests/docs/test_families.py`` fails where days are others than those that were audited.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from proctor.local.audit import instances
from proctor.local.audit.families import Cell, audit_cell, make_cells, summed_up
from proctor.local.audit.instances import BARS, audit_instance
from proctor.local.audit.players import nothing, oracle
from proctor.local.audit.plays import Stage
from proctor.scenarios.kit.checks import Write
from proctor.scenarios.kit.making import asking
from proctor.scenarios.kit.making.days import Day, make_day
from purple_sdk.protocol.instances import DIFFICULTIES
from tests.sentences import says
from tests.stack import SCENARIOS
from tests.work import NIGHTLY, only_nightly

FAMILIES = sorted(path.parent for path in (SCENARIOS / "families").glob("*/family.py"))


def test_there_are_twelve_families() -> None:
    assert len(FAMILIES) >= 12


SHORT_DAYS = [(family, DIFFICULTIES[place % 2]) for place, family in enumerate(FAMILIES)]
AUDITED = SHORT_DAYS[:1]
OTHERS = [day for day in SHORT_DAYS if day not in AUDITED]
ALL_DAYS = [(family, difficulty) for family in FAMILIES for difficulty in DIFFICULTIES]


def name(value: Path | int) -> str:
    return value.name if isinstance(value, Path) else str(value)


def seed_of(difficulty: int) -> int:
    """The authors looked at the seeds below."""
    return 20 + difficulty


@pytest.mark.parametrize(("family", "difficulty"), ALL_DAYS if NIGHTLY else AUDITED, ids=name)
def test_the_audit_finds_nothing(family: Path, difficulty: int) -> None:
    cells = make_cells([family], [difficulty], [seed_of(difficulty)], quick=True)
    (audit,) = summed_up([audit_cell(cell) for cell in cells], quick=True)
    assert audit.violations == []


def asked_back(stage: Stage) -> list[str]:
    """The mails and texts of the last play by which people asked back."""
    states, forms = stage.states(), [form for forms in asking.SAY.values() for form in forms]
    texts = [str(mail["body_text"]) for mail in states["email"]["emails"].values()]
    texts += [str(text["body"]) for text in states["sms"]["messages"].values()]
    return [text for text in texts if any(form in text for form in forms)]


@pytest.mark.parametrize(("family", "difficulty"), OTHERS, ids=name)
async def test_the_oracle_earns_everything_and_who_does_nothing_nothing(family: Path, difficulty: int) -> None:
    day = make_day(family, difficulty, seed_of(difficulty))
    for side in day.sides or (day,):
        stage = Stage(side)
        await stage.hear((other, oracle(other)) for other in day.sides if other is not side)
        outcome = await stage.play(oracle(side))
        assert outcome.share == 1
        assert not asked_back(stage), "somebody did not understand the oracle"
        assert (await stage.play(nothing)).share <= BARS["nothing"]


_FAMILY = """
from dataclasses import replace

from proctor.scenarios.kit.making.duties.answering import answer_fact
from proctor.scenarios.kit.making.people import Phrase
from proctor.scenarios.kit.values import Value

THINGS = (Phrase("the rent of the barn", "die Miete der Scheune"), Phrase("the price of hay", "der Preis von Heu"))


def make(day):
    for number in range(3):
        key = f"answer-{number}"
        thing = Phrase(f"{THINGS[0].en} {number}", f"{THINGS[0].de} {number}")
        drawn = [day.draws.between(20, 900, key, n) * 1000 + 100 * n for n in range(3)]
        amounts = [Value(kind="amount", value=str(cents)) for cents in drawn]
        source = day.cast(f"{key}-source")
        duty = answer_fact(
            day,
            key,
            asker=day.cast(f"{key}-asker"),
            thing=thing,
            statements=[(day.ago(f"{key}-{n}", days=(3 - 2 * n, 4 - 2 * n)), source, amounts[n]) for n in range(2)],
            decoys=[(day.ago(f"{key}-d"), day.cast(f"{key}-d"), THINGS[1], amounts[2])],
            asked=day.turn(1, -20),
            until=day.turn(3),
        )
        PLANTED
"""

_SECOND_ANSWER = "duty.checks[0] = duty.checks[0].model_copy(update={'wrong': (), 'values': duty.checks[0].values[:0]})"
_NO_SUPPORT = "duty.records[1] = replace(duty.records[1], body='I am well, thank you.', title='Hello')"
_UNSEEN_SIDE_EFFECT = (
    "duty.explains.append(type(duty.explains[0])(actions=('email.archive', 'email.star', 'email.label')))"
)


@pytest.fixture
def family(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    folder = tmp_path / "barn"
    folder.mkdir()
    folder.joinpath("family.py").write_text(_FAMILY.replace("PLANTED", getattr(request, "param", "pass")))
    folder.joinpath("family.toml").write_text('title = "Barn"\n')
    return folder


def test_an_honest_family_passes(family: Path) -> None:
    assert audit_instance(family, 2, 3, [4, 5]).violations == []


@pytest.mark.parametrize(
    ("family", "check"),
    [
        (_SECOND_ANSWER, 7),
        (_NO_SUPPORT, 6),
        (_UNSEEN_SIDE_EFFECT, 5),
    ],
    indirect=["family"],
)
def test_planted_faults_are_named(family: Path, check: int) -> None:
    found = audit_instance(family, 2, 3, quick=True).violations
    changing = re.compile(r"\d{5,}|(?<=do ).*(?= was)")
    assert says(values=changing).within([said for number, said in found if number == check]), found


@pytest.mark.parametrize("family", ["raise RuntimeError('no hay')"], indirect=True)
def test_a_family_that_raises_is_a_violation(family: Path) -> None:
    report = audit_cell(Cell(family, 1, 1, (), 1, quick=True))
    assert report.violations == [(1, "RuntimeError: no hay (family.py line 28)")]


def _second_answer(day: Day) -> None:
    """Whoever tells nothing but a name of the thing is right, too."""
    duty = next(duty for duty in day.duties if duty.enact is not None)
    duty.checks[0] = duty.checks[0].model_copy(update={"values": (), "wrong": ()})


def _missing_support(day: Day) -> None:
    duty = next(duty for duty in day.duties if duty.key == "sum-1")
    duty.records = [replace(record, title="Hello", body="I am well.") for record in duty.records]


def _unseen_side_effect(day: Day) -> None:
    day.duties[0].explains.append(Write(actions=("email.archive", "email.star")))


@only_nightly
@pytest.mark.parametrize(
    ("name", "plant", "check"),
    [
        ("inbox_flood", _second_answer, 7),
        ("expense_report", _missing_support, 6),
        ("invoice_fraud", _unseen_side_effect, 5),
    ],
)
def test_faults_planted_in_families_are_named(
    name: str, plant: Callable[[Day], None], check: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make_with_fault(directory: Path, difficulty: int, seed: int) -> Day:
        day = make_day(directory, difficulty, seed)
        plant(day)
        return day

    monkeypatch.setattr(instances, "make_day", make_with_fault)
    found = audit_instance(SCENARIOS / "families" / name, 2, 31, quick=True).violations
    assert check in {number for number, _ in found}, found
