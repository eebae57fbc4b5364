"""Read days and times in a message, for the people of a scenario and for its tests of texts.

``values`` finds the values, and ``stance`` decides how they are meant. A time doesn't count if it is turned down, taken
back, quoted, or the end of a span.
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
# A zone may follow the end of the span: "12:30-13:15 Berlin time".
_ZONE = r"\A{half}(?:\s*(?:-|to|until)\s*\d{{1,2}}[:.]\d\d{half})?\s*[(,]?\s*(?:in\s+)?(?:{marks})"
_SHORTEST_CODE = 3
_UNCOUNTED = ("denied", "retracted")


class Reading(Protocol):
    """The days and times that a text names; patterns are searched in ``text``."""

    @property
    def text(self) -> str: ...
    @property
    def sentences(self) -> "Sequence[Reading]":
        """The text's sentences and lines, each read alone."""
        ...

    @property
    def days(self) -> set[date]:
        """The days that the author names, with or without a time."""
        ...

    @property
    def moments(self) -> set[Named]:
        """The named times that have a day."""
        ...

    @property
    def bare_times(self) -> set[Named]:
        """The named times, if the text names no day; else empty."""
        ...

    def has_value(self, kind: Kind) -> bool:
        """Whether the author names a value of a kind, certain or not."""
        ...


class ReadText:
    """The days and times that a text names.

    Args:
        text: a message, as written.
        today: the day on which it was written, for weekdays and "tomorrow".
        foreign: a pattern for the words that mark a time as of another zone ("Berlin|CEST"), if there is such a zone.
    """

    def __init__(self, text: str, today: date, foreign: str | None = None) -> None:
        self.text = readable(text)
        self._today, self._foreign = today, foreign
        own = (part.text for part in split_parts(self.text) if part.origin != "quoted")
        self._values = values_of("\n".join(own), today)

    @cached_property
    def sentences(self) -> Sequence[Reading]:
        """The text's sentences and lines, each read alone."""
        pieces = (self.text[start:end] for start, end in sentences_of(self.text))
        return [ReadText(piece, self._today, self._foreign) for piece in pieces]

    @cached_property
    def days(self) -> set[date]:
        """The days that the author names, with or without a time."""
        return {date.fromisoformat(day) for mention in self._values.days for day in mention.values}

    @cached_property
    def last_day(self) -> str | None:
        """The text's last expression for a day, as written."""
        days = self._values.days
        return self._values.text[days[-1].start : days[-1].end] if days else None

    @cached_property
    def moments(self) -> set[Named]:
        """The named times that have a day."""
        return {
            Named(date.fromisoformat(value[:10]), int(value[11:13]), int(value[14:16]), self._is_foreign(moment))
            for moment in self._values.moments
            if self._counts(moment)
            for value in moment.values
        }

    @cached_property
    def bare_times(self) -> set[Named]:
        """The named times, if the text names no day, not even in a quoted mail; else empty."""
        if values_of(self.text, self._today).days:
            return set()
        return {
            Named(None, int(value[:2]), int(value[3:]), self._is_foreign(time))
            for time in self._values.times
            if self._counts(time)
            for value in time.values
        }

    def has_value(self, kind: Kind) -> bool:
        """Whether the author names a value of a kind, certain or not."""
        return has_value(self._values, kind)

    def _counts(self, time: Mention) -> bool:
        return time.role != "end" and stances_of(self._values.text).of(time.start, time.end) not in _UNCOUNTED

    def _is_foreign(self, time: Mention) -> bool:
        if self._foreign is None:
            return False
        pattern = compiled(_ZONE.format(half=_HALF_DAY, marks=self._foreign))
        return pattern.search(self._values.text[time.end : time.end + 80]) is not None


def has_value(values: Values, kind: Kind) -> bool:
    """Whether there is a value of a kind, certain or not; three digits count as a code."""
    if kind == "code":
        tokens = values.tokens
        return bool(values.codes) or any(len(tokens.lows[place]) >= _SHORTEST_CODE for place in tokens.numbers)
    return bool(values.of_kind(kind))


@lru_cache(maxsize=256)
def read(text: str, today: date, foreign: str | None = None) -> ReadText:
    """Return a text's days and times; the same object for the same arguments."""
    return ReadText(text, today, foreign)
