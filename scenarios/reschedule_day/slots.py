"""Days and times as people write them: "Friday at half past one", "Fri 12/6 13:30", "2026-06-12T12:30:00Z".

A time belongs to the day that was named last before it, or directly after it ("13:30 on Friday"). The end of a span
("12:30 to 13:30"), a time that is turned down ("Friday 15:30 won't work") and one that is moved away from ("instead of
12:45") are not slots. The patterns serve the characters' scripted replies (built into scenario.json by build.py) and
the evaluators alike, so both read a message the same way. They expect ``re.IGNORECASE | re.DOTALL``.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from functools import cache

LONDON = timezone(timedelta(hours=1), "BST")  # all of the scenario lies in British Summer Time
BERLIN = timezone(timedelta(hours=2), "CEST")

WEDNESDAY, THURSDAY, FRIDAY = date(2026, 6, 10), date(2026, 6, 11), date(2026, 6, 12)
MONDAY, TUESDAY = date(2026, 6, 15), date(2026, 6, 16)
OFFERED_DAYS = (FRIDAY, MONDAY, TUESDAY)
_KNOWN_DAYS = (WEDNESDAY, THURSDAY, FRIDAY, MONDAY, TUESDAY)

FLAGS = re.IGNORECASE | re.DOTALL


@dataclass(frozen=True, order=True)
class Slot:
    """A start in London time."""

    day: date
    hour: int
    minute: int = 0

    @property
    def start(self) -> datetime:
        """The instant."""
        return datetime.combine(self.day, time(self.hour, self.minute), LONDON)

    def later(self, minutes: int) -> "Slot":
        """The slot so many minutes later on the same day."""
        moved = self.start + timedelta(minutes=minutes)
        return Slot(moved.date(), moved.hour, moved.minute)

    def __str__(self) -> str:
        return f"{self.start:%A} {self.day.day} {self.start:%B} {self.start:%H:%M}"


def slot_of(instant: datetime) -> Slot:
    """The slot that begins at an instant, whatever zone it is written in."""
    local = instant.astimezone(LONDON)
    return Slot(local.date(), local.hour, local.minute)


def quarters(first: Slot, last: Slot) -> list[Slot]:
    """The slots from ``first`` to ``last``, every quarter of an hour."""
    found = [first]
    while found[-1] < last:
        found.append(found[-1].later(15))
    return found


# Days

_WEEKDAYS = ("Mon(?:day)?", "Tue(?:s|sday)?", "Wed(?:nesday)?", "Thu(?:r|rs|rsday)?", "Fri(?:day)?")


@cache
def day_pattern(day: date) -> str:
    """A pattern for a day; a weekday with another week's date ("Friday 19 June") is another day."""
    number = rf"{day.day}(?:st|nd|rd|th)?"
    other_week = "|".join(str((day + timedelta(weeks=w)).day) for w in (-1, 1, 2))
    weekday = rf"\b{_WEEKDAYS[day.weekday()]}\b(?!['’]s)(?!\.?,?\s+(?:the\s+)?(?:{other_week})(?:st|nd|rd|th)?\b)"
    return (
        rf"(?:{weekday}|\b{number}(?:\s+of)?\s+June?\b|\bJune?\s+{number}\b|\bthe\s+{day.day}(?:st|nd|rd|th)\b"
        rf"|\b{day.day}[/.]0?6(?:[/.](?:20)?26)?\b(?!\d)|\b0?6/{day.day}\b|\b{day.isoformat()})"
    )


ANY_DAY = "(?:" + "|".join([*map(day_pattern, _KNOWN_DAYS), r"\btomorrow\b", r"\btoday\b"]) + ")"


@cache
def _other_days(day: date) -> str:
    others = [day_pattern(other) for other in _KNOWN_DAYS if other != day]
    return "(?:" + "|".join([*others, r"\btomorrow\b", r"\btoday\b"]) + ")"


# Times

_NUMBER_WORDS = ["twelve", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]


def _spoken(hour: int, minute: int) -> list[str]:
    """Ways to say a time that don't have its figures in "hour:minute" form."""
    half_day = "a" if hour < 12 else "p"
    this, following = hour % 12, (hour + 1) % 12
    word, next_word = _NUMBER_WORDS[this], _NUMBER_WORDS[following]
    figure, next_figure = this or 12, following or 12
    if minute == 0:
        no_date = r"(?!\s*[:.,]\d|\s*[/-]\s*\d|\s*[ap]\.?m|\s*(?:st|nd|rd|th|June?|min|hour|people|of)\b)"
        at = rf"(?<=\bat ){figure}\b{no_date}"
        said = [
            rf"\b{figure}\s?{half_day}\.?m\b",
            rf"\b(?:{figure}|{word})\s+o['’]?\s?clock\b",
            at,
            rf"\bat {word}\b",
        ]
        return said + ([rf"\b{hour}\s?h\b", rf"\b{hour}\s+uhr\b"]) + ([r"\b(?:noon|midday)\b"] if hour == 12 else [])
    if minute == 15:
        return [rf"\bquarter\s+past\s+(?:{figure}|{word})\b"]
    if minute == 30:
        return [rf"\bhalf(?:\s+past)?[\s-]+(?:{figure}|{word})\b"]
    if minute == 45:
        return [rf"\bquarter\s+to\s+(?:{next_figure}|{next_word})\b"]
    return []


@cache
def _clock(hour: int, minute: int) -> str:
    """A time of the working day; "3:30" is read as 15:30, since nobody meets at half past three at night."""
    minutes = f"{minute:02d}"
    written = [rf"(?<![\d:.,/]){hour:02d}[:.h]{minutes}(?::00)?(?!\d|\s*[-–—]?\s*(?:June?|st|nd|rd|th)\b)"]
    if hour < 10:
        written.append(rf"(?<![\d:.,/]){hour}[:.h]{minutes}(?!\d|\s*p\.?m)")
    if hour > 12:
        written.append(rf"(?<![\d:.,/]){hour - 12}[:.]{minutes}(?!\d|\s*a\.?m)")
    written.append(rf"(?<![\d:.,/+-]){hour:02d}{minutes}(?![\d:])")
    return rf"(?:{'|'.join(written + _spoken(hour, minute))})"


# Slots

# A time is the end of a span, or what something is moved away from, when this stands before it.
_SPAN = (r"[-–—]", r"\s[-–—]\s", r"\sto\s")
_BEFORE = [time + dash for time in (r":\d\d", r"\.\d\d", "pm", "am") for dash in _SPAN]
_BEFORE += [r":\d\d\suntil\s", r":\d\d\sand\s", r"\d[-–—]", r"\s\d\sto\s", r"until\s", r"till\s"]
_BEFORE += [r"instead of\s", r"rather than\s", r"\bnot\s"]
_NOT_AFTER = "".join(f"(?<!{before})" for before in _BEFORE)
_NO = (
    r"(?:\bno longer|\bnot\b|\bcannot|n['’]t\b|\b(?:wont|doesnt|cant|isnt)\b|\bunfortunately|\bclash|\bconflict"
    r"|\bimpossible|\bunavailable|\btaken\b)"
)
# A condition or a reason between the time and the "not" means that something else is turned down.
_ELSEWHERE = r"(?:\b(?:if|unless|whether|hope|should|in case|as|because|since|or|but)\b|, | - )"
_TURNED_DOWN = rf"(?!(?:(?!{_ELSEWHERE})[^\n.?!;–—(|]){{0,45}}?{_NO})"
_QUOTE = r"\n[ \t]{0,8}>|\n[^\n]{5,90}\bwrote:|\n-{2,}\s*Original|\nFrom:\s"
_READ_AT_MOST = 6000  # characters; nobody writes a longer message in good faith, and the patterns stay quick
_OWN_WORDS = rf"\A(?:(?!{_QUOTE}).){{0,{_READ_AT_MOST}}}?"
# The zone may stand after the end of the span: "12:30-13:15 Berlin time".
_HALF_DAY = r"(?:\s*[ap]\.?m\b\.?)?"
_ZONE = (
    rf"{_HALF_DAY}(?:\s*(?:[-–—]|to|until)\s*\d{{1,2}}[:.]\d\d{_HALF_DAY})?\s*[(,]?\s*(?:in\s+)?"
    r"(?:Berlin|German|CEST|MESZ|CET\b|your\s+(?:local\s+)?time|at\s+your\s+end)"
)


@cache
def _moment(day: date, clock: str) -> str:
    moment = _NOT_AFTER + clock
    other = _other_days(day)
    between = rf"(?:(?!{other}|{_QUOTE}).){{0,200}}?"
    belongs = rf"(?!\s*(?:[ap]\.?m\.?)?,?\s*(?:on\s+)?{other})"
    forward = rf"(?<!from ){day_pattern(day)}{between}{moment}{belongs}"
    moved = rf"from\s+{day_pattern(day)}(?:\s+at)?\s+[\d:.apm]+\s+to\s+{clock}"
    backward = (
        rf"{moment}(?:\s*[ap]\.?m\.?)?(?:\s+\w{{2,6}}\s+time)?(?:\s*[-–—]\s*\d{{1,2}}[:.]\d\d)?"
        rf"(?:\s+instead)?,?\s*(?:on\s+|\()?(?:the\s+)?{day_pattern(day)}"
    )
    return rf"(?:{forward}|{moved}|{backward}){_TURNED_DOWN}"


@cache
def slot_pattern(slot: Slot, *, in_berlin: bool = False) -> str:
    """A pattern for a slot that the message's author names in their own words (not in quoted mail).

    Args:
        slot: the slot, in London time.
        in_berlin: look for it as a clock in Berlin shows it, marked as such ("12:30 Berlin time"). Without this,
            a time that is marked as Berlin's isn't found.
    """
    if in_berlin:
        local = slot.start.astimezone(BERLIN)
        return _OWN_WORDS + _moment(slot.day, rf"{_clock(local.hour, local.minute)}{_ZONE}")
    return _OWN_WORDS + _moment(slot.day, rf"{_clock(slot.hour, slot.minute)}(?!{_ZONE})")


def bare_time_pattern(hour: int, minute: int) -> str:
    """A pattern for a message that names a time and no day at all."""
    return rf"\A(?!.*{ANY_DAY}){_OWN_WORDS[2:]}{_NOT_AFTER}{_clock(hour, minute)}{_TURNED_DOWN}"


def day_named_pattern(day: date) -> str:
    """A pattern for a message whose author names a day, at whatever time."""
    return rf"{_OWN_WORDS}{day_pattern(day)}"


def invitation_pattern(slots: Iterable[Slot]) -> str:
    """A pattern for an invitation (title, start, end, … each on a line) that starts at one of the slots."""
    starts = []
    for slot in slots:
        for zone, offset in ((UTC, r"(?:Z|\+00:?00)"), (LONDON, r"\+01:?00"), (BERLIN, r"\+02:?00")):
            local = slot.start.astimezone(zone)
            starts.append(rf"{local:%Y-%m-%dT%H:%M}(?::00(?:\.0+)?)?{offset}")
    return rf"\A[^\n]*\n(?:{'|'.join(starts)})"


def invitation_day_pattern(day: date) -> str:
    """A pattern for an invitation that starts on a day (no slot lies near midnight, so the zone doesn't matter)."""
    return rf"\A[^\n]*\n{day.isoformat()}T"


# Reading texts in evaluators

_GRID = [slot for day in OFFERED_DAYS for slot in quarters(Slot(day, 8, 0), Slot(day, 18, 45))]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, FLAGS)


def names_slot(text: str, slot: Slot, *, berlin_too: bool = False) -> bool:
    """Whether a text names a slot (with ``berlin_too``: or says it as "12:30 Berlin time")."""
    text = text[:_READ_AT_MOST]
    if _compiled(slot_pattern(slot)).search(text):
        return True
    return berlin_too and bool(_compiled(slot_pattern(slot, in_berlin=True)).search(text))


def names_time(text: str, slot: Slot) -> bool:
    """Whether a text names a slot's time and no day at all."""
    return bool(_compiled(bare_time_pattern(slot.hour, slot.minute)).search(text[:_READ_AT_MOST]))


def slots_named(text: str) -> set[Slot]:
    """The slots on the offered days that a text names, to the quarter of an hour; Berlin's times are converted."""
    text, found = text[:_READ_AT_MOST], set()
    for slot in _GRID:
        local = slot.start.astimezone(BERLIN)
        for hour, minute, in_berlin in ((slot.hour, slot.minute, False), (local.hour, local.minute, True)):
            if not _compiled(_clock(hour, minute)).search(text):
                continue  # spares making the long pattern
            if _compiled(slot_pattern(slot, in_berlin=in_berlin)).search(text):
                found.add(slot)
    return found


def last_day_named(text: str) -> str | None:
    """The last expression for a day in a text, as written."""
    found = list(_compiled(ANY_DAY).finditer(text))
    return found[-1].group() if found else None
