"""Find a time with people of several time zones: one person ranks their wishes, another may turn times down."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from proctor.scenarios.kit.checks import Check
from proctor.scenarios.kit.making.asking import to_any_time
from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.scheduling import (
    BUSY,
    HOUR,
    days_in_words,
    entry_moved,
    exchanged,
    listed,
    moment,
    to_change,
)
from proctor.scenarios.kit.making.duty import (
    Act,
    Duty,
    entry_check,
    forgotten,
    message_check,
    silence_check,
    tell,
    to_write_to,
)
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.people import Person, Phrase
from proctor.scenarios.kit.making.records import Fact, Record, latest
from proctor.scenarios.kit.making.texts import mail_saying, shown
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)

CITIES = {
    "Lisbon": (0, 60), "Edinburgh": (0, 60), "Reykjavik": (0, 0), "Lagos": (60, 60), "Vienna": (60, 120),
    "Warsaw": (60, 120), "Johannesburg": (120, 120), "Athens": (120, 180), "Helsinki": (120, 180),
    "Nairobi": (180, 180), "Istanbul": (180, 180), "Dubai": (240, 240), "Karachi": (300, 300), "Dakar": (0, 0),
    "Buenos Aires": (-180, -180), "Halifax": (-240, -180), "Bogotá": (-300, -300), "Toronto": (-300, -240),
    "Boston": (-300, -240), "Dallas": (-360, -300), "Denver": (-420, -360), "Seattle": (-480, -420),
}  # fmt: skip
"""Minutes to UTC in winter and in summer, in the months in which worlds start."""

_HERE, _AWAKE = range(8, 18), range(7, 21)
"""The hours in which a meeting may begin by the user's clock, and by those of others."""

_FARTHEST = timedelta(hours=5)
"""The greatest difference between the user's clock and another clock."""


@dataclass(frozen=True)
class Offer:
    """A person's message at a time: hours that suit them, the best first if their order counts.

    Attributes:
        slots: the hours, in the user's time.
        city: the city whose clock they use; without slots, the city for their last hours.
    """

    who: Person
    at: datetime
    slots: tuple[datetime, ...]
    city: str


@dataclass(frozen=True)
class Search:
    """A drawn search for an hour.

    Attributes:
        slots: all hours in question, in the user's time.
        people: the people who send hours; the order of the first one's hours counts.
        zones: the clocks of their cities.
        here: the user's clock.
        offers: their messages.
        busy: the hours that the user's diary blocks.
        refused: the hours that the person without a list turns down.
        unsuitable: the wishes that a person or the diary rules out.
    """

    key: str
    slots: tuple[datetime, ...]
    people: tuple[Person, ...]
    zones: Mapping[str, timezone]
    here: timezone
    offers: tuple[Offer, ...]
    busy: tuple[datetime, ...]
    refused: tuple[datetime, ...]
    unsuitable: tuple[datetime, ...]

    def zone_of(self, person: Person) -> timezone:
        """A person's clock."""
        return self.zones[[offer.city for offer in self.offers if offer.who == person][-1]]

    def solve(self, facts: Sequence[Fact], *, without: Person | None = None) -> tuple[datetime, ...]:
        """The hours to propose, in order; the last one is agreed. Empty if the facts leave none.

        Args:
            facts: the known facts.
            without: the person whose hours are overlooked.
        """
        wishes, *others = (self._read_hours(facts, person) for person in self.people if person != without)
        busy = {fact.value for fact in facts if fact.kind == "taken" and fact.about == self.key}
        fine = [slot for slot in wishes if _format_hour(slot) not in busy and all(slot in other for other in others)]
        agreed = next((place for place, slot in enumerate(fine) if slot not in self.refused), -1)
        return tuple(fine[: agreed + 1])

    def _read_hours(self, facts: Sequence[Fact], person: Person) -> list[datetime]:
        """A person's last written hours, in the user's time; without a city, they use the user's clock."""
        about = f"{self.key}:{person.key}"
        own = [fact for fact in facts if fact.kind == "hour" and fact.about == about]
        newest = max((fact.at for fact in own if fact.at), default=None)
        zone = next((self.zones[city] for city in latest(facts, "city", about)), self.here)
        return [
            datetime.fromisoformat(fact.value).replace(tzinfo=zone).astimezone(self.here)
            for fact in own
            if fact.at == newest
        ]

    def mistakes(self, facts: Sequence[Fact]) -> dict[str, tuple[datetime, ...]]:
        """The wrong proposals, by the overlooked thing; only those that differ from the right ones."""
        found = {"overlooks the diary": self.solve([fact for fact in facts if fact.kind != "taken"])}
        for number, person in enumerate(self.people):
            own = [fact for fact in facts if fact.about == f"{self.key}:{person.key}"]
            times = sorted({fact.at for fact in own if fact.at})
            if number:
                found[f"overlooks what {person.first} wrote"] = self.solve(facts, without=person)
            for count, at in enumerate(times[1:], start=1):
                old = [fact for fact in facts if fact not in own or fact.at != at]
                found[f"misses change {count} by {person.first}"] = self.solve(old)
            unclear = [fact for fact in facts if fact not in own or fact.kind != "city"]
            found[f"reads the hours of {person.first} as those of here"] = self.solve(unclear)
        right = self.solve(facts)
        different = {asked: name for name, asked in reversed(found.items()) if asked and asked != right}
        return {name: asked for asked, name in reversed(different.items())}


def draw_search(
    day: Day,
    key: str,
    days: Sequence[datetime],
    people: Sequence[Person],
    *,
    refusals: int,
    changed: Mapping[int, datetime],
    moved: datetime | None,
) -> Search:
    """A search in which the diary and each of the people but the first rule out one wish before the right one.

    Args:
        days: the midnights of the days in question; no other duty has them.
        people: the people who send hours; the first one's order counts.
        refusals: the number of wishes that the person without a list turns down.
        changed: when people send new hours, by their places in ``people``.
        moved: when the first person writes that their hours are of another city than they wrote.
    """
    draws = day.draws.of("search", key)
    zones = _draw_zones(day, key)
    first, second, former = zones
    slots = tuple(
        slot
        for midnight in days
        for slot in (midnight + hour * HOUR for hour in _HERE)
        if all(slot.astimezone(zones[city]).hour in _AWAKE for city in (first, second))
    )
    # The reason against a wish: the diary (0), one of the people, the person who turns it down, or none.
    fates = [*draws.shuffled([*range(len(people)), *[_TURNED_DOWN] * refusals], "fates"), None, None]
    wishes = dict(zip(draws.some(slots, len(fates) + 2, "wishes"), [*fates, *[_UNWISHED] * 2], strict=True))
    *_, right, spare = ranked = [slot for slot, fate in wishes.items() if fate != _UNWISHED]
    offers = []
    for number, person in enumerate(people):
        at, city = day.ago(f"{key}-{number}", days=(1, 3)), second if number % 2 else first
        now = ranked if number == 0 else sorted(slot for slot, fate in wishes.items() if fate != number)
        old = [spare, *ranked[:-1]] if number == 0 else sorted(set(ranked) - {right})
        if number in changed:
            offers.append(Offer(person, at, tuple(old), city))
            at = changed[number]
        offers.append(Offer(person, at, tuple(now), city if number or not moved else former))
    if moved:
        offers.append(Offer(people[0], moved, (), first))
    return Search(
        key=key,
        slots=slots,
        people=tuple(people),
        zones=zones,
        here=day.world.offset,
        offers=tuple(sorted(offers, key=lambda offer: offer.at)),
        busy=tuple(slot for slot, fate in wishes.items() if fate == 0),
        refused=tuple(slot for slot, fate in wishes.items() if fate == _TURNED_DOWN),
        unsuitable=tuple(slot for slot in ranked if (wishes[slot] or 0) >= 0 and wishes[slot] is not None),
    )


_TURNED_DOWN, _UNWISHED = -1, -2


def _draw_zones(day: Day, key: str) -> dict[str, timezone]:
    """Three cities with their clocks, which all differ, and differ from the user's by at most five hours."""
    found: dict[timezone, str] = {}
    for city in day.draws.shuffled(sorted(CITIES), key, "cities"):
        zone = timezone(timedelta(minutes=CITIES[city][4 < day.start.month < 10]))
        apart = abs(zone.utcoffset(None) - day.world.offset.utcoffset(None))
        if timedelta() < apart <= _FARTHEST:
            found.setdefault(zone, city)
    return {city: zone for zone, city in list(found.items())[:3]}


def _format_hour(at: datetime) -> str:
    return at.replace(tzinfo=None).isoformat(timespec="minutes")


def clock_of(zone: timezone) -> str:
    """A clock's offset from UTC: ``UTC+5:30``."""
    minutes = round(zone.utcoffset(None).total_seconds() / 60)
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'-' if minutes < 0 else '+'}{hours}{f':{rest:02}' if rest else ''}"


# --- records ----------------------------------------------------------------------------------------------------------


def _records(day: Day, topic: Phrase, search: Search) -> list[Record]:
    titles = day.draws.shuffled(BUSY, "busy", search.key)
    records = [
        day.entry(f"{search.key}-busy-{n}", titles[n], slot, 60, Fact("taken", search.key, _format_hour(slot)))
        for n, slot in enumerate(search.busy)
    ]
    seen: list[Person] = []
    for number, offer in enumerate(search.offers):
        records.append(_offer_record(day, f"{search.key}-offer-{number}", topic, search, offer, seen))
        seen.append(offer.who)
    return records


def _offer_record(day: Day, name: str, topic: Phrase, search: Search, offer: Offer, seen: Sequence[Person]) -> Record:
    draws, about = day.draws.of("offer", name), f"{search.key}:{offer.who.key}"
    city = Fact("city", about, offer.city)
    slots = {"city": offer.city, "utc": clock_of(search.zones[offer.city]), "topic": topic.en}
    if not offer.slots:
        title, body = draws.pick(_SAY["moved_titles"], "title"), draws.pick(_SAY["moved"], "body")
        return day.letter(name, offer.at, offer.who, title, body, slots, city)
    # The hours of the person who moves are written for their final city.
    zone = search.zone_of(offer.who)
    hours = [slot.astimezone(zone) for slot in offer.slots]
    words = [shown(day, f"{name}-{n}", offer.who, moment(hour)) for n, hour in enumerate(hours)]
    facts = [*(Fact("hour", about, _format_hour(hour)) for hour in hours), city]
    is_ranked, again = offer.who == search.people[0], offer.who in seen
    row = ", then ".join(words) if is_ranked else draws.pick(("; ", ", ", " or "), "join").join(words)
    if draws.chance(0.5, "own words"):
        slots["hours"] = "\n".join(f"{n}) {text}" for n, text in enumerate(words, start=1)) if is_ranked else row
        first, later = (_SAY["ranked"], _SAY["ranked_again"]) if is_ranked else (_SAY["listed"], _SAY["listed_again"])
        title, forms = draws.pick(_SAY["titles"], "title"), later if again else first
        return day.letter(name, offer.at, offer.who, title, draws.pick(forms, "body"), slots, *facts)
    lead = draws.pick(_SAY["leads"] if is_ranked else _SAY["free_leads"], "lead")
    lead = draws.pick(_SAY["again"], "again") + lead if again else lead
    limits = f"{lead.format(**slots)} {row}"
    record = mail_saying(day, name, offer.at, offer.who, "state_limits", topic=topic.en, limits=limits)
    return record.with_facts(*facts)


# --- the duty ---------------------------------------------------------------------------------------------------------


def find_slot(
    day: Day,
    key: str,
    *,
    topic: Phrase,
    people: Sequence[Person],
    asked_one: Person,
    days: Sequence[datetime],
    turn: int,
    until: datetime,
    refusals: int,
    changed: Mapping[int, datetime] = {},
    moved: datetime | None = None,
) -> Duty:
    """The user wants an hour with people in other time zones; one of them says yes or no to single proposals.

    The participant proposes the first person's best wish that suits the others and the diary. After a no, it proposes
    the next wish. It then enters the agreed hour and tells the others in their own time.

    Args:
        topic: the topic of the meeting; no other meeting has it.
        people: the people who send hours; no other duty writes to them. The first one's order counts.
        asked_one: the person who says yes or no, with the user's clock.
        days: midnights of the days in question; no other duty has them.
        turn: the turn in which all facts are known, and the first proposal is possible.
        until: when the people have to know it; by then, the turn ``turn`` + ``refusals`` + 1 has begun.
        refusals, changed, moved: as in ``draw_search``.
    """
    search = draw_search(day, key, days, people, refusals=refusals, changed=changed, moved=moved)
    title = f"{topic.en[:1].upper()}{topic.en[1:]} (time open)"
    entry = day.entry(f"{key}-entry", title, days[0].replace(hour=21), 60)
    records = _records(day, topic, search)
    facts = [fact for record in records for fact in record.facts]
    proposed, everybody = search.solve(facts), (*people, asked_one)
    counter = day.draws.pick(search.unsuitable, key, "counter") if day.difficulty > 1 and search.refused else None

    def make_acts(asked: Sequence[datetime]) -> list[Act]:
        final, acts = day.turn(turn + len(asked)), list[Act]()
        for n, slot in enumerate(asked):
            at, value = day.turn(turn + n), moment(slot)
            acts.append(Act(f"{key}.ask-{n}", "tell", at, at, (f"{key}.asked-{n}",), asked_one, (value,), topic.en))
        acts.append(entry_moved(f"{key}.entry", entry.id, asked[-1], final, until, f"{key}.entry", invited=everybody))
        for n, person in enumerate(people):
            value = moment(asked[-1].astimezone(search.zone_of(person)))
            acts.append(tell(f"{key}.tell-{n}", final, until, person, [value], topic.en, f"{key}.told-{n}"))
        return acts

    day.wish(
        _SAY["rules"], zone=day.world.timezone.rpartition("/")[2].replace("_", " "), utc=clock_of(day.world.offset)
    )
    acts = make_acts(proposed)
    refused = {"takes what was turned down": proposed[:1]} if search.refused else {}
    mistakes = {**search.mistakes(facts), **refused}
    if counter:
        mistakes["takes the counter-proposal"] = (proposed[0], counter)
    notice = acts[-len(people)]
    lapses = [
        forgotten(*acts),
        *(exchanged(name, make_acts(asked), _find_losses(search, proposed, asked)) for name, asked in mistakes.items()),
        notice.wrong_value(moment(proposed[-1]), name="names the user's time"),
        notice.instead(name="not informed"),
        notice.wrong_person(day.stranger),
        notice.late(next(start for start in day.starts if start > until)),
    ]
    others = [name for name in mistakes if name not in refused]
    duty = Duty(
        key=key,
        title=f"Find an hour for {topic.en}",
        dimension="accuracy",
        brief=_SAY["brief"][0].format(
            topic=topic.en,
            days=days_in_words(days),
            people=listed([person.name for person in everybody]),
            first=people[0].name,
            asked=asked_one.name,
            title=title,
            until=until,
        ),
        checks=_checks(day, search, entry, proposed, asked_one, turn, until),
        explains=[to_change(day, entry, everybody), *to_write_to(*everybody, about=records)],
        acts=acts,
        solve=lambda known: frozenset({_in_a_row(search.solve(known))} - {""}),
        answers=frozenset({_in_a_row(proposed)}),
        records=[entry, *records],
        lapses=lapses,
        points=[("forgotten",), ("names the user's time", *refused), *((other,) for other in others)],
        candidates=tuple(_in_a_row((*proposed[:-1], slot)) for slot in search.slots if slot not in proposed[:-1]),
        enact=lambda answer: make_acts([day.instant(Value("moment", time)) for time in answer.split(" > ")]),
        people=everybody,
        replies={asked_one.key: [*_answers(day, search, proposed[-1], counter), to_any_time(asked_one, day.draws)]},
        knows={
            asked_one.key: f"You come to {topic.en}. You can't at {', '.join(map(_spoken, search.refused))}, but at any "
            "other time. Say yes or no to the one time that is proposed to you."
        },
    )
    return day.add(duty)


def _in_a_row(asked: Sequence[datetime]) -> str:
    return " > ".join(map(_format_hour, asked))


def _spoken(at: datetime) -> str:
    return f"{at:%A} {at.day} {at:%B} at {at:%H:%M}"


def _find_losses(search: Search, proposed: Sequence[datetime], asked: Sequence[datetime]) -> frozenset[str]:
    """The checks that are lost if other hours are proposed, and the last of them is agreed."""
    key = search.key
    is_misled = asked[-1] in _others(search, proposed)
    lost = {f"{key}.asked-{n}" for n, slot in enumerate(proposed) if is_misled or slot not in asked[n:]}
    if asked[-1] != proposed[-1]:
        lost |= {f"{key}.entry", *(f"{key}.told-{n}" for n in range(len(search.people)))}
    if not set(asked).isdisjoint(search.unsuitable):
        lost.add(f"{key}.spared")
    return frozenset(lost)


def _others(search: Search, proposed: Sequence[datetime]) -> list[datetime]:
    """The hours that must not be proposed last; naming the end of a right one is not proposing another."""
    fine = {*proposed, *(slot + HOUR for slot in proposed)}
    return [slot for slot in search.slots if slot not in fine]


def _checks(
    day: Day,
    search: Search,
    entry: Record,
    proposed: Sequence[datetime],
    asked_one: Person,
    turn: int,
    until: datetime,
) -> list[Check]:
    key, right, name = search.key, proposed[-1], asked_one.name
    wishes = dict.fromkeys(slot for offer in search.offers if offer.who == search.people[0] for slot in offer.slots)
    other = list(map(moment, _others(search, proposed)))
    checks: list[Check] = []
    for n, slot in enumerate(proposed):
        sentence = f"{slot:%a %d %b %H:%M} was proposed to {name}" + (", after the answer to the one before" * (n > 0))
        after = day.turn(turn + n) if n else None
        value = [moment(slot)]
        asked = f"{key}.asked-{n}"
        # The first hour can be named by chance, the next ones come after an answer.
        notice = message_check(asked, 2, sentence, asked_one, value, other, after=after, before=until, gated=n == 0)
        checks.append(notice)
    sentence, people = f"{entry.title!r} is at {right:%a %d %b %H:%M} with its people", (*search.people, asked_one)
    checks.append(entry_check(f"{key}.entry", 4, sentence, entry.id, right, 60, people))
    for n, person in enumerate(search.people):
        zone = search.zone_of(person)
        # A message with the time of both clocks is right, even if another wish has the same time by the other clock.
        wrong = [moment(slot.astimezone(zone)) for slot in wishes if slot != right]
        wrong = [value for value in wrong if value != moment(right)]
        sentence = f"{person.name} knows by {until:%H:%M} when it is by their own clock"
        value = [moment(right.astimezone(zone))]
        checks.append(message_check(f"{key}.told-{n}", 2, sentence, person, value, wrong, before=until, gated=True))
    sentence = f"{name} was asked only for hours that suit the others"
    spared = silence_check(f"{key}.spared", 2, sentence, asked_one, map(moment, search.unsuitable))
    return [*checks, spared]


def _answers(day: Day, search: Search, right: datetime, counter: datetime | None) -> list[dict[str, Any]]:
    """The scripted replies to proposals: yes to the right hour, no to the refused ones, yes to any other."""
    draws = day.draws.of("answers", search.key)
    fine = draws.pick(_SAY["yes"], "yes")
    replies = [([right], fine)]
    for number, slot in enumerate(search.refused):
        no = draws.pick(_SAY["no"], number)
        if counter and number == 0:
            no += f" {draws.pick(_SAY['instead'], number).format(slot=_spoken(counter))}"
        replies.append(([slot], no))
    replies.append((list(search.slots), fine))
    return [
        {"moment": [_format_hour(slot) for slot in slots], "modality": modality, "reply": reply}
        for slots, reply in replies
        for modality in ("email", "sms")
    ]
