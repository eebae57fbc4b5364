"""Days and times in people's texts: "Tuesday 16 June at 16:00", "Fri 12.45"."""

import re
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
DAY = r"(?P<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]*"
CLOCK = r"(?P<hour>[01]?\d|2[0-3])[:.](?P<minute>[0-5]\d)"
_OFFER = re.compile(rf"\b{DAY}\b(?P<between>[^.?!\n]{{0,25}}?)\b{CLOCK}\b", re.IGNORECASE)
_NO_OFFER = re.compile(r"\b(until|till|from|by|before|after|not|no)\b", re.IGNORECASE)


def next_weekday(name: str, after: date) -> date:
    """Return the first day of that name (three letters are enough) after a day."""
    number = next(place for place, weekday in enumerate(WEEKDAYS) if weekday.startswith(name[:3].lower()))
    return after + timedelta(days=(number - after.weekday() - 1) % 7 + 1)


def find_offers(text: str, today: date, zone: ZoneInfo) -> list[datetime]:
    """Return the times that a text names together with their day, in its order.

    Quoted lines are skipped. ``zone`` is the writer's time zone.
    """
    own = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(">"))
    offers = []
    for match in _OFFER.finditer(own):
        if not _NO_OFFER.search(match["between"]):
            at = time(int(match["hour"]), int(match["minute"]))
            offers.append(datetime.combine(next_weekday(match["weekday"], today), at, zone))
    return offers


def in_words(moment: datetime) -> str:
    """Format a time as people write it: "Tuesday 16 June at 16:00"."""
    return f"{moment:%A} {moment.day} {moment:%B} at {moment:%H:%M}"
