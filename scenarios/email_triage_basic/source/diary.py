"""Priya's calendar for the day: why she is not at her desk."""

from datetime import datetime
from typing import Any

from ground_truth import START, USER, message_id

from scenarios.kit.building import calendar_of

# title, start, end, where, with whom
_APPOINTMENTS: tuple[tuple[str, str, str, str | None, list[str]], ...] = (
    (
        "Operations stand-up",
        "07:30",
        "08:00",
        "Room Humber",
        ["deepak.iyer@northpier.example", "owen.hughes@northpier.example"],
    ),
    ("Carrier council (external)", "08:30", "11:30", "Room Thames", ["owen.hughes@northpier.example"]),
    ("All-hands", "12:00", "13:00", "Atrium", ["greta.voss@northpier.example"]),
    ("Budget round with finance", "13:15", "14:30", "Room Mersey", ["clara.nunes@northpier.example"]),
    ("Warehouse visit with Sundhamn", "15:00", "17:00", "Tilbury", ["owen.hughes@northpier.example"]),
    ("Home by six", "18:00", "18:30", None, []),
)


def calendar_state() -> dict[str, Any]:
    """The calendar's state as a UES scenario file holds it."""
    stamp = START.replace(hour=6).isoformat()
    return calendar_of("Priya Raman", map(_event, _APPOINTMENTS), start=stamp, timezone="Europe/London")


def _event(appointment: tuple[str, str, str, str | None, list[str]]) -> dict[str, Any]:
    title, start, end, location, people = appointment
    stamp = START.replace(day=2).isoformat()
    return {
        "event_id": message_id(title).replace("msg", "evt"),
        "calendar_id": "primary",
        "title": title,
        "start": _at(start).isoformat(),
        "end": _at(end).isoformat(),
        "timezone": "Europe/London",
        "location": location,
        "organizer": USER,
        "attendees": [{"email": person, "response": "accepted"} for person in people],
        "created_at": stamp,
        "updated_at": stamp,
    }


def _at(clock: str) -> datetime:
    hour, minute = map(int, clock.split(":"))
    return START.replace(hour=hour, minute=minute)
