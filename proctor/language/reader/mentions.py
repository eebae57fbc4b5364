"""Values that a reader finds in a text, with their kinds and places."""

from typing import Literal, NamedTuple

Kind = Literal["day", "time", "moment", "span", "amount", "number", "code", "name", "address", "words", "question"]


class Mention(NamedTuple):
    """A value that a text names.

    Attributes:
        kind: the kind of value.
        values: the value's possible readings, the most probable first ("half past three" has two). The formats are:
            ``day`` an ISO date; ``time`` HH:MM; ``moment`` YYYY-MM-DDTHH:MM; ``span`` HH:MM-HH:MM; ``amount`` cents;
            ``number`` a whole number; ``code`` capitals and digits; ``address`` a mail address or digits with +.
        start, end: the mention's bounds in the readable text.
        unit: an amount's currency (``EUR``); empty if none is named.
        is_weak: whether the words may mean something else, as a bare "15.20" or the word "one". A search for its value
            finds a weak mention, but a weak mention never contradicts another value.
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
