"""Worlds: a user, the people around them, and the background of their mailbox, texts and diary.

The background keeps out of the way of duties:

* Its projects are named after birds (``World.projects``); its things are handbooks, signs, shelves and the like.
* Its amounts are between 2.01 and 9.99, never without cents. Duties use larger ones.
* Its records never ask for anything, name a future time, promise, change or correct a fact, or are open invitations.
* Future entries are private, before 08:00 or from 18:30 on (``FREE_FROM``, ``FREE_UNTIL``); between them
  the diary is free for duties from the day of ``World.start`` on.
"""

import datetime as dt
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from functools import cache
from typing import Literal

from proctor.scenarios.kit.making.draws import Draws
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.names import AMBIGUOUS, first_names, gender, last_names
from proctor.scenarios.kit.making.people import Language, Person, Relation, Style
from proctor.scenarios.kit.making.records import Record
from proctor.scenarios.kit.making.voices import SERVICE, STYLES, day, money, phrase, write

_SAY = forms(__file__)

Size = Literal["S", "M", "L"]

FREE_FROM, FREE_UNTIL = time(8), time(18, 30)
"""Between these times, the background leaves the diary free, from the day's start on."""


@dataclass(frozen=True)
class _Amounts:
    """The amounts of a world of one size; ``span`` is the number of days before the start."""

    mails: int
    texts: int
    entries: int
    services: int
    projects: int
    organisations: int
    span: int
    people: tuple[tuple[Relation, int], ...]


_SIZES: dict[Size, _Amounts] = {
    "S": _Amounts(60, 8, 8, 9, 2, 5, 10, (("manager", 1), ("colleague", 4), ("client", 2), ("vendor", 2),
                  ("friend", 1), ("family", 1), ("stranger", 1))),
    "M": _Amounts(500, 60, 45, 26, 6, 20, 31, (("manager", 1), ("colleague", 24), ("client", 12), ("vendor", 9),
                  ("friend", 6), ("family", 4), ("stranger", 4))),
    "L": _Amounts(3000, 300, 300, 70, 20, 80, 365, (("manager", 1), ("colleague", 120), ("client", 70), ("vendor", 50),
                  ("friend", 25), ("family", 9), ("stranger", 25))),
}  # fmt: skip
_EXTRAS: tuple[Relation, ...] = ("colleague", "client", "friend", "vendor", "family", "colleague", "client", "stranger")
_PLACES = (  # time zone, minutes to UTC in winter and in summer, currency, home locale
    ("Europe/London", 0, 60, "GBP", "en_GB"),
    ("Europe/Dublin", 0, 60, "EUR", "en_IE"),
    ("Europe/Berlin", 60, 120, "EUR", "en_GB"),
    ("Europe/Paris", 60, 120, "EUR", "en_GB"),
    ("America/New_York", -300, -240, "USD", "en_US"),
    ("America/Chicago", -360, -300, "USD", "en_US"),
)
_STARTS = ((1, 12, 30), (2, 1, 14), (5, 4, 29), (6, 1, 30), (7, 1, 31), (9, 1, 24), (11, 10, 25))
"""Months with the first and last day for a world's start: no clock change in the three weeks after it."""

_KIN = {"f": ("sister", "aunt", "mother", "cousin"), "m": ("brother", "uncle", "father", "cousin")}


@dataclass(frozen=True)
class World:
    """A user's life, in which days take place.

    Attributes:
        people: all except the user, by relation; no first name equals or begins another.
        services: senders that are not people, such as shops and newsletters.
        organisations: the names of employers; the user's employer is the first.
        projects: names of the background's projects; duties use others.
        timezone: its IANA name; ``offset`` is fixed for the whole world.
        currency: the ISO code of the user's money.
        start: the moment the day begins, with the offset.
        records: the background, by time.
    """

    size: Size
    user: Person
    people: tuple[Person, ...]
    services: tuple[Person, ...]
    organisations: tuple[str, ...]
    projects: tuple[str, ...]
    timezone: str
    offset: dt.timezone
    currency: str
    start: datetime
    records: tuple[Record, ...] = ()
    roles: dict[str, Person] = field(default_factory=dict, compare=False, repr=False)

    @property
    def everyone(self) -> tuple[Person, ...]:
        """The user, the people, and the people added by ``cast``."""
        emails = {person.email for person in self.people}
        added = tuple(person for person in self.roles.values() if person.email not in emails)
        return (self.user, *(self._as_cast(person) for person in self.people), *added)

    def _as_cast(self, person: Person) -> Person:
        return next((role for role in self.roles.values() if role.email == person.email), person)

    def cast(self, draws: Draws, key: str, relation: Relation | None = None) -> Person:
        """Find a person without a part for the part ``key``; the same key returns the same person.

        If all people with the relation have parts, a new person is made.
        """
        if key not in self.roles:
            taken = {person.email for person in self.roles.values()}
            fitting = (person for person in self.people if relation in (None, person.relation))
            free = [person for person in fitting if person.email not in taken]
            chosen = draws.pick(free, "cast", key) if free else self.newcomer(draws.of("cast", key), relation)
            self.roles[key] = chosen
        return self.roles[key]

    def newcomer(self, draws: Draws, relation: Relation | None) -> Person:
        """A person with a name, an address and a number that are new to the world."""
        maker = _People(draws, self.organisations, [*self.everyone, *self.services], "en_GB", 0.0)
        return maker.add(f"newcomer-{len(self.roles)}", relation or "colleague")


def make_world(
    draws: Draws,
    size: Size = "S",
    *,
    language_mix: float = 0.15,
    moment: Draws | None = None,
    latest_weekday: int = 4,
    known: Sequence[Person] = (),
) -> World:
    """A world of a size.

    Args:
        size: S has some 60 mails and 12 to 20 people, M 500 and 60 in a month, L 3,000 and 300 in a year.
        language_mix: The share of people who write German; 0 for English only.
        moment: Chooses place and time; worlds with the same ``moment`` can meet.
        latest_weekday: The last weekday on which it may start (0 is Monday); a later start moves back to Monday.
        known: People of other worlds that this world can meet; their names and numbers are not used again.
    """
    moment = moment or draws
    zone, winter, summer, currency, home = moment.pick(_PLACES, "place")
    start = _start(moment.of("start"), winter, summer, latest_weekday)
    amounts = _SIZES[size]
    organisations = _organisations(draws.of("organisations"), amounts.organisations)
    people = _People(draws.of("people"), organisations, known, home, language_mix)
    user = people.add("user", "self", locale=home)
    extra = _EXTRAS[: draws.below(len(_EXTRAS) + 1, "extra people")] if size == "S" else ()
    for relation, count in amounts.people:
        for number in range(1, count + extra.count(relation) + 1):
            people.add(f"{relation}-{number}", relation)
    world = World(
        size=size, user=user, people=tuple(people.made[1:]),
        services=_services(draws.of("services"), amounts.services, language_mix), organisations=organisations,
        projects=_distinct(draws.of("projects"), "project", amounts.projects), timezone=zone,
        offset=dt.timezone(start.utcoffset() or timedelta()), currency=currency, start=start,
    )  # fmt: skip
    return replace(world, records=tuple(_Background(draws.of("background"), world, amounts).records()))


def _start(draws: Draws, winter: int, summer: int, latest_weekday: int) -> datetime:
    month, first, last = draws.pick(_STARTS, "month")
    year, day = draws.between(2026, 2029, "year"), draws.between(first, last, "day")
    zone = dt.timezone(timedelta(minutes=summer if 4 < month < 10 else winter))
    moment = datetime(year, month, day, 8, 5 * draws.below(13, "minute") % 60, tzinfo=zone)
    shift = {5: -1, 6: -2 if day > 2 else 1}.get(moment.weekday(), 0)
    moment += timedelta(days=shift)
    return moment if moment.weekday() <= latest_weekday else moment - timedelta(days=moment.weekday())


def _distinct(draws: Draws, rule: str, count: int) -> tuple[str, ...]:
    """Different phrases of a rule, at most ``count``."""
    phrases: dict[str, None] = {}
    for attempt in range(count * 6):
        if len(phrases) < count:
            phrases.setdefault(phrase(draws.of(attempt), rule))
    return tuple(phrases)


def _organisations(draws: Draws, count: int) -> tuple[str, ...]:
    surnames = draws.some(last_names("en_GB"), count, "surname")
    return tuple(f"{surname} {phrase(draws.of('kind', number), 'firmkind')}" for number, surname in enumerate(surnames))


_FOLDED = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"}


@cache
def slug(text: str) -> str:
    """A text as a part of an address: lower-case English letters and digits."""
    folded = re.sub("[äöüß]", lambda match: _FOLDED[match[0]], text.lower())
    plain = unicodedata.normalize("NFKD", folded).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "", plain)


# --- people -----------------------------------------------------------------------------------------------------------


class _People:
    """Makes people whose names, addresses and numbers differ."""

    def __init__(
        self, draws: Draws, organisations: Sequence[str], known: Sequence[Person], home: str, german: float
    ) -> None:
        self.draws, self.organisations, self.home, self.german = draws, organisations, home, german
        self.made: list[Person] = []
        self.firsts = {person.first for person in known}
        self.lasts = {person.last for person in known}
        self.phones = {person.phone for person in known}

    def add(self, key: str, relation: Relation, *, locale: str | None = None) -> Person:
        draws = self.draws.of(key)
        language: Language = "de" if relation != "self" and draws.chance(self.german, "language") else "en"
        locale = locale or ("de_DE" if language == "de" else self._locale(draws))
        first, last = self._first(draws, locale), self._last(draws, locale, relation)
        organisation = self._organisation(draws, relation)
        person = Person(
            key=key, first=first, last=last, email=self._email(first, last, organisation, draws),
            phone=self._phone(draws, locale, relation), role=_role(draws, relation, language, first),
            organisation=organisation, relation=relation, style=_style(draws, locale, language, relation),
            language=language,
        )  # fmt: skip
        self.made.append(person)
        return person

    def _locale(self, draws: Draws) -> str:
        return draws.pick((self.home,) * 5 + ("en_GB", "en_US", "en_IE", "fr_FR", "de_DE"), "locale")

    def _first(self, draws: Draws, locale: str) -> str:
        """A first name that neither begins another one nor begins with it."""

        def is_free(name: str) -> bool:
            alike = (name.startswith(other) or other.startswith(name) for other in self.firsts)
            return name not in AMBIGUOUS and name not in self.lasts and not any(alike)

        name = _first_free(draws.of("first"), first_names(locale), is_free)
        self.firsts.add(name)
        return name

    def _last(self, draws: Draws, locale: str, relation: Relation) -> str:
        if relation == "family" and self.made and draws.chance(0.6, "same last name"):
            return self.made[0].last
        taken = self.lasts | self.firsts | AMBIGUOUS
        name = _first_free(draws.of("last"), last_names(locale), lambda name: name not in taken)
        self.lasts.add(name)
        return name

    def _organisation(self, draws: Draws, relation: Relation) -> str:
        others = self.organisations[1:] or self.organisations
        half = max(1, len(others) // 2)
        if relation in ("self", "manager", "colleague"):
            return self.organisations[0]
        if relation in ("friend", "family"):
            return ""
        return draws.pick(others[:half] if relation == "client" else others[half:] or others, "organisation")

    @staticmethod
    def _email(first: str, last: str, organisation: str, draws: Draws) -> str:
        domain = f"{slug(organisation)}.example" if organisation else draws.pick(_SAY["mailboxes"], "mailbox")
        return f"{slug(first)}.{slug(last)}@{domain}"

    def _phone(self, draws: Draws, locale: str, relation: Relation) -> str | None:
        if relation == "stranger":
            return None
        for attempt in range(1000):
            form, areas, digits = _NUMBERS[locale]
            own = draws.of("phone", attempt)
            number = f"{form.format(own.pick(areas, 'area'))}{own.below(10**digits, 'digits'):0{digits}d}"
            if number not in self.phones:
                self.phones.add(number)
                return number
        return None


def _first_free(draws: Draws, names: Sequence[str], is_free: Callable[[str], bool]) -> str:
    """A drawn name that is not taken."""
    for attempt in range(1000):
        if is_free(name := draws.pick(names, attempt)):
            return name
    raise ValueError(f"none of {len(names)} names is left")


# Numbers that regulators reserve for films and books, so no one has them: a form, area codes, further digits.
_NUMBERS = {
    "en_GB": ("+44{}900", ("7700",), 3),
    "en_IE": ("+353{}91", ("20",), 5),
    "en_US": ("+1{}55501", ("212", "312", "415", "617", "773", "202", "206"), 2),
    "de_DE": ("+49{}", ("3023125", "6990009", "4066969", "2214710", "8999998"), 3),
    "fr_FR": ("+336{}98", ("39",), 4),
}


def _role(draws: Draws, relation: Relation, language: Language, first: str) -> str:
    if relation == "manager":
        return draws.pick(("head of operations", "managing director", "head of department"), "role")
    if relation == "friend":
        return "friend"
    if relation == "family":
        return draws.pick(_KIN.get(gender(first), ("cousin",)), "role")
    return draws.pick(_SAY["german_roles"] if language == "de" else _SAY["roles"], "role")


def _style(draws: Draws, locale: str, language: Language, relation: Relation) -> Style:
    if locale in ("fr_FR", "de_DE") and language == "en" and draws.chance(0.7, "foreign"):
        return "non_native"
    own: tuple[Style, ...] = ("warm", "chatty", "careless", "terse")
    if relation in ("friend", "family"):
        return draws.pick(own, "style")
    if language == "en" and locale.startswith("en"):
        return draws.pick(("formal", "formal", *own), "style")
    return draws.pick(STYLES, "style")


_SENDERS = (  # a service's kind, the rule of its name, its mailbox
    ("newsletter", "title", "news"), ("promotion", "shop", "hello"), ("system", "systemname", "no-reply"),
    ("newsletter", "title", "letter"), ("promotion", "shop", "offers"), ("network", "network", "notify"),
    ("subscription", "subscription", "billing"), ("newsletter", "title", "post"), ("system", "systemname", "updates"),
)  # fmt: skip


def _services(draws: Draws, count: int, german: float) -> tuple[Person, ...]:
    made: dict[str, Person] = {}
    number = 0
    while len(made) < count:
        person = _service(draws.of(number), number, german)
        made.setdefault(person.name, person)
        number += 1
    return tuple(made.values())


def _service(draws: Draws, number: int, german: float) -> Person:
    kind, rule, mailbox = _SENDERS[number % len(_SENDERS)]
    language: Language = "de" if kind in ("newsletter", "promotion") and draws.chance(german, "language") else "en"
    name = _shop(draws) if rule == "shop" else phrase(draws, rule, language if rule == "title" else "en")
    first, _, last = name.partition(" ")
    return Person(
        key=f"{kind}-{number}", first=first, last=last or "Verlag", email=f"{mailbox}@{slug(name)}.example",
        phone=None, role=SERVICE, organisation=name, relation="vendor", style=draws.pick(STYLES, "style"),
        language=language,
    )  # fmt: skip


def _shop(draws: Draws) -> str:
    one, other = draws.some(last_names("en_GB"), 2, "shop")
    return f"{one} & {other}"


# --- background -------------------------------------------------------------------------------------------------------


class _Background:
    """Makes the records of a world that no duty is about."""

    def __init__(self, draws: Draws, world: World, amounts: _Amounts) -> None:
        self.draws, self.world, self.amounts = draws, world, amounts
        self.by_relation: dict[Relation, list[Person]] = {}
        for person in world.people:
            self.by_relation.setdefault(person.relation, []).append(person)
        self.midnight = world.start.replace(hour=0, minute=0, second=0, microsecond=0)

    def records(self) -> list[Record]:
        made = [*self.mails(), *self.texts(), *self.entries()]
        return sorted(made, key=lambda record: (record.at, record.id))

    # mails

    def mails(self) -> list[Record]:
        made: list[Record] = []
        number = 0
        while len(made) < self.amounts.mails:
            made.extend(self.some_mails(self.draws.of("mail", number), self.amounts.mails - len(made)))
            number += 1
        return made

    def some_mails(self, draws: Draws, room: int) -> list[Record]:
        if room > 1 and draws.chance(0.16, "thread"):
            return self.thread(draws, min(room, draws.between(2, 5, "length")))
        if draws.chance(0.7, "service"):
            return [self.from_service(draws)]
        return [self.from_person(draws)]

    def from_service(self, draws: Draws) -> Record:
        author = draws.pick(self.world.services, "service")
        act, slots = self.notice(draws, author)
        return self.mail(draws, author, self.world.user, act, self.moment(draws, 24 * 7), slots)

    def notice(self, draws: Draws, author: Person) -> tuple[str, dict[str, str]]:
        """The speech act and its slots for a mail of this kind of service."""
        kind = author.key.split("-")[0]
        language = author.language
        if kind == "newsletter":
            return "newsletter", {"title": author.organisation}
        if kind == "promotion":
            return "promotion", {"shop": author.organisation, "offer": phrase(draws.of("offer"), "offer", language)}
        if kind == "system":
            return "system_notice", {
                "system": author.organisation,
                "thing": phrase(draws.of("thing"), "feature", language),
            }
        if kind == "network":
            return "social_notice", {"service": author.organisation, "who": self.somebody(draws)}
        return "send_receipt", self.receipt(draws, author)

    def somebody(self, draws: Draws) -> str:
        """The name of a person outside the world."""
        taken = {person.first for person in self.world.people}
        first = _first_free(draws, first_names("en_IE"), lambda name: name not in taken)
        return f"{first} {draws.pick(last_names('en_US'), 'last')}"

    def receipt(self, draws: Draws, author: Person) -> dict[str, str]:
        cents = 100 * draws.between(2, 9, "whole") + draws.between(1, 99, "cents")
        at = self.moment(draws, 24 * 7)
        date = day(at, author.style, author.language)
        amount = money(cents, self.world.currency, author.style, author.language)
        return {"merchant": author.organisation, "amount": amount, "date": date, "number": draws.hex(8, "no").upper()}

    def from_person(self, draws: Draws) -> Record:
        author = draws.pick(self.writers("friend", "family", "colleague", "client"), "person")
        act = "family_note" if author.relation == "family" else "small_talk"
        slots: dict[str, str] = {}
        if author.relation in ("colleague", "client") and draws.chance(0.5, "thank"):
            act, slots = "thank", {"thing": phrase(draws.of("thing"), "work_thing", author.language)}
        return self.mail(draws, author, self.world.user, act, self.moment(draws, 24 * 5), slots)

    def writers(self, *relations: Relation) -> list[Person]:
        return [person for relation in relations for person in self.by_relation.get(relation, ())]

    def thread(self, draws: Draws, length: int) -> list[Record]:
        """Mails on a thing of a project, from a colleague or client and the user in turn, in one language."""
        other = draws.pick(self.writers("colleague", "client", "manager"), "other")
        project = draws.pick(self.world.projects, "project")
        one, two = (phrase(draws.of("thing", number), "work_thing", other.language) for number in (0, 1))
        at = self.moment(draws, 10, latest=length)
        made: list[Record] = []
        for number in range(length):
            author, reader = (self.world.user, other) if number % 2 else (other, self.world.user)
            step = draws.of(number)
            thing = one if number == 0 or step.chance(0.7, "same") else two
            if 0 < number == length - 1 and step.chance(0.5, "done"):
                result = phrase(step.of("result"), "result", other.language)
                act, slots = "report_done", {"task": thing, "result": result}
            elif number == 0 or step.chance(0.25, "note"):
                act, slots = "project_note", {"project": project, "thing": thing}
            else:
                act, slots = self.answer(step, thing, project, other.language)
            before = made[-1] if made else None
            made.append(self.mail(step, author, reader, act, at, slots, before, language=other.language))
            at = self.within_day(step, at + timedelta(minutes=step.between(20, 900, "pause")))
        return [record for record in made if record.at < self.world.start]

    def answer(self, draws: Draws, thing: str, project: str, language: Language) -> tuple[str, dict[str, str]]:
        """The speech act and its slots for a later mail of a thread."""
        act = draws.pick(("give_status", "give_status", "meeting_minutes", "thank"), "act")
        if act == "give_status":
            return act, {"thing": thing, "status": phrase(draws.of("status"), "status", language)}
        if act == "thank":
            return act, {"thing": thing}
        count = draws.between(2, 4, "decisions")
        lines = [phrase(draws.of("decision", number), "decision", language) for number in range(count)]
        return act, {"topic": project, "decisions": "\n".join(f"- {line}" for line in dict.fromkeys(lines))}

    def mail(
        self, draws: Draws, author: Person, reader: Person, act: str, at: datetime, slots: dict[str, str],
        reply_to: Record | None = None, *, language: Language | None = None,
    ) -> Record:  # fmt: skip
        text = write(draws.of("text"), act, author, reader, slots, reply_to=reply_to, language=language)
        mail_id = draws.hex(12, "id")
        return Record(
            id=mail_id, kind="mail", at=at, author=author, readers=(reader,), title=text.subject, body=text.body,
            thread=reply_to.thread if reply_to else f"t{mail_id}",
            reply_to=reply_to.id if reply_to else None, fields=self.place(draws, author, at),
        )  # fmt: skip

    def place(self, draws: Draws, author: Person, at: datetime) -> dict[str, object]:
        """The fields for a mail's folder, and whether it is read."""
        if author == self.world.user:
            return {"folder": "sent", "is_read": True}
        age = self.world.start - at
        share = 0.55 if self.world.size == "S" else 0.93
        old = age > timedelta(days=2) and draws.chance(share, "archived")
        unread = age < timedelta(hours=20) and draws.chance(0.6, "unread")
        overlooked = author.role == SERVICE and not old and draws.chance(0.3, "overlooked")
        return {"folder": "archive" if old else "inbox", "is_read": not (unread or overlooked)}

    def moment(self, draws: Draws, hours: int, latest: int = 0) -> datetime:
        """A time before the start; with few hours, in the working time of a working day.

        Args:
            hours: 10 for working hours; more for early and late, and weekends too.
            latest: the least number of days before the start.
        """
        days = draws.between(latest, self.amounts.span, "days")
        if hours > 10:
            at = self.midnight - timedelta(days=days) + timedelta(minutes=draws.between(6 * 60, 22 * 60, "minute"))
            return at if at < self.world.start else at - timedelta(days=1)
        at = self.midnight - timedelta(days=max(1, days)) + timedelta(minutes=draws.between(500, 1080, "minute"))
        return at - timedelta(days=max(0, at.weekday() - 4))

    def within_day(self, draws: Draws, at: datetime) -> datetime:
        """The time itself, or the next working morning."""
        if at.hour >= 19 or at.hour < 8:
            at = at.replace(hour=8, minute=draws.below(60, "morning")) + timedelta(days=at.hour >= 19)
        return at + timedelta(days=7 - at.weekday()) if at.weekday() > 4 else at

    # texts

    def texts(self) -> list[Record]:
        return [self.sms(self.draws.of("text", number)) for number in range(self.amounts.texts)]

    def sms(self, draws: Draws) -> Record:
        other = draws.pick(self.writers("friend", "family", "colleague"), "other")
        sent = draws.chance(0.3, "sent")
        author, reader = (self.world.user, other) if sent else (other, self.world.user)
        act = "family_note" if other.relation == "family" and not sent else "small_talk"
        text = write(draws.of("text"), act, author, reader, {}, greet=False, sign=False)
        return Record(
            id=draws.hex(12, "id"), kind="text", at=self.moment(draws, 24), author=author, readers=(reader,),
            title="", body=text.body, fields={"is_read": True},
        )  # fmt: skip

    # diary

    def entries(self) -> list[Record]:
        return [self.entry(self.draws.of("entry", number)) for number in range(self.amounts.entries)]

    def entry(self, draws: Draws) -> Record:
        return self.ahead(draws) if draws.chance(0.25, "ahead") else self.past(draws)

    def past(self, draws: Draws) -> Record:
        """A meeting that is over."""
        start = self.moment(draws, 10).replace(minute=15 * draws.below(4, "quarter"))
        writers = self.writers("colleague", "client")
        others = dict.fromkeys(draws.pick(writers, "other", n) for n in range(draws.between(1, 3, "others")))
        project = draws.pick(self.world.projects, "project")
        title = f"{project}: {phrase(draws.of('title'), 'roundtitle')}"
        return self.in_diary(draws, title, start, draws.pick((30, 45, 60), "length"), tuple(others))

    def ahead(self, draws: Draws) -> Record:
        """A private entry, early or late, in the days to come."""
        day = self.midnight + timedelta(days=draws.between(0, 14, "day"))
        early = draws.chance(0.4, "early")
        start = day + timedelta(minutes=6 * 60 + 30 if early else 18 * 60 + 30 + 15 * draws.below(6, "quarter"))
        return self.in_diary(draws, phrase(draws.of("title"), "leisure"), start, 60, ())

    def in_diary(self, draws: Draws, title: str, start: datetime, minutes: int, others: tuple[Person, ...]) -> Record:
        made = min(start, self.world.start) - timedelta(
            days=draws.between(2, 20, "made"), minutes=draws.below(600, "m")
        )
        return Record(
            id=draws.hex(12, "id"), kind="entry", at=made, author=self.world.user, readers=others, title=title,
            body="", start=start, end=start + timedelta(minutes=minutes),
            fields={"location": "", "description": "", "responses": {one.email: "accepted" for one in others}},
        )  # fmt: skip
