"""Messages between evaluator and participant."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from purple_sdk.protocol import messages as m
from purple_sdk.protocol.numbers import restore_integers
from tests.sentences import says

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
SUMMARY = m.InitialStateSummary(
    email=m.EmailSummary(total_emails=3, total_threads=2, unread=1, draft_count=0),
    calendar=m.CalendarSummary(event_count=2, calendar_count=1, events_today=1),
    sms=m.SMSSummary(total_messages=0, total_conversations=0, unread=0),
    chat=m.ChatSummary(total_messages=1, conversation_count=1),
)
START = m.AssessmentStartMessage(
    ues_url="http://sim", api_key="key", assessment_instructions="Do.", current_time=NOW, initial_state_summary=SUMMARY
)
ACTION = m.ActionLogEntry(timestamp=NOW, action="email.send", parameters={"to": ["a@b.c"]}, success=True)
EVERY_MESSAGE = [
    (SUMMARY.email, "email_summary"),
    (SUMMARY.calendar, "calendar_summary"),
    (SUMMARY.sms, "sms_summary"),
    (SUMMARY.chat, "chat_summary"),
    (SUMMARY, "initial_state_summary"),
    (START, "assessment_start"),
    (m.TurnStartMessage(turn_number=1, current_time=NOW, events_processed=0), "turn_start"),
    (ACTION, "action_log_entry"),
    (m.TurnCompleteMessage(actions=[ACTION]), "turn_complete"),
    (m.AssessmentCompleteMessage(reason="timeout"), "assessment_complete"),
    (m.EarlyCompletionMessage(), "early_completion"),
]


@pytest.mark.parametrize(("message", "kind"), EVERY_MESSAGE, ids=[kind for _, kind in EVERY_MESSAGE])
class TestEveryMessage:
    def test_survives_the_wire(self, message: BaseModel, kind: str) -> None:
        assert type(message).model_validate_json(message.model_dump_json()) == message
        assert message.model_dump(mode="json")["message_type"] == kind

    def test_its_type_cannot_be_overridden(self, message: BaseModel, kind: str) -> None:
        with pytest.raises(ValidationError, match="message_type"):
            type(message).model_validate({**message.model_dump(), "message_type": "something_else"})
        with pytest.raises(ValidationError, match="frozen"):
            message.message_type = "something_else"  # type: ignore[attr-defined]

    def test_ignores_fields_of_a_newer_version(self, message: BaseModel, kind: str) -> None:
        assert type(message).model_validate({**message.model_dump(), "invented_later": 1}) == message


def test_defaults_are_those_of_the_seed() -> None:
    done = m.TurnCompleteMessage(actions=[])
    assert (done.notes, done.time_step) == (None, "PT1H")
    assert m.EarlyCompletionMessage().reason is None


def test_a_naive_time_is_utc() -> None:
    assert m.TurnStartMessage(turn_number=1, current_time="2026-03-02T09:00:00", events_processed=0).current_time == NOW


@pytest.mark.parametrize("step", ["1 hour", "", "P1M", "P1Y", "-PT1H", "PT"])
def test_a_time_step_that_is_no_duration_is_refused(step: str) -> None:
    with pytest.raises(ValidationError, match="time_step"):
        m.TurnCompleteMessage(actions=[], time_step=step)


def test_numbers_may_come_as_protobuf_doubles() -> None:
    data = {"message_type": "turn_start", "turn_number": 3.0, "current_time": NOW.isoformat(), "events_processed": 2.0}
    parsed = m.parse_to_participant(data)
    assert isinstance(parsed, m.TurnStartMessage)
    assert parsed.turn_number == 3
    assert restore_integers({"a": [1.0, 1.5, {"b": 2.0}], "c": True, "d": 1e300}) == {
        "a": [1, 1.5, {"b": 2}],
        "c": True,
        "d": 1e300,
    }


class TestParsing:
    def test_by_message_type(self) -> None:
        assert m.parse_to_participant(START.model_dump(mode="json")) == START
        assert isinstance(m.parse_from_participant({"message_type": "early_completion"}), m.EarlyCompletionMessage)

    @pytest.mark.parametrize("data", [{}, {"message_type": "turn_start"}, {"message_type": 7}])
    def test_an_unknown_type_names_those_that_are_expected(self, data: dict[str, Any]) -> None:
        with pytest.raises(m.UnknownMessageTypeError, check=says("turn_complete", "early_completion")):
            m.parse_from_participant(data)

    def test_fields_that_do_not_fit_are_an_error_of_that_type(self) -> None:
        with pytest.raises(ValidationError, match="TurnCompleteMessage"):
            m.parse_from_participant({"message_type": "turn_complete", "actions": "none"})
