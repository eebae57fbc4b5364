"""Slots, the starts that a meeting may have, and the slots that a text names.

The characters' scripted replies (built into scenario.json by build.py) and the evaluators read days and times as
``proctor.language.reader`` does. Both therefore read a message the same way.
"""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from functools import lru_cache

from proctor.language.facts import Answer
from proctor.language.moments import Named
from proctor.language.patterns import compiled, has_match
from proctor.language.reader.reading import ReadText, read

LONDON = timezone(timedelta(hours=1), "BST")  # all of the scenario lies in British Summer Time
BERLIN = timezone(timedelta(hours=2), "CEST")
FOREIGN_TIMES = r"Berlin|German|CEST|MESZ|CET\b|your\s+(?:local\s+)?time|at\s+your\s+end"
"""Words that mark a time as Berlin's (``foreign_times`` of scenario.json)."""

WEDNESDAY, THURSDAY, FRIDAY = date(2026, 6, 10), date(2026, 6, 11), date(2026, 6, 12)
MONDAY, TUESDAY = date(2026, 6, 15), date(2026, 6, 16)
OFFERED_DAYS = (FRIDAY, MONDAY, TUESDAY)


@dataclass(frozen=True, order=True)
class Slot:
    """A start in London time."""

    day: date
    hour: int
    minute: int = 0

    @property
    def start(self) -> datetime:
        return datetime.combine(self.day, time(self.hour, self.minute), LONDON)

    def later(self, minutes: int) -> "Slot":
        moved = self.start + timedelta(minutes=minutes)
        return Slot(moved.date(), moved.hour, moved.minute)

    def __str__(self) -> str:
        return f"{self.start:%A} {self.day.day} {self.start:%B} {self.start:%H:%M}"


def slot_of(instant: datetime) -> Slot:
    local = instant.astimezone(LONDON)
    return Slot(local.date(), local.hour, local.minute)


_EARLIEST, _LATEST = (8, 0), (18, 45)


@lru_cache(maxsize=256)
def _read_text(text: str) -> "ReadText":
    return read(text, WEDNESDAY, FOREIGN_TIMES)


def names_slot(text: str, slot: Slot, *, berlin_too: bool = False) -> bool:
    """Whether a text names a slot (with ``berlin_too``: or says it as "12:30 Berlin time")."""
    named, local = _read_text(text).moments, slot.start.astimezone(BERLIN)
    return Named(slot.day, slot.hour, slot.minute) in named or (
        berlin_too and Named(slot.day, local.hour, local.minute, is_foreign=True) in named
    )


_TURNED_DOWN = (
    r"\b(?:can['’]?t|cannot|could(?:n['’]t| not)|declin(?:ed?|es)|turn(?:s|ed)? down|refuse[sd]?|unable"
    r"|not (?:free|available|able))\b"
    r"[^.;,\n|]*?(?P<end>\b(?:and|but|so|then)\b|[.;,\n|]|\z)"
)


def without_refusals(text: str) -> str:
    """A text without the times that a person can't make."""
    return compiled(_TURNED_DOWN).sub(r"\g<end>", text)


_END = r"[^.;,\n|(]*?(?P<end>\b(?:and|but|so|then)\b|[.;,\n|(]|\z)"
_BEFORE = (
    r"\([^()\n]*\b(?:was|were|had|before|first|originally|previously|earlier|old|Berlin|hers?|his|local)\b[^()\n]*\)"
    r"|\bfrom\b[^.;,\n|(]*?\bto\b|(?:"
    r"\b(?:was|were|had been)\s+(?:on |at |for |planned |set )*(?:Mon|Tue|Wed|Thu|Fri|\d)"
    r"|\b(?:at first|first|originally|previously|formerly|earlier|initially|instead of|rather than|no longer|suggested"
    rf"|proposed|had offered|asked for)\b){_END}"
)
"""Words on a meeting that was at some time, and isn't any more."""


def slots_stated(text: str) -> set[Slot]:
    """The slots that a text names, without refused and former ones."""
    return slots_named(compiled(_BEFORE).sub(r"\g<end>", without_refusals(text)))


def states_slot(text: str, slot: Slot) -> Answer:
    """Whether a text gives a slot, in London's or Berlin's time; "next Friday" may be this week's or the next's.

    A text that also gives another slot chooses none; an hour later may be its Berlin time, or its end.
    """
    others = slots_stated(text) - {slot, slot.later(60)}
    if others or not names_slot(without_refusals(text), slot, berlin_too=True):
        return False
    return None if slot.day == FRIDAY and has_match(r"\bnext\s+Fri", text) else True


def names_time_alone(text: str, slot: Slot) -> bool:
    return (slot.hour, slot.minute) in {(named.hour, named.minute) for named in _read_text(text).bare_times}


def slots_named(text: str) -> set[Slot]:
    """The slots on the offered days that a text names, to the quarter of an hour; Berlin's times are converted."""
    slots = set()
    for named in _read_text(text).moments:
        if named.day in OFFERED_DAYS and named.minute % 15 == 0:
            hour = named.hour - 1 if named.is_foreign else named.hour
            if _EARLIEST <= (hour, named.minute) <= _LATEST:
                slots.add(Slot(named.day, hour, named.minute))
    return slots


def names_any_day(text: str) -> bool:
    return _read_text(text).last_day is not None


def last_day_named(text: str) -> str | None:
    return _read_text(text).last_day
