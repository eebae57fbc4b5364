"""The calendar as it stands on Wednesday at 08:00, and the change that North Thames makes at 11:20."""

from datetime import datetime, timedelta
from typing import Any

import ground_truth as truth
from slots import FRIDAY, MONDAY, THURSDAY, TUESDAY, WEDNESDAY, Slot

from scenarios.kit.building import calendar_of

INES = {"email": truth.USER_EMAIL, "display_name": "Ines Carvalho", "response": "accepted"}
MARGARET = {"email": "margaret.boyd@larkfield.example", "display_name": "Margaret Boyd", "response": "accepted"}
OWEN = {"email": "owen.price@larkfield.example", "display_name": "Owen Price", "response": "accepted"}
GRETA = {"email": truth.GRETA_EMAIL, "display_name": "Greta Holm", "response": "accepted"}
PHILIPPA = {"email": "philippa.grant@norththames.example", "display_name": "Philippa Grant", "response": "accepted"}
AISHA = {"email": truth.ONBOARDING.email, "display_name": "Aisha Rahman", "response": "accepted"}
DANIEL = {"email": truth.PRICING.email, "display_name": "Daniel Okafor", "response": "accepted"}
SABINE = {"email": truth.WALKTHROUGH.email, "display_name": "Dr. Sabine Keller", "response": "accepted"}


def _event(
    event_id: str,
    title: str,
    start: Slot,
    minutes: int,
    *,
    description: str | None = None,
    location: str | None = None,
    organizer: str | None = truth.USER_EMAIL,
    attendees: list[dict[str, Any]] | None = None,
    visibility: str = "default",
    entered: str = "2026-05-28T10:12:00+01:00",
) -> dict[str, Any]:
    return {
        "event_id": event_id,
        "calendar_id": "primary",
        "title": title,
        "start": start.start.isoformat(),
        "end": (start.start + timedelta(minutes=minutes)).isoformat(),
        "all_day": False,
        "timezone": "Europe/London",
        "description": description,
        "location": location,
        "status": "confirmed",
        "organizer": organizer,
        "attendees": attendees or [],
        "recurrence": None,
        "recurrence_exceptions": [],
        "recurrence_id": None,
        "parent_event_id": None,
        "reminders": [{"minutes_before": 10, "type": "notification"}],
        "color": None,
        "visibility": visibility,
        "transparency": "opaque",
        "attachments": [],
        "conference_link": None,
        "created_at": entered,
        "updated_at": entered,
        "deleted_at": None,
    }


def _meeting(meeting: truth.Meeting, **details: Any) -> dict[str, Any]:
    return _event(meeting.event_id, meeting.title, meeting.start, meeting.minutes, **details)


EVENTS = [
    _event(
        "evt-wed-interviews",
        "Interviews: partner manager (2 candidates)",
        Slot(WEDNESDAY, 9),
        150,
        location="Room Hodgkin",
        attendees=[INES, AISHA],
    ),
    _event("evt-wed-papers", "Quiet time: board papers, packing", Slot(WEDNESDAY, 12, 30), 150),
    _event(
        "evt-thu-standup",
        "Partnerships stand-up",
        Slot(THURSDAY, 9),
        15,
        description="Aisha runs it when Ines is out.",
        location="Team area",
        attendees=[INES, AISHA],
    ),
    _event(
        "evt-thu-hold",
        "Hold (private)",
        Slot(THURSDAY, 6, 30),
        15 * 60,
        organizer=truth.USER_EMAIL,
        visibility="private",
        entered="2026-06-09T21:40:00+01:00",
    ),
    _meeting(
        truth.PRICING,
        description="Agree the Q3 list prices for assay kits and the discount bands. Daniel brings the margin model.",
        location="Room Franklin",
        attendees=[INES, DANIEL],
    ),
    _meeting(
        truth.WALKTHROUGH,
        description=(
            "45 minutes through the interim data of the SPREE-2 reproducibility trial: site variance, the two outlier"
            " plates, next lock date. Video call."
        ),
        location="Video call",
        attendees=[INES, SABINE],
    ),
    _meeting(
        truth.HANDOVER,
        description=(
            "Ray (Tully Cold Storage) hands over the keys and the alarm codes for the -80 freezers. "
            "Texts only: 07700 900318, he has no email. Half an hour at the loading bay."
        ),
        location="Loading bay, Unit 4",
    ),
    _meeting(
        truth.ONBOARDING,
        description="Plan for the two new starters in July: week by week, who trains what.",
        location="Room Hodgkin",
        attendees=[INES, AISHA],
    ),
    _event(
        truth.PANEL_ID,
        "LIMS vendor panel: shortlist",
        Slot(THURSDAY, 15, 30),
        60,
        description="Panel of five scores the three vendors; a quorum is three. Papers went round on Monday.",
        location="Room Sanger",
        organizer=truth.GRETA_EMAIL,
        attendees=[
            {**INES, "response": "accepted"},
            GRETA,
            OWEN,
            {"email": "helen.marsh@larkfield.example", "display_name": "Helen Marsh", "response": "accepted"},
            {"email": "tom.beckett@larkfield.example", "display_name": "Tom Beckett", "response": "accepted"},
        ],
        entered="2026-05-21T15:02:00+01:00",
    ),
    _event(
        truth.REVIEW_ID,
        "Contract review with North Thames Hospitals",
        Slot(FRIDAY, 11, 30),
        60,
        description="Framework renewal, schedules 2 and 5. Their committee room; time set by North Thames.",
        location="North Thames Hospitals, Committee Room 2 (dial-in for Larkfield)",
        organizer=PHILIPPA["email"],
        attendees=[PHILIPPA, INES],
        entered="2026-05-19T09:30:00+01:00",
    ),
    _event(
        "evt-fri-dentist",
        "Dentist",
        Slot(FRIDAY, 15, 30),
        60,
        description="Dr Amin, Queen Street. Leave the office at 15:00, not coming back.",
        location="Queen Street Dental Practice",
        visibility="private",
    ),
    _event(
        "evt-mon-leadership",
        "Leadership team",
        Slot(MONDAY, 9),
        90,
        location="Boardroom",
        organizer=MARGARET["email"],
        attendees=[MARGARET, INES, DANIEL],
    ),
    _event(
        "evt-mon-lunch",
        "Lunch with Prof. Adeyemi",
        Slot(MONDAY, 13),
        60,
        description="Booked since April, she is only in London that day.",
        location="Brasserie Lamb's Conduit",
    ),
    _event(
        "evt-mon-budget",
        "Budget workshop H2",
        Slot(MONDAY, 15),
        150,
        location="Room Franklin",
        organizer="helen.marsh@larkfield.example",
        attendees=[
            {"email": "helen.marsh@larkfield.example", "display_name": "Helen Marsh", "response": "accepted"},
            INES,
            OWEN,
        ],
    ),
    _event(
        "evt-tue-reading",
        "Site visit Reading, incl. travel",
        Slot(TUESDAY, 9),
        210,
        location="Reading plant",
        organizer=truth.USER_EMAIL,
    ),
    _event(
        "evt-tue-margaret",
        "1:1 with Margaret",
        Slot(TUESDAY, 14),
        60,
        location="Margaret's office",
        organizer=MARGARET["email"],
        attendees=[MARGARET, INES],
    ),
    _event(
        "evt-wed17-board-papers",
        "Board papers due",
        Slot(datetime(2026, 6, 17).date(), 12),
        30,
        organizer=truth.USER_EMAIL,
    ),
]

STATE = calendar_of(
    "Ines Carvalho",
    EVENTS,
    start="2026-06-10T07:50:00+01:00",
    timezone="Europe/London",
    since="2025-01-06T09:00:00+00:00",
    reminders=[{"minutes_before": 10, "type": "notification"}],
)

# Only what changes; the rest of the event stays as it is.
REVIEW_MOVES = {
    "operation": "update",
    "event_id": truth.REVIEW_ID,
    "calendar_id": "primary",
    "recurrence_scope": "this",
    "start": truth.REVIEW_START.start.isoformat(),
    "end": truth.REVIEW_END.start.isoformat(),
    "timezone": "Europe/London",
}
