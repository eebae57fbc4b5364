"""Wordings of messages for the audit's players: six voices around exact values, each with its own notations."""

from collections.abc import Sequence
from datetime import date, datetime, time
from typing import Any

from proctor.scenarios.kit.making.duty import Act
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.people import Person
from proctor.scenarios.kit.values import Value

VOICES = 6
_SAY = forms(__file__)


def message(act: Act, user: Person, voice: int = 0, shown: Sequence[str] = ()) -> dict[str, Any]:
    """The subject and body of a ``tell``, in one of the voices; ``shown`` are its values in their own notations."""
    form, subject = _SAY["bodies"][voice % VOICES], _SAY["subjects"][voice % VOICES]
    values = shown or [show(value, voice) for value in act.values]
    slots = {
        "reader": act.to.first if act.to else user.first,
        "user": user.first,
        "topic": act.topic,
        "values": ", ".join(values) or "noted",
        "lines": "\n".join(f"- {value}" for value in values) or "- noted",
    }
    return {"subject": subject.format(**slots), "body": form.format(**slots)}


def show(value: Value, voice: int = 0, at: str = "at") -> str:
    """A value in one of its notations; ``at`` is the word between a day and a time."""
    match value.kind:
        case "amount":
            whole, cents = divmod(int(value.value), 100)
            return (
                f"€{whole:,}.{cents:02}",
                f"{whole}.{cents:02} EUR",
                f"EUR {whole:,}.{cents:02}",
                f"{whole}.{cents:02}",
                f"{whole:,}.{cents:02} euros",
                f"{whole:,}".replace(",", ".") + f",{cents:02} EUR",
            )[voice % VOICES]
        case "day":
            return _day(date.fromisoformat(value.value), voice)
        case "time":
            return _time(time.fromisoformat(value.value), voice)
        case "moment":
            moment = datetime.fromisoformat(value.value)
            return f"{_day(moment.date(), voice)} {f'{at} ' if voice % 2 else ''}{_time(moment.time(), voice)}"
        case "words":
            options = value.value.split("|")
            return options[voice % len(options)].rstrip("-")
        case _:
            return value.value


def _day(day: date, voice: int) -> str:
    return (
        f"{day:%A} {day.day} {day:%B}",
        f"{day:%a} {day.day}/{day.month}",
        f"{day:%B} {day.day}",
        day.isoformat(),
        f"{day.day} {day:%b}",
        f"{day.day}.{day.month}.{day.year}",
    )[voice % VOICES]


def _time(at: time, voice: int) -> str:
    half = "am" if at.hour < 12 else "pm"
    short = f"{at.hour % 12 or 12}{f':{at.minute:02}' if at.minute else ''} {half}"
    dotted = f"{at:%H.%M}" if at.minute > 12 else f"{at:%H:%M}"  # "12.05." is a day in May
    return (f"{at:%H:%M}", short, f"{at:%H:%M}", f"{at:%H:%M}", short, dotted)[voice % VOICES]
