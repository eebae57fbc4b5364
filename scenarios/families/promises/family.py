"""Promises of the first day, the assistant's own word included, are kept on the fourth or fifth."""

from datetime import date, datetime, timedelta

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.committing import keep_word, let_go, own_word
from proctor.scenarios.kit.making.duties.inviting import Statement
from proctor.scenarios.kit.making.duties.sheltering import Lunch, move_indoors
from proctor.scenarios.kit.making.duties.standing import between_turns
from proctor.scenarios.kit.making.forms import forms, phrases
from proctor.scenarios.kit.making.outdoors import Spot
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)


def make(day: Day) -> None:
    """Monday to Friday, two turns a day, with promises of the user's and of the assistant's own."""
    day.begin(step=timedelta(hours=5), turns=2, days=5, latest_weekday=0)
    level = day.difficulty - 1
    things = day.draws.shuffled(THINGS, "things")
    day.cast("stranger")
    for number in range((2, 2, 3, 3)[level]):
        key = f"word-{number + 1}"
        changes = (0, 1 - number, 1, 2)[level] if number < 2 else level - 2
        keep_word(
            day,
            key,
            person=day.cast(f"{key}-person"),
            thing=things.pop(),
            commitments=_commitments(day, key, max(0, changes)),
            statements=_statements(day, key, corrections=(0, 0, 1, 2)[level]),
        )
    for number in range((1, 1, 2, 2)[level]):
        key = f"own-{number + 1}"
        choices = [_date(day, n) for n in (2, 3, 4)]
        own_word(
            day,
            key,
            asker=day.cast(f"{key}-asker"),
            thing=things.pop(),
            choices=choices,
            chosen=day.draws.pick(choices, key, "chosen"),
            statements=_statements(day, key, corrections=(0, 0, 0, 1)[level], last=3),
        )
    for number in range((0, 1, 1, 2)[level]):
        key = f"released-{number + 1}"
        let_go(
            day,
            key,
            person=day.cast(f"{key}-person"),
            thing=things.pop(),
            promised=_date(day, day.draws.between(3, 4, key, "promised")),
            released=between_turns(day, 4, f"{key}-released"),
            statements=_statements(day, key, corrections=0),
        )
    if level > 1:
        _lunches(day, count=level, is_changed=level > 2)
    day.wish(_SAY["wishes"])


def _lunches(day: Day, *, count: int, is_changed: bool) -> None:
    """Lunches outdoors on the last day; in the end the forecast has rain for the first of them only.

    Before a change, it has rain for another one.
    """
    rooms, spots = day.draws.some(_SAY["rooms"], count, "rooms"), day.draws.some(_SAY["spots"], count, "spots")
    first = day.draws.between(11, 14 - count, "lunch")  # two hours apart: the user can be at each of them
    news = [day.start - timedelta(hours=2), *([between_turns(day, 5, "forecast")] if is_changed else [])]
    dry = ("Clear", "Clouds")
    lunches = []
    for number, (room, spot) in enumerate(zip(rooms, spots, strict=True)):
        north = 51 + 0.26 * number + day.draws.between(11, 20, spot, "north") / 100  # far from the others
        at = [round(north, 2), day.draws.between(-39, -11, spot, "east") / 100]
        last = "Rain" if number == 0 else day.draws.pick(dry, spot, "sky")
        before = ["Rain" if number == 1 else day.draws.pick(dry, spot, "before")] if is_changed else []
        guest = day.cast(f"lunch-{number}-guest", "client")
        start = day.clock(first + 2 * number, day=4)
        lunches.append(Lunch(guest, start, Spot(spot, *at), room, [*before, last]))
    move_indoors(day, "lunch", lunches=lunches, news=news)


def _date(day: Day, number: int) -> date:
    return (day.start + timedelta(days=number)).date()


def _commitments(day: Day, key: str, changes: int) -> list[tuple[datetime, date]]:
    """The first promise before the first turn, and changes on the second and the third day."""
    first = day.draws.between(3, 4, key, "first")
    commitments = [(day.start - timedelta(minutes=day.draws.between(10, 55, key, "given")), _date(day, first))]
    for number in range(changes):
        due = 7 - first if number % 2 == 0 else first
        commitments.append((between_turns(day, 3 + 2 * number, f"{key}-change-{number}"), _date(day, due)))
    return commitments


def _statements(day: Day, key: str, *, corrections: int, last: int = 5) -> list[Statement]:
    """Statements of the value: the first one before the second day's first turn, the last one before turn ``last``."""
    source = day.cast(f"{key}-source", "colleague")
    turns = [2, *range(last - corrections + 1, last + 1)]
    letters = "BCDFGHKLMNPRSTVWXZ"
    numbers = day.draws.some(range(10_000, 99_999, 7), len(turns), key, "numbers")
    times = [between_turns(day, turn, f"{key}-said-{place}") for place, turn in enumerate(turns)]
    codes = [f"{day.draws.pick(letters, key, place, 'letter')}{number}" for place, number in enumerate(numbers)]
    return [(at, source, Value("code", code)) for at, code in zip(times, codes, strict=True)]


THINGS = phrases(__file__, "things")
