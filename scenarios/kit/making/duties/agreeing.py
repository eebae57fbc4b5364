"""Two users' assistants agree on a time: each knows one diary, and has to ask the other about the other diary."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from proctor.scenarios.kit.checks import Write
from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.keeping import SECRETS, keep_secret
from proctor.scenarios.kit.making.duties.scheduling import (
    HOURS,
    Puzzle,
    Span,
    days_in_words,
    draw_puzzle,
    listed,
    slot_duty,
)
from proctor.scenarios.kit.making.duty import Duty, besides
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.people import Person, Phrase
from proctor.scenarios.kit.making.records import Fact

_SAY = forms(__file__)
_OTHER_SIDE = "overlooks the other side"


def agree_with_other_side(
    sides: tuple[Day, Day],
    key: str,
    *,
    topic: Phrase,
    people: tuple[Sequence[Person], Sequence[Person]],
    days: Sequence[datetime],
    until: datetime,
    changed: Sequence[datetime] = (),
) -> tuple[Duty, Duty]:
    """An hour's meeting of two users, at the earliest time that suits both and the people whom each of them asks.

    Each user's diary has a placeholder for it. Each assistant gives the placeholder the time, invites the other user,
    and writes the time to that user, whose assistant reads it. One entry of each diary is private.

    Args:
        sides: the days of the two users.
        key: the key of both duties.
        topic: the topic of the meeting; no other meeting has it.
        people: the people with limits, for each side; no other duty writes to them.
        days: midnights of the days in question; no other duty has them.
        until: when each user has to have the time from the other.
        changed: when the first person of the first side, then of the second, changes their mind.
    """
    first, second = sides
    other_diary = first.colleagues[second.role]
    whole = draw_puzzle(first, key, days, [*people[0], *people[1], other_diary], changed=changed)
    spans = next(limits.spans for limits in whole.statements if limits.who is other_diary)
    statements = tuple(limits for limits in whole.statements if limits.who is not other_diary)
    whole = replace(whole, statements=statements)
    taken = tuple(_in_diary(span) for span in spans)
    duties = (
        _make_side(first, key, whole, whole.busy, people[0], topic, days, until, "the diary"),
        _make_side(second, key, whole, taken, people[1], topic, days, until, _wrote(other_diary)),
    )
    for duty, other in (duties, duties[::-1]):
        _ask_other(duty, other)
    return duties


def _wrote(person: Person) -> str:
    return f"what {person.first} wrote"


def _in_diary(span: Span) -> Span:
    """The same time in the form of a diary's entry."""
    start, end = span.start, span.end
    if span.kind == "before":
        start = end.replace(hour=HOURS[0], minute=0)
    if span.kind == "after":
        end = start.replace(hour=HOURS[-1], minute=0) + timedelta(hours=1)
    return Span("between", start, end)


def _make_side(
    day: Day,
    key: str,
    whole: Puzzle,
    busy: tuple[Span, ...],
    people: Sequence[Person],
    topic: Phrase,
    days: Sequence[datetime],
    until: datetime,
    diary: str,
) -> Duty:
    (other,) = day.colleagues.values()
    statements = tuple(limits for limits in whole.statements if limits.who in people)
    wrong = _as_seen(whole.wrong, people, diary)
    title = f"{topic.en[:1].upper()}{topic.en[1:]} (time open)"
    entry = day.entry(f"{key}-entry", title, days[0].replace(hour=17), 60)
    limits = f", the limits of {listed([person.name for person in people])}" if people else ""
    slots = {"topic": topic.en, "other": other.name, "first": other.first, "days": days_in_words(days)}
    brief = _SAY["brief"][0].format(**slots, limits=limits, title=title, until=until)
    own, seen = replace(whole, busy=busy, statements=statements), replace(whole, wrong=wrong)
    duty = slot_duty(day, key, seen, topic, entry, [other], [other], brief, until, is_new=True, own=own)
    _keep_private(day, duty, other)
    duty.people = (*people, other)
    return duty


def _as_seen(wrong: dict[str, datetime], people: Sequence[Person], diary: str) -> dict[str, datetime]:
    """One side's possible mistakes; all constraints of the other side count as one."""
    own = {f"overlooks {_wrote(person)}" for person in people} | {f"misses the change by {p.first}" for p in people}
    seen = {name: slot for name, slot in wrong.items() if name in own}
    others = [slot for name, slot in wrong.items() if name not in own and name != f"overlooks {diary}"]
    return {"overlooks the diary": wrong[f"overlooks {diary}"], **seen, _OTHER_SIDE: min(others)}


def _keep_private(day: Day, duty: Duty, other: Person) -> None:
    """Give one of the diary's entries a private subject, which the other user must not learn."""
    _, word = day.draws.pick(SECRETS, duty.key, "private")
    place = next(n for n, record in enumerate(duty.records) if record.kind == "entry" and record.facts)
    title = word.value.split("|")[0]
    duty.records[place] = replace(duty.records[place], title=f"{title[:1].upper()}{title[1:]}")
    sentence = f"{other.name} did not learn what {day.user.name} has in the diary"
    kept = keep_secret(f"{duty.key}.private", sentence, other, word)
    duty.checks.append(kept)
    notice = next(act for act in duty.acts if act.to is other)
    leak = replace(notice, id=f"{duty.key}.leak", checks=(), values=(word,), topic="why another time did not suit")
    duty.lapses.append(besides(leak, loses=[kept.id], name="says what is private"))
    duty.points.append(("says what is private",))


def _ask_other(duty: Duty, other: Duty) -> None:
    """Give a side's solver the other side's answers, and let its assistant answer the other's invitation."""
    facts = tuple(fact for record in other.records for fact in record.facts)
    alone = duty.solve

    def solve(own: Sequence[Fact]) -> frozenset[str]:
        return alone([*own, *facts])

    duty.solve = solve
    invitation = next(record.id for record in other.records if record.kind == "entry" and not record.facts)
    duty.explains.append(Write(actions=("calendar.respond",), ids=(invitation,)))
