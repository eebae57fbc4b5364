"""What gives answers away is found: a planted digit, a count that never varies, equal answers; drawn ones are not."""

from pathlib import Path

import pytest

from proctor.local.audit.clues import find_type
from proctor.local.audit.families import LEAST_WITH, MOST_WITHOUT, summed_up
from proctor.local.audit.instances import Report, naming_shares, naming_types
from proctor.local.audit.plays import Stage
from proctor.local.audit.study import Known, Study, count_parts, study_days
from proctor.scenarios.kit.making.days import Day, make_day
from tests.sentences import says
from tests.stack import SCENARIOS

DAYS = range(1, 35)
"""With three duties of each kind a day, enough to learn from."""

_FAMILY = """
from proctor.scenarios.kit.making.duties.answering import answer_fact
from proctor.scenarios.kit.making.people import Phrase
from proctor.scenarios.kit.values import Value


def make(day):
    day.begin(hours=6)
    for number in range(3):
        ask(day, "planted", number, count=2, ending=4)
        ask(day, "known", number, count=2, ending=4)
        ask(day, "drawn", number, count=day.draws.between(1, 3, number, "count"), ending=None)
    ask(day, "rare", 0, count=day.draws.between(1, 3, "count"), ending=None)


def ask(day, name, number, *, count, ending):
    key = f"{name}-{number}"
    euros = day.draws.different(100, 900, 1 + count, key, "euros")
    if ending is not None:
        euros = [10 * each + (n or ending) for n, each in enumerate(euros)]
        euros[0] = 1234 if day.draws.chance(0.5, name, "same") else euros[0]
    right, *others = (Value("amount", str(100 * each)) for each in euros)
    things = [Phrase(f"the rent of {name} barn {number}{letter}", "die Miete") for letter in "abcd"]
    teller = day.cast("teller")
    answer_fact(
        day,
        key,
        asker=day.cast("asker"),
        thing=things[0],
        statements=[(day.ago(f"{key}-said"), teller, right)],
        decoys=[
            (day.ago(f"{key}-{n}"), teller, thing, value)
            for n, (thing, value) in enumerate(zip(things[1:], others))
        ],
        asked=day.turn(1, -20),
        until=day.turn(3),
    )
"""


_KNOWN = """
[clues]
known = ["digit", "value"]
[counts]
"barn known" = ["candidates"]
[equal]
known = ["all"]
"""


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("families") / "barn"
    folder.mkdir()
    folder.joinpath("family.py").write_text(_FAMILY)
    (folder.parent / "known.toml").write_text(_KNOWN)
    folder.joinpath("family.toml").write_text('title = "Barn"\n')
    return folder


@pytest.fixture(scope="module")
def study(family: Path) -> Study:
    return study_days(family, 2, DAYS)


def test_a_planted_digit_is_found_and_its_clue_is_named(study: Study) -> None:
    (sentence,) = (sentence for check, sentence in study.violations if check == 14)
    assert sentence.startswith("planted answer 0 is found")
    assert says().within(sentence)


def test_what_was_drawn_is_no_shortcut(study: Study) -> None:
    drawn = next(lesson for lesson in study.learned if lesson.subject == "drawn answer 0")
    assert drawn.has_enough
    assert max(drawn.gains.values()) < 0.1


def test_a_count_that_never_varies_is_found(study: Study) -> None:
    assert [sentence for check, sentence in study.violations if check == 15] == [says()]
    assert study.counts["drawn", "candidates"] == [2, 3, 4]


def test_answers_that_are_equal_more_often_than_by_chance_are_found(study: Study) -> None:
    (sentence,) = (sentence for check, sentence in study.violations if check == 16)
    assert says().within(sentence)
    within, chance = study.equal["drawn 0"]
    assert within == pytest.approx(chance, abs=0.02)


def test_too_few_choices_are_named_and_not_judged(study: Study) -> None:
    assert [lesson.subject for lesson in study.learned if not lesson.has_enough] == ["rare answer 0"]
    assert study.figures()["too_few"] == ["rare answer 0"]


def test_what_is_known_is_listed_and_no_violation(study: Study) -> None:
    assert [check for check, _ in study.violations] == [14, 15, 16]
    assert [check for check, _ in study.known] == [14, 15, 16]
    assert all(sentence.startswith("known") for _, sentence in study.known)


def test_what_is_known_of_our_duty_types_counts_in_other_folders_too(tmp_path: Path) -> None:
    assert "time" in Known(tmp_path).of("clues", "barn", "price")
    assert not Known(tmp_path).of("clues", "barn", "planted")


@pytest.mark.parametrize(
    ("naming", "shares"),
    [({"without": MOST_WITHOUT, "only": LEAST_WITH}, []), ({"without": 0.85, "only": 0.15}, ["85%", "15%"])],
)
def test_the_duties_that_name_a_family_weigh_most(naming: dict[str, float], shares: list[str]) -> None:
    report = Report("barn", 2, 1, naming=naming, graded={})
    report.graded = {rate: [{"total": 1.0}] for rate in (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)}
    report.expected = dict.fromkeys(report.graded, 1.0)
    (audit,) = summed_up([report], quick=True)
    found = [sentence for check, *_, sentence in audit.violations if check == 13]
    assert found == [says(share) for share in shares]


async def test_what_the_naming_duties_are_worth_is_played(family: Path) -> None:
    naming = await naming_shares(Stage(make_day(family, 2, 3)), frozenset({"planted"}))
    # Each of the ten duties has seven points, one of them gated; three of them are too little work to open gates.
    assert naming == pytest.approx({"only": 3 * 6 / 80, "without": 1 - 3 * 7 / 80})


def test_a_duty_that_weighs_more_has_all_its_points_multiplied(family: Path) -> None:
    duty = make_day(family, 2, 3).duties[0]
    before = [check.points for check in duty.checks]
    assert [check.points for check in duty.weigh(3).checks] == [3 * points for points in before]


def days_of(family: str, count: int = 8) -> list[Day]:
    return [make_day(SCENARIOS / "families" / family, 2, seed) for seed in range(1, count + 1)]


@pytest.mark.parametrize(
    ("family", "key", "name"),
    [
        ("expense_report", "sum-1", "answers"),
        ("find_a_slot", "find-1", "acts"),
        ("inbox_flood", "label-1", "answers"),
        ("who_promised_what", "owed-1", "answers"),
    ],
)
def test_what_the_difficulty_told_is_drawn(family: str, key: str, name: str) -> None:
    duties = [duty for day in days_of(family) for duty in day.duties if duty.key == key]
    assert len({count_parts(duty)[name] for duty in duties}) > 1


def test_neither_a_digit_nor_a_second_mail_tells_the_right_one() -> None:
    days = days_of("invoice_fraud", 12)
    prices = [min(duty.answers) for day in days for duty in day.duties if find_type(duty) == "price"]
    assert len({price.rstrip("0")[-1] for price in prices}) > 4

    demands = [duty for day in days for duty in day.duties if duty.key == "accounts"]
    twice: set[bool] = set()
    for duty in demands:
        facts = [fact for record in duty.records for fact in record.facts if fact.kind == "demand"]
        senders = [fact.value.partition("/")[0] for fact in facts]
        twice |= {sender in duty.answers for sender in senders if senders.count(sender) > 1}
    assert twice == {True, False}, "only real ones, or only false ones, write twice"


@pytest.mark.parametrize(("family", "named_by"), [("invoice_fraud", "accounts"), ("inbox_flood", "label")])
async def test_what_names_the_family_weighs_most(family: str, named_by: str) -> None:
    directory = SCENARIOS / "families" / family
    assert naming_types(directory) == {named_by}
    naming = await naming_shares(Stage(make_day(directory, 1, 21)), naming_types(directory))
    assert naming["without"] <= MOST_WITHOUT
    assert naming["only"] >= LEAST_WITH
