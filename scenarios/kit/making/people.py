"""People of a world, and how they write."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Style = Literal["formal", "terse", "chatty", "careless", "non_native", "warm"]
"""How somebody writes."""

Language = Literal["en", "de"]

Relation = Literal["self", "colleague", "manager", "client", "vendor", "friend", "family", "stranger"]
"""Who somebody is to the user."""


class Phrase(NamedTuple):
    """A noun phrase in both languages: ``Phrase("the door code", "der Türcode")``; German in the nominative."""

    en: str
    de: str

    def by(self, author: "Person") -> str:
        """As this person writes it."""
        return self.de if author.language == "de" else self.en


@dataclass(frozen=True)
class Person:
    """Somebody in a world.

    Attributes:
        key: their name in the code and in draws, such as ``guest-2``; participants never see it.
        email: a mail address, unique in the world.
        phone: a number in E.164, or None.
        role: what they do, such as ``head of purchasing``.
        organisation: whom they work for; empty for friends and family.
        language: what they write to the user in.
    """

    key: str
    first: str
    last: str
    email: str
    phone: str | None
    role: str
    organisation: str
    relation: Relation
    style: Style
    language: Language = "en"

    @property
    def name(self) -> str:
        """First and last name."""
        return f"{self.first} {self.last}".strip()

    @property
    def addresses(self) -> tuple[str, ...]:
        """All that reaches them: mail address, phone number."""
        return (self.email, self.phone) if self.phone else (self.email,)

    @property
    def besides_mail(self) -> tuple[Literal["text"], ...]:
        """The channels besides mail that reach them."""
        return ("text",) if self.phone else ()
