"""Mechanical checks, exactly as ``proctor.protocol.scenario.RubricCheck`` says."""

from datetime import UTC, date, datetime
from functools import partial
from typing import Any

import pytest

from proctor.activities.judging.rubric import passes, score_rubric, texts_written
from proctor.language.moments import Reading
from proctor.protocol.scenario import RubricCheck, RubricItem
from purple_sdk.protocol.results import ActionLogEntryWithTurn

READ = partial(Reading, first_day=date(2026, 3, 2))
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def _did(action: str, turn: int = 1, success: bool = True, **parameters: Any) -> ActionLogEntryWithTurn:
    return ActionLogEntryWithTurn(turn=turn, timestamp=NOON, action=action, parameters=parameters, success=success)


LOG = [
    _did("chat.send_message", role="assistant", content="Summary: two mails"),
    _did(
        "chat.send_message",
        turn=2,
        role="assistant",
        content=[{"type": "text", "text": "All\nquiet now"}, {"type": "image"}],
    ),
    _did("chat.send_message", role="user", content="user words"),
    _did(
        "email.send",
        turn=2,
        to_addresses=["a@x.example"],
        cc_addresses=["b@x.example"],
        subject="Hello",
        body_text="Body here",
    ),
    _did("email.send", success=False, to_addresses=["a@x.example"], subject="Lost", body_text="failed words"),
    _did("email.archive", message_ids=["words"]),
    _did("sms.send", turn=3, to_numbers=["+1555"], body="On my way"),
    _did("calendar.create", turn=3, title="Talk", description="Agenda", attendees=[{"email": "c@x.example"}]),
    _did("calendar.update", turn=4, event_id="v1", start="2026-03-05T10:00:00Z"),
]


def test_the_texts_are_what_was_written_and_sent() -> None:
    assert [(text.modality, text.turn, text.recipients, text.text) for text in texts_written(LOG)] == [
        ("chat", 1, (), "Summary: two mails"),
        ("chat", 2, (), "All\nquiet now"),
        ("email", 2, ("a@x.example", "b@x.example"), "Hello\nBody here"),
        ("sms", 3, ("+1555",), "On my way"),
        ("calendar", 3, ("c@x.example",), "Talk\nAgenda"),
        ("calendar", 4, (), "\n"),
    ]


@pytest.mark.parametrize(
    ("check", "passed"),
    [
        ({"kind": "pattern_found", "pattern": "TWO mails"}, True),
        ({"kind": "pattern_found", "pattern": "all.quiet"}, True),
        ({"kind": "pattern_found", "pattern": "body"}, False),
        ({"kind": "pattern_found", "pattern": "user words"}, False),
        ({"kind": "pattern_found", "pattern": "failed words", "target": "any"}, False),
        ({"kind": "pattern_found", "pattern": "hello.body", "target": "email"}, True),
        ({"kind": "pattern_found", "pattern": "[a-z]", "every": True}, True),
        ({"kind": "pattern_found", "pattern": "mails", "every": True}, False),
        ({"kind": "pattern_found", "pattern": ".", "every": True, "turns": [5, 9]}, False),
        ({"kind": "pattern_found", "pattern": "way", "target": "any"}, True),
        ({"kind": "pattern_found", "pattern": "way", "target": "any", "turns": [1, 2]}, False),
        ({"kind": "pattern_found", "pattern": "body", "target": "email", "to": r"^B@x\.example$"}, True),
        ({"kind": "pattern_found", "pattern": "body", "target": "email", "to": "c@x"}, False),
        ({"kind": "pattern_found", "pattern": "agenda", "target": "calendar", "to": "c@x"}, True),
        ({"kind": "pattern_found", "pattern": "mails", "to": "."}, False),
        ({"kind": "pattern_absent", "pattern": "secret"}, True),
        ({"kind": "pattern_absent", "pattern": "quiet"}, False),
        ({"kind": "pattern_absent", "pattern": "secret", "turns": [3, 9]}, False),
        ({"kind": "length", "min": 3, "max": 3}, True),
        ({"kind": "length", "min": 3, "max": 3, "target": "any"}, False),
        ({"kind": "length", "min": 4}, False),
        ({"kind": "length", "max": 2}, False),
        ({"kind": "length", "max": 99, "turns": [9, 9]}, False),
        ({"kind": "count", "min": 2, "max": 2}, True),
        ({"kind": "count", "min": 3}, False),
        ({"kind": "count", "max": 1}, False),
        ({"kind": "count", "min": 1, "max": 1, "pattern": "quiet"}, True),
        ({"kind": "count", "min": 2, "target": "calendar"}, True),
        ({"kind": "count", "max": 0, "turns": [9, 9]}, True),
    ],
)
def test_a_check(check: dict[str, Any], passed: bool) -> None:
    assert passes(RubricCheck.model_validate(check), texts_written(LOG), READ)[0] is passed


def test_doing_nothing_passes_nothing_that_looks_at_words() -> None:
    for kind in ("pattern_found", "pattern_absent", "length"):
        assert passes(RubricCheck(kind=kind, pattern="x", max=9), [], READ)[0] is False


def test_items_without_a_check_stay_unjudged() -> None:
    items = [
        RubricItem(id="a", points=2, statement="S", check=RubricCheck(kind="count", min=2)),
        RubricItem(id="b", points=3, statement="S", check=RubricCheck(kind="count", min=20)),
        RubricItem(id="c", points=4, statement="S"),
    ]
    assert [(score.met, score.points) for score in score_rubric(items, LOG, READ)] == [(True, 2), (False, 0), (None, 0)]
