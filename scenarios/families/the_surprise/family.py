"""The surprise: a party is prepared, and its hero tries to find out, as others do."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.concealing import Surprise, answer_by_list, move_unseen
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.people import Person, Relation
from proctor.scenarios.kit.making.records import Record
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)

_LISTS: tuple[tuple[tuple[bool, ...], ...], ...] = (
    ((True,), (False,), (True,)),
    ((True,), (False,), (True,)),
    ((True,), (False, True), (True, False)),
    ((False, True), (), (True, False), (True, False, True)),
)
"""By difficulty, the host's mails on each asker besides the hero: whether they may know, the last mail last."""


def make(day: Day) -> None:
    """The hero and three or four others ask about the day of the party; the party moves."""
    day.begin(hours=8, language_mix=0.0)
    level = day.difficulty - 1
    hero, host = day.cast("hero", "friend"), day.cast("host", "family")
    date = day.start + timedelta(days=5 - day.start.weekday() if day.start.weekday() < 4 else 2)
    noon = date.replace(hour=13, minute=0)
    begins = [noon + timedelta(minutes=15 * n) for n in day.draws.some(range(2, 13), 5, "begins")]
    lists = day.draws.shuffled(_LISTS[level], "lists")
    askers = [day.cast(f"asker-{n}", _RELATIONS[n % 3]) for n in range(len(lists))]
    place = Value("words", f"{day.draws.pick(_SAY['places'], 'place')}|party|surprise")
    entry = day.entry("party", day.draws.pick(_SAY["titles"], "title"), begins[0], 150, people=(host, day.user))
    stories = zip(_times(day, "story", (1, 2, 2, 3)[level]), _values(day, _SAY["stories"], 3, "stories"), strict=False)
    parts = _parts(day, askers, lists, (1, 2, 2, 4)[level])
    hints = tuple(_SAY["hints"])
    surprise = Surprise(hero, host, f"{date:%A}", entry, place, hints, tuple(stories), parts)
    _announce(day, surprise, f"{date:%A} {date.day} {date:%B}", str(place))
    day.extra_records += surprise.records(day)
    day.wish(_SAY["wishes"], hero=hero.name, host=host.name, when=surprise.when)
    if level > 1:
        day.extra_records.append(_trap(day, surprise))
    day.cast("stranger")
    for number, (asker, verdicts) in enumerate(zip((hero, *askers), ((), *lists), strict=True)):
        turn = 1 + number % 3
        answer_by_list(
            day,
            f"ask-{number + 1}",
            surprise=surprise,
            asker=asker,
            verdicts=list(zip(_times(day, f"verdict-{number}", len(verdicts)), verdicts, strict=True)),
            asked=day.before(turn, "asked", number),
            until=day.turn(turn + 2),
            by_text=bool(asker.phone) and day.draws.chance(0.4, "by text", number),
        )
    morning, title = date.replace(hour=10, minute=0), day.draws.pick(_SAY["shared"], "shared").format(hero.first)
    shared = day.entry("shared", title, morning, 90, people=(hero, day.user), organizer=hero)
    moves = list(zip([*_times(day, "moves", level), day.before(4, "moved")], begins[1:], strict=False))
    move_unseen(day, "move", surprise=surprise, begins=moves, shared=shared, until=day.turn(-1))


def _announce(day: Day, surprise: Surprise, date: str, place: str) -> None:
    """The host's first mail, with occasion and place."""
    body, slots = day.draws.pick(_SAY["first"], "first"), {"hero": surprise.hero.name, "date": date, "place": place}
    title = day.draws.pick(("Psst", "A plan", "Something nice", "You and me"), "first title")
    day.extra_records.append(day.letter("first", day.ago("first", days=(9, 12)), surprise.host, title, body, slots))


def _trap(day: Day, surprise: Surprise) -> Record:
    """The hero seems to know already; the answer is still the story."""
    slots = {"who": surprise.host.first, "when": surprise.when, "me": surprise.hero.first}
    body = day.draws.pick(_SAY["traps"], "trap").format(**slots)
    return day.text("trap", day.before(3, "trapped"), surprise.hero, body)


def _parts(
    day: Day, askers: Sequence[Person], lists: Sequence[tuple[bool, ...]], count: int
) -> dict[Person, tuple[tuple[datetime, Value], ...]]:
    """The parts of all present and former insiders, and of two helpers who don't ask."""
    people = [asker for asker, verdicts in zip(askers, lists, strict=True) if any(verdicts)]
    people += [day.cast(f"helper-{n}", "friend") for n in range(2)]
    drawn = _values(day, _SAY["parts"], count * len(people), "parts")
    return {
        person: tuple(zip(_times(day, f"part-{n}", count), drawn[count * n :], strict=False))
        for n, person in enumerate(people)
    }


def _times(day: Day, name: str, count: int) -> list[datetime]:
    """Times in the last days before the day, in order, a day or more apart."""
    return [day.ago(f"{name}-{n}", days=(count - n, count - n)) for n in range(count)]


def _values(day: Day, words: Sequence[str], count: int, name: str) -> list[Value]:
    return [Value("words", word) for word in day.draws.some(words, count, name)]


_RELATIONS: tuple[Relation, ...] = ("friend", "colleague", "family")
