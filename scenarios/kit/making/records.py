"""Records of a day: mails, text messages, calendar entries and chat, with the facts that each one supports."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from proctor.scenarios.kit.making.attachments import Attachment
from proctor.scenarios.kit.making.people import Person


@dataclass(frozen=True)
class Fact:
    """One true statement of the day, as the solver reads it: ``Fact("amount", "receipt-2", "48.20")``.

    Attributes:
        kind: the kind of statement.
        about: the person or thing that it is about.
        value: the stated value as text: an amount, an ISO time, a person's key, a code.
        at: when it was said; of several facts of a kind about one thing, the last one holds.
    """

    kind: str
    about: str
    value: str
    at: datetime | None = None


@dataclass(frozen=True)
class Record:
    """Something that the participant can read.

    Attributes:
        id: its id in the simulation, without meaning.
        kind: ``mail``, ``text`` (SMS), ``entry`` (calendar), ``chat`` (the user's words), ``place`` and ``forecast``
            (``outdoors``).
        at: when it arrives; at or before the day's start, it exists from the beginning. For an entry, when it was made.
        author: its author; for an entry, its organizer.
        readers: its recipients; for an entry, its attendees.
        facts: the facts that it supports.
        fields: its other fields in the simulator: ``folder``, ``is_read``, ``labels`` of a mail; ``location``,
            ``description``, ``responses`` (address to response) of an entry.
        attachments: of a mail: its files. Their texts count as readable.
    """

    id: str
    kind: Literal["mail", "text", "entry", "chat", "place", "forecast"]
    at: datetime
    author: Person
    readers: tuple[Person, ...]
    title: str
    body: str
    facts: tuple[Fact, ...] = ()
    thread: str | None = None
    reply_to: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()

    @property
    def text(self) -> str:
        """All its readable text, attached files included."""
        return "\n".join((self.title, self.body, *(attachment.text for attachment in self.attachments)))

    def with_facts(self, *facts: Fact) -> "Record":
        """A copy that supports these facts as well."""
        return replace(self, facts=(*self.facts, *(replace(fact, at=fact.at or self.at) for fact in facts)))

    def with_files(self, *attachments: Attachment) -> "Record":
        """A copy of the mail with further attached files."""
        return replace(self, attachments=(*self.attachments, *attachments))

    @property
    def length(self) -> timedelta:
        """How long an entry takes."""
        return (self.end - self.start) if self.start and self.end else timedelta()


def latest(facts: Iterable[Fact], kind: str, about: str) -> frozenset[str]:
    """The last stated value: several if two were stated at the same time, empty if none was stated."""
    known = [fact for fact in facts if fact.kind == kind and fact.about == about]
    times = [fact.at for fact in known if fact.at is not None]
    return frozenset(fact.value for fact in known if fact.at is None or fact.at == max(times))
