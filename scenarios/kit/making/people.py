"""People of a world, and their styles of writing."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Style = Literal["formal", "terse", "chatty", "careless", "non_native", "warm"]
"""A person's style of writing."""

Language = Literal["en", "de"]

Relation = Literal["self", "colleague", "manager", "client", "vendor", "friend", "family", "stranger"]
"""A person's relation to the user."""


class Phrase(NamedTuple):
    """A noun phrase in both languages: ``Phrase("the door code", "der Türcode")``; German in the nominative."""

    en: str
    de: str

    def by(self, author: "Person") -> str:
        """The phrase in the author's language."""
        return self.de if author.language == "de" else self.en


@dataclass(frozen=True)
class Person:
    """A person of a world.

    Attributes:
        key: their name in the code and in draws, such as ``guest-2``; participants never see it.
        email: a mail address, unique in the world.
        phone: a number in E.164, or None.
        role: their job, such as ``head of purchasing``.
        organisation: their employer; empty for friends and family.
        language: the language in which they write to the user.
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
        """Their mail address and phone number."""
        return (self.email, self.phone) if self.phone else (self.email,)

    @property
    def besides_mail(self) -> tuple[Literal["text"], ...]:
        """The channels besides mail that reach them."""
        return ("text",) if self.phone else ()
