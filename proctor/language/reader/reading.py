"""Days and times in a message, as people of a scenario read them and as its tests of texts ask for them.

The values come from ``values``, how they are meant from ``stance``: a time that is turned down, taken back, quoted or
the end of a span doesn't count.
"""

from collections.abc import Sequence
from datetime import date
from functools import cached_property, lru_cache
from typing import Protocol

from proctor.language.moments import Named
from proctor.language.patterns import compiled
from proctor.language.reader.mentions import Kind, Mention
from proctor.language.reader.parts import split_parts
from proctor.language.reader.stance import sentences_of, stances_of
from proctor.language.reader.text import readable
from proctor.language.reader.values import Values, values_of

_HALF_DAY = r"(?:\s*[ap]\.?m\b\.?)?"
# A zone may stand after the end of the span: "12:30-13:15 Berlin time".
_ZONE = r"\A{half}(?:\s*(?:-|to|until)\s*\d{{1,2}}[:.]\d\d{half})?\s*[(,]?\s*(?:in\s+)?(?:{marks})"
_SHORTEST_CODE = 3
_UNCOUNTED = ("denied", "retracted")


class Reading(Protocol):
    """What a text says of days and times; ``text`` is what patterns are searched in."""

    @property
    def text(self) -> str: ...
    @property
    def sentences(self) -> "Sequence[Reading]":
        """Its sentences and lines, each read alone."""
        ...

    @property
    def days(self) -> set[date]:
        """The days that its author names, with any time."""
        ...

    @property
    def moments(self) -> set[Named]:
        """The times that are named with their day."""
        ...

    @property
    def bare_times(self) -> set[Named]:
        """The times that are named, where no day is named at all."""
        ...

    def has_value(self, kind: Kind) -> bool:
        """Whether its author names a value of a kind, sure or not."""
        ...


class ReadText:
    """What a text says of days and times.

    Args:
        text: a message, as written.
        today: the day on which it was written, for weekdays and "tomorrow".
        foreign: a pattern for what marks a time as that of another zone ("Berlin|CEST"), where there is such a zone.
    """

    def __init__(self, text: str, today: date, foreign: str | None = None) -> None:
        self.text = readable(text)
        self._today, self._foreign = today, foreign
        own = (part.text for part in split_parts(self.text) if part.origin != "quoted")
        self._said = values_of("\n".join(own), today)

    @cached_property
    def sentences(self) -> Sequence[Reading]:
        """Its sentences and lines, each read alone."""
        pieces = (self.text[start:end] for start, end in sentences_of(self.text))
        return [ReadText(piece, self._today, self._foreign) for piece in pieces]

    @cached_property
    def days(self) -> set[date]:
        """The days that its author names, with any time."""
        return {date.fromisoformat(day) for each in self._said.days for day in each.values}

    @cached_property
    def last_day(self) -> str | None:
        """The last expression for a day, as it is written."""
        days = self._said.days
        return self._said.text[days[-1].start : days[-1].end] if days else None

    @cached_property
    def moments(self) -> set[Named]:
        """The times that are named with their day."""
        return {
            Named(date.fromisoformat(value[:10]), int(value[11:13]), int(value[14:16]), self._is_foreign(each))
            for each in self._said.moments
            if self._counts(each)
            for value in each.values
        }

    @cached_property
    def bare_times(self) -> set[Named]:
        """The times that are named, where no day is named at all, not even in a quoted mail."""
        if values_of(self.text, self._today).days:
            return set()
        return {
            Named(None, int(value[:2]), int(value[3:]), self._is_foreign(each))
            for each in self._said.times
            if self._counts(each)
            for value in each.values
        }

    def has_value(self, kind: Kind) -> bool:
        """Whether its author names a value of a kind, sure or not."""
        return has_value(self._said, kind)

    def _counts(self, time: Mention) -> bool:
        return time.role != "end" and stances_of(self._said.text).of(time.start, time.end) not in _UNCOUNTED

    def _is_foreign(self, time: Mention) -> bool:
        if self._foreign is None:
            return False
        pattern = compiled(_ZONE.format(half=_HALF_DAY, marks=self._foreign))
        return pattern.search(self._said.text[time.end : time.end + 80]) is not None


def has_value(values: Values, kind: Kind) -> bool:
    """Whether there is a value of a kind, sure or not; for a code, three digits are enough."""
    if kind == "code":
        tokens = values.tokens
        return bool(values.codes) or any(len(tokens.lows[place]) >= _SHORTEST_CODE for place in tokens.numbers)
    return bool(values.of_kind(kind))


@lru_cache(maxsize=256)
def read(text: str, today: date, foreign: str | None = None) -> ReadText:
    """A text's days and times; the same object for the same arguments."""
    return ReadText(text, today, foreign)
