"""Messages between the participants of an assessment, who have separate simulations.

A delivered message keeps its ids, so it belongs to the same thread. It arrives a fixed time after it was sent, so every
attempt gives the same day.
"""

from datetime import timedelta
from typing import Any

from proctor.activities.characters.messages import OutgoingMessage
from proctor.activities.simulation.hosts import PlannedEvent

DELIVERY = timedelta(minutes=1)
"""Simulated time between sending and arrival."""


def arrival_events(message: OutgoingMessage) -> list[PlannedEvent]:
    """Return the events by which a message arrives in the simulation of another participant."""
    return [
        PlannedEvent(scheduled_time=message.sent_at + DELIVERY, modality=message.modality, data=data)
        for data in _make_event_data(message)
    ]


def _make_event_data(message: OutgoingMessage) -> list[dict[str, Any]]:
    if message.modality == "email":
        return [
            {
                "operation": "receive",
                "message_id": message.message_id,
                "thread_id": message.thread_id,
                "from_address": message.sender,
                "to_addresses": message.to,
                "cc_addresses": message.cc,
                "subject": message.subject,
                "body_text": message.body,
                **message.more,
            }
        ]
    if message.modality == "sms":
        content = {
            "message_id": message.message_id,
            "from_number": message.sender,
            "to_numbers": message.to,
            "body": message.body,
            "message_type": "sms",
            **message.more,
        }
        return [{"action": "receive_message", "message_data": content}]
    event: dict[str, Any] = {"event_id": message.event_id, "calendar_id": "primary"}
    if message.operation == "delete":
        return [{**event, "operation": "delete"}]
    if message.operation == "respond":
        rsvp = {"attendee_email": message.attendee, "response": message.response}
        return [{**event, **rsvp, "operation": "respond", "response_comment": message.comment}]
    details = {
        "title": message.title,
        "start": message.start and message.start.isoformat(),
        "end": message.end and message.end.isoformat(),
        "location": message.location,
        "description": message.description,
        **message.more,
    }
    invited = [{"email": attendee} for attendee in message.attendees]
    new = {**event, **details, "operation": "create", "organizer": message.sender, "attendees": invited}
    # A change may add an attendee, for whom the event is created. For the other attendees, it exists and only changes.
    return [new] if message.operation == "create" else [new, {**event, **details, "operation": "update"}]
