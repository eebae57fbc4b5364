"""Agree on a time, or move a meeting: the earliest hour that suits a diary and the limits of several people."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from proctor.scenarios.kit.checks import Check, Write
from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.draws import Draws
from proctor.scenarios.kit.making.duty import (
    Act,
    Duty,
    Lapse,
    Solver,
    entry_check,
    forgotten,
    message_check,
    tell,
    to_write_to,
)
from proctor.scenarios.kit.making.forms import forms, phrases
from proctor.scenarios.kit.making.people import Person, Phrase
from proctor.scenarios.kit.making.records import Fact, Record
from proctor.scenarios.kit.making.texts import mail_saying, text_saying
from proctor.scenarios.kit.making.wording import show
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)

HOURS = range(9, 17)
"""The full hours at which a meeting of an hour may begin."""

HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Span:
    """A time that is taken: with ``before``, from the morning to ``end``; with ``after``, from ``start`` on."""

    kind: Literal["before", "between", "after"]
    start: datetime
    end: datetime

    def blocks(self, slot: datetime) -> bool:
        """Whether a meeting of an hour from ``slot`` on overlaps it."""
        return self.start < slot + HOUR and slot < self.end

    @property
    def fact(self) -> str:
        """A fact's value: the day, and the stated times."""
        times = {"before": (self.end,), "after": (self.start,), "between": (self.start, self.end)}[self.kind]
        return "/".join([self.start.date().isoformat(), *(f"{time:%H:%M}" for time in times)])


@dataclass(frozen=True)
class Limits:
    """The times at which a person can't come, as one message states them; the person's last message holds."""

    who: Person
    at: datetime
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Journey:
    """A journey of the user, who is ready some minutes after the last stated arrival.

    Attributes:
        code: the subject of the facts of kind ``arrival``.
        arrivals: all stated arrivals, in order.
        lead: minutes from the arrival to the earliest meeting.
    """

    code: str
    arrivals: tuple[datetime, ...]
    lead: int = 60

    def ready(self, arrival: datetime) -> datetime:
        """The time from which the user can meet people."""
        return arrival + timedelta(minutes=self.lead)


@dataclass(frozen=True)
class Puzzle:
    """Slots of some days, of which one is the earliest that suits all people.

    Attributes:
        slots: all slots in question.
        right: the earliest slot that is free for all.
        statements: the people's limits, by time.
        busy: the diary's entries.
        wrong: the slots that follow from a mistake, by the overlooked thing.
        journey: the user's journey, if there is one.
    """

    slots: tuple[datetime, ...]
    right: datetime
    statements: tuple[Limits, ...]
    busy: tuple[Span, ...]
    wrong: dict[str, datetime]
    journey: Journey | None = None


def working_days(day: Day, first: int, count: int) -> tuple[datetime, ...]:
    """Midnights of working days after the day: ``count`` of them from the ``first`` (1 is the next one) on."""
    ahead = (day.clock(0, day=number) for number in range(1, 60))
    return tuple([date for date in ahead if date.weekday() < 5][first - 1 : first - 1 + count])


def draw_puzzle(
    day: Day,
    key: str,
    days: Sequence[datetime],
    people: Sequence[Person],
    *,
    changed: Sequence[datetime] = (),
    journey: Journey | None = None,
) -> Puzzle:
    """A drawn puzzle, in which each of the people and the diary block at least one slot that nothing else blocks.

    Args:
        days: the midnights of the days in question, in order; no other puzzle has them.
        people: the people with limits.
        changed: when the first, second, … of them sends new limits.
        journey: blocks all times until its arrival.
    """
    draws = day.draws.of("slots", key)
    slots = tuple(midnight.replace(hour=hour) for midnight in days for hour in HOURS)
    blockers = ["diary", *(person.key for person in people)]
    first = sum(slot < journey.ready(journey.arrivals[-1]) for slot in slots) if journey else 0
    least = max(first + len(blockers), len(slots) - len(HOURS) + 1 if not journey else 0)
    place = draws.between(least, max(least, min(least + 3, len(slots) - 3)), "place")
    right, owner = slots[place], _owners(draws, blockers, first, place)
    own = {who: [slots[n] for n, blocker in owner.items() if blocker == who] for who in blockers}
    wrong = {f"overlooks {_who(who, people)}": own[who][0] for who in blockers}
    busy = _spans(day, f"{key}-diary", own["diary"], is_diary=True)
    busy += [Span("between", slot, slot + HOUR) for slot in slots[place + 2 : place + 3]]
    statements = []
    for number, person in enumerate(people):
        at, spans = day.ago(f"{key}-{number}", days=(1, 3)), _spans(day, f"{key}-{number}", own[person.key])
        now = Limits(person, at, tuple(spans))
        if number < len(changed):
            old, stale = _before_change(day, f"{key}-{number}-old", own[person.key], right, slots, busy)
            statements.append(replace(now, spans=tuple(old)))
            now = replace(now, at=changed[number])
            wrong[f"misses the change by {person.first}"] = stale
        statements.append(now)
    for number, arrival in enumerate(journey.arrivals[:-1] if journey else (), start=1):
        assert journey is not None
        wrong[f"believes arrival {number}"] = next(slot for slot in slots if slot >= journey.ready(arrival))
    return Puzzle(slots, right, tuple(sorted(statements, key=lambda each: each.at)), tuple(busy), wrong, journey)


def _who(key: str, people: Iterable[Person]) -> str:
    return next((f"what {person.first} wrote" for person in people if person.key == key), "the diary")


def _owners(draws: Draws, blockers: Sequence[str], first: int, place: int) -> dict[int, str]:
    """The blocker of each slot before the right one: each blocker gets one slot, and further slots in runs."""
    free = list(range(first, place))
    owner = dict(zip(draws.shuffled(free, "own"), blockers, strict=False))
    for number in free:
        if number not in owner:
            before = owner.get(number - 1)
            owner[number] = before if before and draws.chance(0.5, "run", number) else draws.pick(blockers, number)
    return dict(sorted(owner.items()))


def _spans(day: Day, name: str, slots: Sequence[datetime], *, is_diary: bool = False) -> list[Span]:
    """Spans that block exactly these slots, in order of time; they begin and end at odd times within the hour."""
    runs: list[list[datetime]] = []
    for slot in slots:
        if runs and slot - runs[-1][-1] == HOUR:
            runs[-1].append(slot)
        else:
            runs.append([slot])
    found = []
    for number, run in enumerate(runs):
        start = run[0] + timedelta(minutes=day.draws.pick((0, 0, 15, 30), "slots", name, number, "start"))
        end = run[-1] + HOUR - timedelta(minutes=day.draws.pick((0, 0, 15), "slots", name, number, "end"))
        if run[0].hour == HOURS[0] and not is_diary:
            found.append(Span("before", start.replace(hour=0, minute=0), end))
        elif run[-1].hour == HOURS[-1] and not is_diary:
            found.append(Span("after", start, start.replace(hour=23, minute=59)))
        else:
            found.append(Span("between", start, end))
    return found


def _before_change(
    day: Day, name: str, own: list[datetime], right: datetime, slots: Sequence[datetime], busy: Sequence[Span]
) -> tuple[list[Span], datetime]:
    """A person's earlier limits, and the slot that was right then."""
    later = [slot for slot in slots if slot > right and not any(span.blocks(slot) for span in busy)]
    if later and day.draws.chance(0.5, "slots", name, "frees"):
        return _spans(day, name, sorted([*own, right])), later[0]
    kept = [*own[1:], *later[-1:]]
    return _spans(day, name, kept or [slots[-1]]), own[0]


def solve_slots(key: str, puzzle: Puzzle) -> Solver:
    """The solver: the earliest slot that the facts leave free."""

    def solve(facts: Sequence[Fact]) -> frozenset[str]:
        spans = [span for fact in facts for span in _busy(fact)]
        statements: dict[str, list[Fact]] = {}
        for fact in facts:
            if fact.kind in ("before", "between", "after") and fact.about.startswith(f"{key}:"):
                statements.setdefault(fact.about, []).append(fact)
        for facts_of_person in statements.values():
            newest = max(fact.at for fact in facts_of_person if fact.at)
            spans += [_span(fact, puzzle.slots[0]) for fact in facts_of_person if fact.at == newest]
        if (journey := puzzle.journey) is not None:
            arrivals = [fact for fact in facts if fact.kind == "arrival" and fact.about == journey.code and fact.at]
            if not arrivals:
                return frozenset()
            newest_arrival = max(arrivals, key=lambda fact: fact.at or puzzle.slots[0]).value
            ready = journey.ready(datetime.fromisoformat(newest_arrival).replace(tzinfo=puzzle.slots[0].tzinfo))
            spans.append(Span("before", ready - timedelta(days=9), ready))
        free = [slot for slot in puzzle.slots if not any(span.blocks(slot) for span in spans)]
        return frozenset(slot.isoformat() for slot in free[:1])

    return solve


def _busy(fact: Fact) -> list[Span]:
    if fact.kind != "busy":
        return []
    start, end = map(datetime.fromisoformat, fact.value.split("/"))
    return [Span("between", start, end)]


def _span(fact: Fact, any_slot: datetime) -> Span:
    date, *times = fact.value.split("/")
    start, end = (
        datetime.fromisoformat(f"{date}T{time}").replace(tzinfo=any_slot.tzinfo) for time in (times[0], times[-1])
    )
    if fact.kind == "before":
        return Span("before", start.replace(hour=0, minute=0), end)
    return Span("between", start, end if fact.kind == "between" else end.replace(hour=23, minute=59))


def moment(at: datetime) -> Value:
    """A day with its time, as messages name it."""
    return Value("moment", at.replace(tzinfo=None).isoformat(timespec="minutes"))


# --- records ----------------------------------------------------------------------------------------------------------


def puzzle_records(day: Day, key: str, topic: Phrase, puzzle: Puzzle) -> list[Record]:
    """The diary's entries, and the people's messages on their limits."""
    titles = day.draws.shuffled(BUSY_ANYWHERE if puzzle.journey else BUSY, "busy", key)
    records = []
    for number, span in enumerate(puzzle.busy):
        minutes, title = round((span.end - span.start).total_seconds() / 60), titles[number % len(titles)]
        fact = Fact("busy", key, f"{span.start.isoformat()}/{span.end.isoformat()}")
        records.append(day.entry(f"{key}-busy-{number}", title, span.start, minutes, fact))
    seen: set[str] = set()
    for number, limits in enumerate(puzzle.statements):
        facts = [Fact(span.kind, f"{key}:{limits.who.key}", span.fact) for span in limits.spans]
        words = limits_in_words(day, f"{key}-{number}", limits, again=limits.who.key in seen)
        by_text = bool(limits.who.phone) and day.draws.chance(0.3, key, number, "by text")
        say, slots = text_saying if by_text else mail_saying, {"topic": topic.by(limits.who), "limits": words}
        record = say(day, f"{key}-limits-{number}", limits.at, limits.who, "state_limits", **slots)
        records.append(record.with_facts(*facts))
        seen.add(limits.who.key)
    return records


def limits_in_words(day: Day, name: str, limits: Limits, *, again: bool = False) -> str:
    """A person's sentences on the times when they can't come."""
    german = limits.who.language == "de"
    draws = day.draws.of("limits", name)
    style = draws.pick((0, 2, 4), "notation")
    parts = []
    for number, span in enumerate(limits.spans):
        date = show(Value("day", span.start.date().isoformat()), 5 if german else style)
        first, last = (_clock(at, german=german, style=style) for at in (span.start, span.end))
        form = draws.pick(_SAY[f"{limits.who.language}.{span.kind}"], "form", number)
        parts.append(form.format(day=date, first=first, last=last))
    lead = f"{draws.pick(_SAY[f'{limits.who.language}.again'], 'again')} " if again else ""
    return lead + draws.pick(("; ", ", "), "join").join(parts)


def _clock(at: datetime, *, german: bool, style: int) -> str:
    if german:
        return f"{at:%H:%M} Uhr"
    return show(Value("time", f"{at:%H:%M}"), style)


# --- duties -----------------------------------------------------------------------------------------------------------


def agree_time(
    day: Day,
    key: str,
    *,
    topic: Phrase,
    people: Sequence[Person],
    days: Sequence[datetime],
    until: datetime,
    changed: Sequence[datetime] = (),
) -> Duty:
    """The user wants a meeting of an hour with some people at the earliest time that suits all.

    The diary has a placeholder for it, which gets the time and the attendees. The first of the people gets a message.

    Args:
        topic: the topic of the meeting; no other meeting has it.
        people: the attendees; no other duty writes to them.
        days: midnights of the days in question; no other duty has them.
        until: when the first of the people has to know it.
        changed: when the first, second, … of the people changes their mind.
    """
    puzzle = draw_puzzle(day, key, days, people, changed=changed)
    title = f"{topic.en[:1].upper()}{topic.en[1:]} (time open)"
    entry = day.entry(f"{key}-entry", title, days[0].replace(hour=17), 60)
    slots = {"topic": topic.en, "names": listed([person.name for person in people]), "first": people[0].name}
    brief = _SAY["agree_brief"][0].format(**slots, days=days_in_words(days), title=title, until=until)
    return slot_duty(day, key, puzzle, topic, entry, people, people[:1], brief, until, is_new=True)


def move_meeting(
    day: Day,
    key: str,
    *,
    topic: Phrase,
    people: Sequence[Person],
    start: datetime,
    days: Sequence[datetime],
    until: datetime,
    changed: Sequence[datetime] = (),
    journey: Journey | None = None,
) -> Duty:
    """The user wants a meeting of an hour to be moved to the earliest time that suits all, and its people to know.

    Args:
        topic: the topic of the meeting; no other meeting has it.
        people: the attendees; no other duty writes to them.
        start: its present start.
        days: midnights of the days that it may be moved to; no other duty has them.
        until: when the people have to know it.
        changed: when the first, second, … of the people changes their mind.
        journey: the user's journey, before whose end they have no time.
    """
    puzzle = draw_puzzle(day, key, days, people, changed=changed, journey=journey)
    title = f"{topic.en[:1].upper()}{topic.en[1:]}"
    entry = day.entry(f"{key}-entry", title, start, 60, people=(day.user, *people))
    slots = {"topic": topic.en, "names": listed([person.name for person in people]), "days": days_in_words(days)}
    brief = _SAY["move_brief"][0].format(**slots, travel=_travel(journey), start=start, until=until)
    return slot_duty(day, key, puzzle, topic, entry, people, people, brief, until, is_new=False)


def _travel(journey: Journey | None) -> str:
    return f", and no earlier than {journey.lead} minutes after my plane has landed" if journey else ""


def listed(words: Sequence[str]) -> str:
    """Words in a row: ``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def days_in_words(days: Sequence[datetime]) -> str:
    """Days as choices: ``Monday 4 May or Tuesday 5 May``."""
    words = [f"{day:%A} {day.day} {day:%B}" for day in days]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def slot_duty(
    day: Day,
    key: str,
    puzzle: Puzzle,
    topic: Phrase,
    entry: Record,
    people: Sequence[Person],
    readers: Sequence[Person],
    brief: str,
    until: datetime,
    *,
    is_new: bool,
    own: Puzzle | None = None,
) -> Duty:
    """The duty of a puzzle; ``own`` is the part that this day shows, by default the whole puzzle."""
    own = own or puzzle
    at = day.seen(max([day.start, *(statement.at for statement in puzzle.statements)]))
    assert entry.start is not None
    assert entry.end is not None
    old = (entry.start.time(), entry.end.time())
    misleading = [
        moment(slot) for slot in dict.fromkeys(puzzle.wrong.values()) if slot < puzzle.right and slot.time() not in old
    ]
    right = moment(puzzle.right)
    sentence = f"{entry.title!r} is at {puzzle.right:%a %d %b %H:%M}" + (" with its people" if is_new else "")
    points = 4 if is_new or len(readers) > 1 else 5
    checks: list[Check] = [entry_check(f"{key}.entry", points, sentence, entry.id, puzzle.right, 60, people)]
    points = 2 if len(readers) > 2 else 4
    for number, person in enumerate(readers, start=1):
        told, sentence = f"{key}.told-{number}", f"{person.name} knows the time by {until:%H:%M}"
        # Gated: naming all times of the day to all people, without moving anything, does not tell the time.
        checks.append(message_check(told, points, sentence, person, [right], misleading, before=until, gated=True))

    def make_acts(slot: datetime, invited: Sequence[Person] = people) -> list[Act]:
        moved = entry_moved(f"{key}.0", entry.id, slot, at, until, f"{key}.entry", invited=invited if is_new else None)
        values = [moment(slot)]
        return [moved] + [
            tell(f"{key}.{number}", at, until, person, values, topic.en, f"{key}.told-{number}")
            for number, person in enumerate(readers, start=1)
        ]

    acts = make_acts(puzzle.right)
    all_checks, overlooked = frozenset(check.id for check in checks), list(puzzle.wrong)
    lapses = [
        forgotten(*acts),
        *(exchanged(name, make_acts(slot), all_checks) for name, slot in puzzle.wrong.items()),
        acts[1].instead(name="not informed"),
        acts[1].wrong_person(day.stranger),
        *acts[1].too_late(day.starts, until),
    ]
    if is_new:
        lapses.append(exchanged("somebody not invited", make_acts(puzzle.right, people[:-1]), {f"{key}.entry"}))
    duty = Duty(
        key=key,
        title=f"{'Arrange' if is_new else 'Move'} {topic.en}",
        dimension="accuracy",
        brief=brief,
        checks=checks,
        explains=[to_change(day, entry, people), *to_write_to(*people)],
        acts=acts,
        solve=solve_slots(key, puzzle),
        answers=frozenset({puzzle.right.isoformat()}),
        records=[entry, *puzzle_records(day, key, topic, own)],
        lapses=lapses,
        points=[("forgotten",), tuple(overlooked[:2]), *((name,) for name in overlooked[2:])],
        candidates=tuple(slot.isoformat() for slot in puzzle.slots),
        enact=lambda answer: make_acts(datetime.fromisoformat(answer)),
        people=tuple(people),
        knows={
            limits.who.key: f"You come to {topic.en}. " + limits_in_words(day, f"{key}-knows", limits)
            for limits in own.statements
        },
    )
    return day.add(duty)


def entry_moved(
    act_id: str,
    entry_id: str,
    start: datetime,
    at: datetime,
    until: datetime,
    *checks: str,
    invited: Sequence[Person] | None = None,
) -> Act:
    """The act of giving an entry of an hour another start, and of putting people on it."""
    fields: dict[str, object] = {"event_id": entry_id, "start": start.isoformat(), "end": (start + HOUR).isoformat()}
    if invited is not None:
        fields["attendees"] = [{"email": person.email} for person in invited]
    return Act(act_id, "calendar.update", at, until, checks, fields=fields)


def to_change(day: Day, entry: Record, people: Iterable[Person]) -> Write:
    """The changes of an entry that a duty explains; they reach at most these people."""
    to = (day.user.email, *(person.email for person in people))
    return Write(actions=("calendar.update",), ids=(entry.id,), to=to)


def exchanged(name: str, acts: Sequence[Act], loses: Iterable[str], damage: Sequence[str] = ()) -> Lapse:
    """The lapse in which these acts replace the duty's acts with the same ids."""
    return Lapse(name, lambda _: list(acts), frozenset(loses), tuple(damage))


TOPICS = phrases(__file__, "topics")
"""The subjects of meetings."""

BUSY = _SAY["busy"]
BUSY_ANYWHERE = _SAY["busy_anywhere"]
"""Titles of entries in the user's diary, at home and on a journey."""
