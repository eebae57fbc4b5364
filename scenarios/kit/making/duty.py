"""A duty: one thing that a day asks for, with its content, checks and solution.

A duty type is a function that makes a ``Duty``: its records, checks, explained actions, oracle, lapses, and its solver.
The audit (``proctor.local.audit``) checks that they agree.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from proctor.language.reader.mentions import Kind
from proctor.scenarios.kit.checks import USER, Check, EntryCheck, MessageCheck, OnceCheck, SilenceCheck, Write
from proctor.scenarios.kit.making.people import Person
from proctor.scenarios.kit.making.records import Fact, Record
from proctor.scenarios.kit.values import Value
from purple_sdk.protocol.results import Dimension

Channel = Literal["mail", "text", "chat"]
SENDS = ("email.send", "email.reply", "email.reply_all", "email.forward", "email.send_draft")
FILES = ("email.archive", "email.label", "email.unlabel", "email.star", "email.unstar", "email.move")

Solver = Callable[[Sequence[Fact]], frozenset[str]]
"""All answers that fit the facts; none or several if the facts do not decide."""


@dataclass(frozen=True)
class Act:
    """One step of the oracle.

    Attributes:
        id: unique in the day.
        action: ``tell`` (a message in words), or the name of another action (``purple_sdk.protocol.actions``).
        at, until: it is done in a turn that begins between these times.
        checks: the ids of the checks that are lost without it.
        to, values, topic: for ``tell``, the reader (None is the user), the named values, and the topic.
        channel: for ``tell``, the channel.
        others: for ``tell``, further channels that are right.
        reply_to: for ``tell`` by mail, the id of the mail that it answers; None for a new one.
        fields: for other actions, the request's fields.
    """

    id: str
    action: str
    at: datetime
    until: datetime
    checks: tuple[str, ...] = ()
    to: Person | None = None
    values: tuple[Value, ...] = ()
    topic: str = ""
    channel: Channel = "mail"
    others: tuple[Channel, ...] = ()
    reply_to: str | None = None
    fields: dict[str, Any] = field(default_factory=dict)

    # Lapses: it is done wrongly.

    def instead(
        self, *other: "Act", loses: Iterable[str] | None = None, damage: Sequence[str] = (), name: str
    ) -> "Lapse":
        """Other acts, or none, are done instead; by default, this act's checks are lost."""
        lost = frozenset(self.checks if loses is None else loses)
        return Lapse(
            name,
            lambda acts: [act for old in acts for act in (other if old.id == self.id else (old,))],
            lost,
            tuple(damage),
        )

    def changed(
        self, name: str, *, loses: Iterable[str] | None = None, damage: Sequence[str] = (), **fields: Any
    ) -> "Lapse":
        """It is done with other fields."""
        return self.instead(replace(self, **fields), loses=loses, damage=damage, name=name)

    def claimed(self, *, report: str) -> "Lapse":
        """It is not done, and reported as done; ``report`` is the id of the report's check."""
        return replace(forgotten(self, name="claimed and not done", also=[report]), reports="done")

    def late(self, at: datetime, *, name: str = "late") -> "Lapse":
        """It is done at a later time."""
        return self.changed(name, at=at, until=at)

    def too_late(self, starts: Sequence[datetime], until: datetime) -> "list[Lapse]":
        """The lapse of doing it in the first turn after its time; empty if the day has no such turn."""
        return [self.late(start) for start in [start for start in starts if start > until][:1]]

    def wrong_value(self, *values: Value, name: str = "wrong value") -> "Lapse":
        """It names other values."""
        return self.changed(name, values=values)

    def wrong_values(self, name: str, values: Iterable[Value]) -> "list[Lapse]":
        """A lapse for each of these values, which the act names instead: ``stale value 1``, …"""
        return [self.wrong_value(value, name=f"{name} {n}") for n, value in enumerate(values, start=1)]

    def each_instead(self, name: str, acts: "Iterable[Act]") -> "list[Lapse]":
        """A lapse for each of these acts, which is done instead: ``name 1``, …"""
        return [self.instead(act, name=f"{name} {n}") for n, act in enumerate(acts, start=1)]

    def wrong_person(self, person: Person, also: Iterable[str] = ()) -> "Lapse":
        """Another person gets it, by mail; ``also`` are further checks that are lost."""
        lost = [*self.checks, *also]
        return self.changed("wrong person", to=person, channel="mail", reply_to=None, damage=["sent"], loses=lost)

    def twice(self, *, loses: Iterable[str], name: str = "done twice") -> "Lapse":
        """It is done again; a mail or text that repeats another of the same turn does damage."""
        is_repeated = self.action == "tell" and self.to is not None and self.channel != "chat"
        again = replace(self, id=f"{self.id}-again")
        return besides(again, loses=loses, damage=["sent"] * is_repeated, name=name)


Change = Callable[[Sequence[Act]], Sequence[Act]]


@dataclass(frozen=True)
class Lapse:
    """One wrong way to do a duty.

    Attributes:
        name: ``forgotten``, ``late``, ``wrong value``, … unique in the duty.
        change: turns the oracle's acts into those of the lapse.
        loses: the ids of the checks that no longer hold; all others still do. If a secret is out, the day adds all
            checks of its duty.
        damage: the kinds of harm that it also does (``damage.PRICES``); ``duty`` is harm to the duty's own things.
        reports: the reported status of the item (``done``, ``open``); None for the oracle's status.
    """

    name: str
    change: Change
    loses: frozenset[str]
    damage: tuple[str, ...] = ()
    reports: str | None = None


@dataclass
class Duty:
    """One thing that a day asks for.

    Attributes:
        key: unique in the day, such as ``answer-1``.
        title: the request as a sentence, for README, results and viewer.
        dimension: the criterion's dimension.
        brief: the item of the user's list; None if the duty comes from the day's records.
        records: its records in the day: support, trigger, distractors.
        checks: the conditions that have to hold.
        explains: the actions that it explains.
        acts: the oracle's acts.
        lapses: wrong ways to do it, at least three.
        points: its reasoning points; each names the lapses that follow from getting it wrong.
        solve: the solver, which finds ``answers`` in all facts of the day.
        answers: the truth.
        enact: returns the acts for another answer.
        candidates: all conceivable answers.
        people: the people of the world whom it is about.
        replies: scripted replies by the key of the person who gives them, ``user`` for the user.
        knows: a person's knowledge and wishes, for a model that plays them, by their key.
        asked: the kinds of values that people asked for by mail or text, by their keys.
        impossible: whether it can't be done, and has to be reported as impossible.
        number: its item's number in the list; set by the day.
    """

    key: str
    title: str
    dimension: Dimension
    checks: list[Check]
    explains: list[Write]
    acts: list[Act]
    solve: Solver
    answers: frozenset[str]
    brief: str | None = None
    records: list[Record] = field(default_factory=list)
    lapses: list[Lapse] = field(default_factory=list)
    points: list[tuple[str, ...]] = field(default_factory=list)
    candidates: tuple[str, ...] = ()
    enact: Callable[[str], Sequence[Act]] | None = None
    people: tuple[Person, ...] = ()
    replies: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    knows: dict[str, str] = field(default_factory=dict)
    asked: dict[str, tuple[Kind, ...]] = field(default_factory=dict)
    impossible: bool = False
    number: int | None = None

    @staticmethod
    def each_named(lapses: "Iterable[Lapse]", *starts: str) -> list[tuple[str, ...]]:
        """A reasoning point for each lapse whose name begins with one of ``starts``."""
        return [(lapse.name,) for lapse in lapses if lapse.name.startswith(starts)]

    def weigh(self, factor: int) -> "Duty":
        """Multiply the points of all checks: the duties that name a family count most."""
        self.checks = [check.model_copy(update={"points": factor * check.points}) for check in self.checks]
        return self

    @property
    def support(self) -> list[Record]:
        """The records that have facts."""
        return [record for record in self.records if record.facts]

    def lapse(self, name: str) -> Lapse:
        """The lapse of that name.

        Raises:
            KeyError: no lapse has that name.
        """
        for lapse in self.lapses:
            if lapse.name == name:
                return lapse
        raise KeyError(f"{self.key} has no lapse {name!r}")


def to_write_to(*people: Person, about: Iterable[Record] = ()) -> list[Write]:
    """The actions on people that a duty explains: writing to them, and filing the mails among these records."""
    ids = tuple(record.id for record in about if record.kind == "mail")
    writes = [Write(actions=(*SENDS, "sms.send", "sms.react"), to=_addresses(people))]
    return [*writes, *([Write(actions=FILES, ids=ids)] if ids else [])]


def tell(
    act_id: str, at: datetime, until: datetime, to: Person, values: Iterable[Value], topic: str, *checks: str
) -> Act:
    """The act of telling a person values, by mail or by another channel that reaches them."""
    return Act(act_id, "tell", at, until, checks, to, tuple(values), topic, others=to.besides_mail)


def values_of(*statements: Iterable[tuple[*tuple[object, ...], Value]]) -> list[Value]:
    """The last values of the statements, each once."""
    return list(dict.fromkeys(value for statement in statements for *_, value in statement))


def message_check(
    check_id: str,
    points: int,
    sentence: str,
    to: Person | None,
    values: Iterable[Value],
    wrong: Iterable[Value] = (),
    *,
    after: datetime | None = None,
    before: datetime | None = None,
    gated: bool = False,
    mentioned: bool = False,
    denied: bool = False,
) -> MessageCheck:
    """The check that a person (None: the user, in the chat) got values, and no wrong one."""
    return MessageCheck(
        id=check_id,
        points=points,
        sentence=sentence,
        gated=gated,
        mentioned=mentioned,
        denied=denied,
        to=_addresses(to),
        channels=("chat",) if to is None else ("mail", "text"),
        values=tuple(values),
        wrong=tuple(wrong),
        after=after,
        before=before,
    )


def silence_check(
    check_id: str,
    points: int,
    sentence: str,
    people: Person | Iterable[Person] | None,
    values: Iterable[Value],
    *,
    before: datetime | None = None,
    secret: Iterable[Value] = (),
    hints: Iterable[str] = (),
) -> SilenceCheck:
    """The check that people (None: the user) got none of the values, apart from messages from ``before`` on.

    ``secret`` are the values that all others must not get, either; ``hints`` are stems of words that hint at them. A
    duty whose secret is out loses all of its points.
    """
    secret = tuple(secret)
    return SilenceCheck(
        id=check_id,
        points=points,
        sentence=sentence,
        gated=True,
        keeps_secret=bool(secret),
        to=_addresses(people),
        values=tuple(values),
        before=before,
        secret=secret,
        hints=tuple(hints),
    )


def once_check(check_id: str, points: int, sentence: str, person: Person | None, values: Iterable[Value]) -> OnceCheck:
    """The check that a person (None: the user) got the values only once."""
    to = _addresses(person)
    return OnceCheck(id=check_id, points=points, sentence=sentence, gated=True, to=to, values=tuple(values))


def entry_check(
    check_id: str,
    points: int,
    sentence: str,
    event_id: str | None,
    start: datetime,
    minutes: int,
    people: Iterable[Person] = (),
) -> EntryCheck:
    """The check that an entry (None: a new one) is in the calendar at a time, with people."""
    emails = tuple(person.email for person in people)
    return EntryCheck(
        id=check_id,
        points=points,
        sentence=sentence,
        event_id=event_id,
        starts=(start,),
        minutes=minutes,
        people=emails,
    )


def _addresses(people: Person | Iterable[Person] | None) -> tuple[str, ...]:
    if people is None:
        return (USER,)
    return tuple(
        address for person in ([people] if isinstance(people, Person) else people) for address in person.addresses
    )


# Lapses of any duty; lapses of a single act are methods of ``Act``.


def forgotten(*acts: Act, name: str = "forgotten", also: Iterable[str] = ()) -> Lapse:
    """The acts are not done, and reported as open."""
    ids = {act.id for act in acts}
    loses = frozenset(check for act in acts for check in act.checks) | frozenset(also)
    return Lapse(name, lambda all_: [act for act in all_ if act.id not in ids], loses, reports="open")


def besides(*more: Act, loses: Iterable[str], damage: Sequence[str] = (), name: str) -> Lapse:
    """More is done than was asked for: the participant says too much, or acts without need."""
    return Lapse(name, lambda all_: [*all_, *more], frozenset(loses), tuple(damage))
