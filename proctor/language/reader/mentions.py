"""What a reader finds in a text: values with their kinds and places."""

from typing import Literal, NamedTuple

Kind = Literal["day", "time", "moment", "span", "amount", "number", "code", "name", "address", "words", "question"]


class Mention(NamedTuple):
    """A value that a text names.

    Attributes:
        kind: what it is.
        values: the value, the most probable reading first; more where a notation has several ("half past three").
            ``day`` ISO date, ``time`` HH:MM, ``moment`` YYYY-MM-DDTHH:MM, ``span`` HH:MM-HH:MM, ``amount`` in cents,
            ``number`` a whole number, ``code`` capitals and digits, ``address`` mail address or digits with +.
        start, end: where it is in the readable text.
        unit: an amount's currency (``EUR``); empty if none is named.
        is_weak: whether it may be something else: a bare "15.20", the word "one". It names its value for those who
            look for it, and contradicts no other.
        role: ``end`` for the end of a span.
    """

    kind: Kind
    values: tuple[str, ...]
    start: int
    end: int
    unit: str = ""
    is_weak: bool = False
    role: str = ""

    @property
    def value(self) -> str:
        """The most probable reading."""
        return self.values[0]
