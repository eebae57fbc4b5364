"""The command line and the pages say the same of an action."""

from datetime import UTC, datetime
from typing import Any

import pytest

from proctor.common.phrases import phrases
from proctor.protocol.action_words import heading_of, ids_in, target_of, text_of
from proctor.protocol.updates import ActionObservedUpdate


@pytest.mark.parametrize(
    ("action", "parameters", "phrase"),
    [
        ("email.label", {"message_ids": ["a", "b"], "labels": ["urgent"]}, "email.label 2 → urgent"),
        ("email.move", {"message_id": "a", "folder": "archive"}, "email.move → archive"),
        ("email.send", {"to_addresses": ["a@x", "b@x"], "subject": "Hi"}, "email.send → a@x, b@x “Hi”"),
        ("sms.send", {"to_numbers": ["+1"], "body": "Call me"}, "sms.send → +1 “Call me”"),
        ("chat.send_message", {"content": [{"type": "text", "text": "Done"}]}, "chat.send_message “Done”"),
        ("calendar.respond", {"event_id": "e", "response": "accepted"}, "calendar.respond → accepted"),
    ],
)
def test_an_action_in_words(action: str, parameters: dict[str, Any], phrase: str) -> None:
    told = ActionObservedUpdate(
        turn_number=1,
        timestamp=datetime(2026, 3, 2, tzinfo=UTC),
        action=action,
        parameters=parameters,
        success=True,
    )
    assert phrases([told]) == [phrase]
    count = f" {len(ids_in(parameters))}" if len(ids_in(parameters)) > 1 else ""
    target = f" → {target_of(parameters)}" if target_of(parameters) else ""
    text = heading_of(parameters) or text_of(parameters)
    assert phrase == f"{action}{count}{target}" + (f" “{text}”" if text and not count else "")
