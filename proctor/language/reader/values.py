"""Find the values that a text names, with their places: one reader for scorer, people and facts."""

import itertools
import re
from bisect import bisect_left, bisect_right
from datetime import date, datetime
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Protocol

from proctor.language.reader.days import make_day_mention, may_be_day, read_day
from proctor.language.reader.identifiers import (
    find_addresses,
    find_codes,
    find_name,
    is_same_address,
    spelled_runs,
    squeeze,
    squeeze_text,
    transcribed,
)
from proctor.language.reader.mentions import Kind, Mention
from proctor.language.reader.numbers import read_amounts_and_numbers
from proctor.language.reader.text import READ_AT_MOST, readable
from proctor.language.reader.times import may_be_time, read_times
from proctor.language.reader.tokens import Tokens, split_tokens

_FAR = 240
"""The most characters between a day and a later time that belongs to it."""
_FARTHEST = 1000
"""The most characters between a time and a later day that it belongs to, with other times between them."""
_START = attrgetter("start")


class Sought(Protocol):
    """A value to search for: its kind, and the value in the format of ``Mention``."""

    @property
    def kind(self) -> Kind: ...
    @property
    def value(self) -> str: ...


class Values:
    """The values that a text names.

    Args:
        text: the text as written; it is normalized first, and read up to ``READ_AT_MOST`` characters.
        today: the day on which it was written, for "tomorrow" and weekdays.
    """

    def __init__(self, text: str, today: date) -> None:
        self.text = readable(text[: 4 * READ_AT_MOST])[:READ_AT_MOST]
        self.today = today

    @cached_property
    def tokens(self) -> Tokens:
        """The tokens of the text."""
        return split_tokens(self.text)

    @cached_property
    def addresses(self) -> list[Mention]:
        """The mail addresses and telephone numbers."""
        return find_addresses(self.text)

    @cached_property
    def codes(self) -> list[Mention]:
        """The likely references."""
        return find_codes(self.tokens)

    @cached_property
    def _calendar(self) -> tuple[list[Mention], list[Mention], list[Mention]]:
        """The days, times and spans, in one pass."""
        days: list[Mention] = []
        times: list[Mention] = []
        spans: list[Mention] = []
        tokens, lows = self.tokens, self.tokens.lows
        addresses = [(tokens.find_place(address.start), tokens.find_place(address.end)) for address in self.addresses]
        inside = {place for start, end in addresses for place in range(start, end)}
        done = 0
        for place in tokens.begins:
            if place < done or place in inside:
                continue
            dated = read_day(tokens, place, self.today) if may_be_day(lows, place) else None
            if dated is not None and not (dated.is_weak and self._is_time_instead(place)):
                days.append(make_day_mention(dated, tokens, place))
                done = dated.after
                if dated.is_weak and not dated.is_weekday and (found := read_times(tokens, place)):
                    times += [mention for mention in found[0] if mention.kind == "time"]
            elif may_be_time(lows, place) and (found := read_times(tokens, place)):
                for mention in found[0]:
                    (spans if mention.kind == "span" else times).append(mention)
                done = found[1]
        return days, self._with_ends(times, spans), spans

    @cached_property
    def _has_end_column(self) -> bool:
        """Whether a table has a column of beginnings, and beside it a column of ends."""
        return _END_COLUMN.search(self.text) is not None

    def _with_ends(self, times: list[Mention], spans: list[Mention]) -> list[Mention]:
        """Return the times; words mark some as ends (``starts 15:00, ends 16:45``), whose spans are added."""
        found = times[:1]
        for first, second in itertools.pairwise(times):
            if (
                0 < second.start - first.end < _NEAR_END
                and first.role == second.role == ""
                and self._ends(first, second)
            ):
                found.append(second._replace(role="end"))
                begin, end = min(
                    ((begin, end) for begin in first.values for end in second.values),
                    key=lambda pair: (pair[1] <= pair[0], first.values.index(pair[0]), pair[1]),
                )
                spans.append(Mention("span", (f"{begin}-{end}",), first.start, second.end))
            else:
                found.append(second)
        return found

    def _ends(self, first: Mention, second: Mention) -> bool:
        """Whether the words between two times make the second the end of a span that the first begins."""
        between = self.text[first.end : second.start].lower()
        if "\n" in between or (first.is_weak and not self.text[first.start].isdecimal()):
            return False
        words = {*_WORD.findall(between)}
        is_end = not words.isdisjoint(_ENDS) or (between.strip(" *_") == "|" and self._has_end_column)
        return is_end and words <= _BEFORE_END

    def _is_time_instead(self, place: int) -> bool:
        found = read_times(self.tokens, place)
        return found is not None and not found[0][0].is_weak

    @property
    def days(self) -> list[Mention]:
        """The days."""
        return self._calendar[0]

    @property
    def times(self) -> list[Mention]:
        """The times of day, including ends of spans."""
        return self._calendar[1]

    @property
    def spans(self) -> list[Mention]:
        """The spans of time, each with its begin and end."""
        return self._calendar[2]

    @cached_property
    def _numbers(self) -> list[Mention]:
        dated = (mention for mention in (*self.days, *self.times, *self.spans) if not mention.is_weak)
        taken = (*self.addresses, *self.codes, *dated)
        return list(read_amounts_and_numbers(self.tokens, taken))

    @cached_property
    def amounts(self) -> list[Mention]:
        """The amounts of money, including bare numbers (weak)."""
        return [mention for mention in self._numbers if mention.kind == "amount"]

    @cached_property
    def numbers(self) -> list[Mention]:
        """The whole numbers."""
        return [mention for mention in self._numbers if mention.kind == "number"]

    @cached_property
    def moments(self) -> list[Mention]:
        """The times with their days, each at its time's place; times without a day are left out."""
        found = []
        for time in self.times:
            day = self._find_day(time)
            if day is not None:
                values = tuple([f"{value}T{at}" for value in day.values for at in time.values])
                is_weak = time.is_weak or day.is_weak
                found.append(Mention("moment", values, time.start, time.end, "", is_weak, time.role))
        return found

    @cached_property
    def _day_ends(self) -> list[int]:
        return [day.end for day in self.days]

    def _find_day(self, time: Mention) -> Mention | None:
        """Return the day of a time: the day directly after it, else the last one before it that is near enough."""
        place = bisect_right(self._day_ends, time.start + 1)
        before = self.days[place - 1] if place else None
        is_near = before is not None and time.start - before.end <= _FAR
        if before is not None and is_near and self._is_close(before, time):
            return before
        for after in self.days[place : place + 3]:
            if after.start >= time.end:
                return after if self._is_next(time, after) else before if is_near else None
        return before if is_near else None

    def _is_next(self, time: Mention, day: Mention) -> bool:
        if day.start - time.end > _FARTHEST or self.text.find("\n", time.end, day.start) >= 0:
            return False
        between = self.text[time.end : day.start]
        if len(between) > 6 and between[0] in " ,/":  # "10:30, 11:15 or 14:00 on Monday"
            number = bisect_left(self.times, time.end, key=_START)
            behind = itertools.takewhile(
                lambda each: each.start < day.start, itertools.islice(self.times, number, None)
            )
            inside = [mention for mention in behind if mention.end <= day.start][:6]
            for mention in reversed(inside):
                between = between[: mention.start - time.end] + between[mention.end - time.end :]
        if len(between) > 40 or not _SENTENCE_SIGNS.isdisjoint(between):
            return False
        return _BETWEEN.issuperset(_split_words(between))

    def _is_close(self, day: Mention, time: Mention) -> bool:
        between = self.text[day.end : time.start]
        return "\n" not in between and ";" not in between and _BEFORE_TIME.issuperset(_split_words(between))

    def of_kind(self, kind: Kind) -> list[Mention]:
        """Return all mentions of a kind; empty for names and words, which are found only by search."""
        match kind:
            case "day":
                return self.days
            case "time":
                return self.times
            case "moment":
                return self.moments
            case "span":
                return self.spans
            case "amount":
                return self.amounts
            case "number":
                return self.numbers
            case "code":
                return self.codes
            case "address":
                return self.addresses
            case _:
                return []

    def find(self, sought: Sought) -> list[tuple[int, int]]:
        """Return the places in ``text`` that name a value, in order."""
        match sought.kind:
            case "words":
                return self._find_words(sought.value)
            case "name":
                return find_name(self.text, sought.value)
            case "code":
                return self._find_code(sought.value)
            case "address":
                return self._find_address(sought.value)
            case "question":
                return [(place, place + 1) for place, char in enumerate(self.text) if char == "?"][:50]
            case "moment":
                return self._find_moment(sought.value)
            case _:
                return [
                    (mention.start, mention.end)
                    for mention in self.of_kind(sought.kind)
                    if sought.value in mention.values
                ]

    def _find_words(self, options: str) -> list[tuple[int, int]]:
        squeezed = squeeze_text(self.text)
        words = options.split("|")
        words += [word.removesuffix("s") for word in words if " " in word]
        words += [f"{word}es" for word in words if word.endswith(("x", "ch", "sh"))]
        spellings = {spelling for word in words for spelling in (word, *transcribed(word))}
        found = {
            place
            for spelling in spellings
            if not spelling.endswith("-")
            for place in squeezed.find(spelling, is_code=False)
        }
        stems = (spelling for spelling in spellings if spelling.endswith("-"))
        return sorted(found | {place for stem in stems for place in squeezed.find_beginnings(stem)})

    def _find_address(self, wanted: str) -> list[tuple[int, int]]:
        same = (
            address for address in self.addresses if any(is_same_address(value, wanted) for value in address.values)
        )
        if (found := [(address.start, address.end) for address in same]) or not wanted.startswith("+"):
            return found
        is_spelled = any(
            is_same_address(written, wanted)
            for run in self._spelled
            for written in (run.replace("o", "0"), f"+{run.removeprefix('00')}")
        )
        return [(0, len(self.text))] if is_spelled else []

    def _find_code(self, value: str) -> list[tuple[int, int]]:
        found = squeeze_text(self.text).find(value, is_code=True)
        return found or ([(0, len(self.text))] if self.spells(value) else [])

    def spells(self, code: str) -> bool:
        """Whether a code is spelled out, in single letters and number words: ``K four seven one one``."""
        wanted = squeeze(code)
        return len(wanted) > 3 and any(wanted in run and len(run) < 3 * len(wanted) for run in self._spelled)

    @cached_property
    def _spelled(self) -> list[str]:
        return spelled_runs(self.tokens)

    def _find_moment(self, value: str) -> list[tuple[int, int]]:
        """Return the places that name a day and time. If the text names no day, return the places of the time."""
        found = [(moment.start, moment.end) for moment in self.moments if value in moment.values]
        at = datetime.fromisoformat(value)
        strong = [day for day in self.days if not day.is_weak]
        if found or (strong and not any(f"{at:%Y-%m-%d}" in day.values for day in strong)):
            return found
        # A time without a day belongs to the day that is named elsewhere, or to the day that is known to all.
        dated = {(moment.start, moment.end) for moment in self.moments}
        times = [(time.start, time.end) for time in self.times if f"{at:%H:%M}" in time.values]
        return [place for place in times if place not in dated or not strong]

    def names(self, sought: Sought) -> bool:
        """Whether the text names a value, in any of its notations."""
        return bool(self.find(sought))


def _split_words(between: str) -> list[str]:
    return between.lower().translate(_AS_SPACES).split()


_AS_SPACES = str.maketrans("(,-", "   ")
_SENTENCE_SIGNS = frozenset(".;!?")
_NEAR_END = 40
"""The most characters between a time and a later time that ends its span."""
_WORD = re.compile(r"[^\W\d_]+|[.;?!]|\d+")
_END_COLUMN = re.compile(
    r"\b(?:from|start|begins?|on|von|beginn|ab)[ *]{0,4}\|[ *]{0,4}(?:to|until|ends?|finish|off|bis|ende)\b",
    re.IGNORECASE,
)
_ENDS = frozenset("end ends ende endet ending finish finishes finishing until till til bis schluss over done".split())
_BEFORE_END = _ENDS | frozenset(
    "on and und start the is be by should about around at gegen um uhr h then it es geht ca etwa local time".split()
)
_BETWEEN = frozenset(
    "on am at the den dem der this of diesen kommenden next um hours hrs local time uk london gmt cet berlin bst utc sharp "
    "and und zone ortszeit mez mesz cest or oder / instead rather lieber stattdessen".split()
)
_BEFORE_TIME = frozenset(
    "at um from ab von the by until starts beginning begins start beginnt = : @ is now jetzt ist moved to auf time uhrzeit "
    "around about gegen bis noon between zwischen still nun nunmehr in afternoon morning evening".split()
)


@lru_cache(maxsize=1024)
def values_of(text: str, today: date) -> Values:
    """Return the values that a text names; the same object for the same text and day."""
    return Values(text, today)
