"""The action log: from event answers to entries, and turns in strict order."""

from datetime import UTC, datetime
from typing import Any

import pytest

from proctor.activities.simulation.keys import USER_PERMISSIONS
from proctor.activities.simulation.turns import entries_from_events
from purple_sdk.protocol.actions import USER_ACTIONS, action_name

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def _event(modality: str, data: dict[str, Any], **changes: Any) -> dict[str, Any]:
    event = {
        "event_id": "e1",
        "scheduled_time": NOON.isoformat(),
        "executed_at": NOON.isoformat(),
        "modality": modality,
        "status": "executed",
        "priority": 100,
        "agent_id": "participant",
        "error_message": None,
        "data": {"modality_type": modality, "timestamp": NOON.isoformat(), "input_id": "i1"} | data,
    }
    return event | changes


@pytest.mark.parametrize(
    ("modality", "data", "action", "parameters"),
    [
        (
            "email",
            {"operation": "send", "to_addresses": ["a@b"], "subject": "S", "body_text": "B", "body_html": None},
            "email.send",
            {"to_addresses": ["a@b"], "subject": "S", "body_text": "B"},
        ),
        ("email", {"operation": "mark_read", "message_ids": ["m1"]}, "email.mark_read", {"message_ids": ["m1"]}),
        ("email", {"operation": "mark_unread", "message_ids": ["m1"]}, "email.mark_unread", {"message_ids": ["m1"]}),
        ("email", {"operation": "add_label", "labels": ["x"]}, "email.label", {"labels": ["x"]}),
        ("email", {"operation": "remove_label", "labels": ["x"]}, "email.unlabel", {"labels": ["x"]}),
        ("email", {"operation": "archive", "message_ids": ["m1"]}, "email.archive", {"message_ids": ["m1"]}),
        (
            "sms",
            {"action": "send_message", "message_data": {"to_numbers": ["+1"], "body": "B", "message_id": None}},
            "sms.send",
            {"to_numbers": ["+1"], "body": "B"},
        ),
        ("sms", {"action": "add_reaction", "reaction_data": {"emoji": "x"}}, "sms.react", {"emoji": "x"}),
        (
            "chat",
            {"operation": "send_message", "role": "assistant", "content": "C"},
            "chat.send_message",
            {"role": "assistant", "content": "C"},
        ),
        ("chat", {"role": "assistant", "content": "C"}, "chat.send_message", {"role": "assistant", "content": "C"}),
        ("calendar", {"operation": "create", "title": "T"}, "calendar.create", {"title": "T"}),
        ("calendar", {"operation": "respond", "event_id": "v"}, "calendar.respond", {"event_id": "v"}),
        ("contacts", {"operation": "update", "contact_id": "k"}, "contacts.update", {"contact_id": "k"}),
    ],
)
def test_an_event_becomes_an_action_named_as_its_route(
    modality: str, data: dict[str, Any], action: str, parameters: dict[str, Any]
) -> None:
    [entry] = entries_from_events([_event(modality, data)], "participant", 3)
    assert (entry.turn, entry.action, entry.parameters, entry.success) == (3, action, parameters, True)
    assert entry.timestamp == NOON


def test_only_what_the_participant_did_and_what_ran_counts() -> None:
    data = {"operation": "archive", "message_ids": ["m1"]}
    events = [
        _event("email", data, agent_id="evaluator"),
        _event("email", data, agent_id=None),
        _event("email", data, status="pending", executed_at=None),
        _event("email", data, status="skipped"),
        _event("email", data, status="failed", error_message="no such message"),
    ]
    [entry] = entries_from_events(events, "participant", 1)
    assert (entry.success, entry.error_message) == (False, "no such message")


def test_actions_stand_in_the_order_of_time_then_of_the_log() -> None:
    later = "2026-03-02T12:00:05+00:00"
    events = [
        _event("email", {"operation": "delete"}, executed_at=later),
        _event("email", {"operation": "star"}),
        _event("email", {"operation": "archive"}),
    ]
    actions = [entry.action for entry in entries_from_events(events, "participant", 1)]
    assert actions == ["email.star", "email.archive", "email.delete"]


def test_every_action_that_a_participant_may_do_has_a_name_that_authors_can_look_up() -> None:
    looks = ("state", "query", "list")
    allowed = [p.replace(":", ".") for p in USER_PERMISSIONS if p.partition(":")[0] in ("email", "sms", "chat")]
    allowed += [p.replace(":", ".") for p in USER_PERMISSIONS if p.startswith(("calendar:", "contacts:"))]
    actions = {action_name(name) for name in allowed if name.rpartition(".")[2] not in looks}
    assert actions <= set(USER_ACTIONS)
