"""The user's wishes, as far as rules can read them: the meetings to move, the free time, the ways to reach people."""

import re
from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import Literal

from purple_sdk.examples.reschedule_agent.times import DAY, WEEKDAYS

Channel = Literal["email", "sms", "invitation"]

_DATED = re.compile(rf"\b{DAY} (?P<day>\d{{1,2}})\b", re.IGNORECASE)
_MEETING = re.compile(r"^\s*[-*•]\s*(?P<title>.+?) with (?P<person>[^\n]+?)\s*$", re.MULTILINE)
_HOURS = re.compile(r"(\d{1,2}):(\d\d) to (\d{1,2}):(\d\d)")
_NOT_BEFORE = re.compile(r"\bbefore (\d{1,2}):(\d\d)")
_LEAVES = re.compile(r"\bat (\d{1,2}):(\d\d) I (?:leave|go|have to)")
_DECLINE = re.compile(r"(?P<title>[A-Z][^.:\n]*?) goes ahead without me\b(?P<rest>[^.]*)")
_LET_KNOW = re.compile(r"\b(?:let|tell) (?P<person>[A-Z]\w+(?: [A-Z]\w+)*)")
_END = re.compile(r"\b(?:comes|leave|go|pick(?:s|ed)? me up) at (\d{1,2}):(\d\d)")
_CHANNELS: tuple[tuple[str, Channel], ...] = (
    (r"\bonly texts\b|\bby text\b", "sms"),
    (r"\b(only )?answers invitations\b|\bby invitation\b", "invitation"),
    (r"\bby e-?mail\b", "email"),
)


@dataclass(frozen=True)
class Wish:
    """One meeting that has to move."""

    title: str
    person: str
    channel: Channel

    @property
    def first_name(self) -> str:
        """The first name, without a title."""
        return re.sub(r"^(Dr|Prof|Mrs?|Ms)\.? ", "", self.person).partition(" ")[0]

    @property
    def surname(self) -> str:
        """The last name, if the user's words have one."""
        return re.sub(r" (in|from|of) .*", "", self.person).rpartition(" ")[2]


@dataclass(frozen=True)
class Orders:
    """The user's wishes.

    Attributes:
        cleared: the day that the user is away.
        moves: the meetings to move.
        days: the days to which they may move, and the user's hours on each.
        declined: the title of the event that takes place without the user, if any.
        informed: the person to inform of that.
        ends: the time for the report to the user.
    """

    cleared: date
    moves: tuple[Wish, ...]
    days: dict[date, tuple[time, time]]
    declined: str | None
    informed: str | None
    ends: time | None


def read_orders(text: str, today: date) -> Orders | None:
    """Read the instructions; None if they don't ask to clear a day."""
    away = re.search(r"\baway\b[^.]*", text, re.IGNORECASE)
    days = [_date(match, today) for match in _DATED.finditer(text)]
    moves = tuple(
        Wish(match["title"].strip(), match["person"], _channel(match["person"], text))
        for match in _MEETING.finditer(text)
    )
    cleared = _date(named, today) if away and (named := _DATED.search(away[0])) else today + timedelta(days=1)
    if not moves or away is None:
        return None
    declined = _DECLINE.search(text)
    informed = _LET_KNOW.search(declined["rest"]) if declined else None
    end = _END.search(text)
    return Orders(
        cleared=cleared,
        moves=moves,
        days={day: _hours(day, text) for day in sorted(set(days) - {cleared})},
        declined=re.sub(r"^The ", "", declined["title"]) if declined else None,
        informed=informed["person"] if informed else None,
        ends=time(int(end[1]), int(end[2])) if end else None,
    )


def _date(match: re.Match[str], today: date) -> date:
    """Return the next day with that number and a matching name."""
    for ahead in range(1, 62):
        day = today + timedelta(days=ahead)
        if day.day == int(match["day"]) and WEEKDAYS[day.weekday()].startswith(match["weekday"].lower()):
            return day
    return today


def _channel(person: str, text: str) -> Channel:
    """Return the way to reach a person, from the sentence with the name in it."""
    name = Wish("", person, "email").first_name
    for sentence in re.split(r"(?<=[.:])\s+|\n", text):
        if re.search(rf"\b{re.escape(name)}\b", sentence) and not sentence.lstrip().startswith("-"):
            for pattern, channel in _CHANNELS:
                if re.search(pattern, sentence):
                    return channel
    return "email"


def _hours(day: date, text: str) -> tuple[time, time]:
    hours = _HOURS.search(text)
    start, end = (
        (time(int(hours[1]), int(hours[2])), time(int(hours[3]), int(hours[4]))) if hours else (time(9), time(17))
    )
    for sentence in re.split(r"(?<=\.)\s+", text):
        if re.match(rf"On {WEEKDAYS[day.weekday()]}\b", sentence, re.IGNORECASE):
            if before := _NOT_BEFORE.search(sentence):
                start = time(int(before[1]), int(before[2]))
            if leaves := _LEAVES.search(sentence):
                end = time(int(leaves[1]), int(leaves[2]))
    return start, end
