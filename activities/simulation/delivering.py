"""Messages between the participants of an assessment, each with a simulation of its own. A message keeps its ids on its
way, for its thread, and arrives a set time after it was sent, so that any attempt gives the same day.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from proctor.activities.characters.generator import ANSWERED_IN_A_TURN, character_at, recipients
from proctor.activities.characters.messages import OutgoingMessage
from proctor.activities.simulation.hosts import PlannedEvent
from proctor.activities.simulation.payloads import Sent
from proctor.protocol.scenario import ScenarioConfig

DELIVERY = timedelta(minutes=1)
"""Simulated time between sending and arrival."""


def sent_to_colleagues(messages: Iterable[OutgoingMessage], scenario: ScenarioConfig) -> list[Sent]:
    """The messages of a turn that reached users of other roles, in order; a user gets the first
    ``ANSWERED_IN_A_TURN``.
    """
    roles = {user: role for role, user in scenario.colleagues.items()}
    received: Counter[str] = Counter()
    sent = []
    for message in messages if roles else ():
        for user in _reached(message, scenario):
            received[user] += user in roles
            if user in roles and received[user] <= ANSWERED_IN_A_TURN:
                known: dict[str, Any] = {"thread": [], "sender": message.sender or scenario.user.email}
                sent.append(Sent(role=roles[user], message=message.model_copy(update=known)))
    return sent


def _reached(message: OutgoingMessage, scenario: ScenarioConfig) -> Iterable[str]:
    """The characters who get a message, each once. An RSVP goes to the organizer, other changes to those invited."""
    if message.modality == "chat":
        return ()
    addresses = [message.sender or ""] if message.operation == "respond" else recipients(message)
    found = (character_at(address, message.modality, scenario) for address in addresses)
    return dict.fromkeys(character_id for character_id in found if character_id is not None)


def arrival_events(message: OutgoingMessage) -> list[PlannedEvent]:
    return [
        PlannedEvent(scheduled_time=message.sent_at + DELIVERY, modality=message.modality, data=data)
        for data in _data_of(message)
    ]


def _data_of(message: OutgoingMessage) -> list[dict[str, Any]]:
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
    # Someone may be invited by a change: then the event is created, else it is there and only changes.
    return [new] if message.operation == "create" else [new, {**event, **details, "operation": "update"}]
