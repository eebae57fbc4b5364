"""The messages between the evaluator ("green") and the participant ("purple") (seed 000, section 2.1).

Every message has a ``message_type`` with a fixed literal. A reader looks at that field instead of guessing from the
other fields.
"""

from typing import Any, Literal

from pydantic import Field, JsonValue

from purple_sdk.protocol._wire import ByMessageType, Instant, WireModel
from purple_sdk.protocol._wire import UnknownMessageTypeError as UnknownMessageTypeError
from purple_sdk.protocol.durations import Duration

FENCE_METADATA = "proctor_fence"
"""The key of the fence in the metadata of the evaluator's A2A messages: an integer as text, which only rises within a
context. Refuse a message whose fence is lower than an earlier one: it comes from an attempt that was given up.
"""
_MOST_TOKENS = 10**12
_MOST_MODELS = 16


class EmailSummary(WireModel):
    """Counts of the mailbox."""

    message_type: Literal["email_summary"] = "email_summary"
    total_emails: int
    total_threads: int
    unread: int
    draft_count: int


class CalendarSummary(WireModel):
    """Counts of the calendar. ``events_today`` counts the events of the simulated day."""

    message_type: Literal["calendar_summary"] = "calendar_summary"
    event_count: int
    calendar_count: int
    events_today: int


class SMSSummary(WireModel):
    """Counts of the phone's messages."""

    message_type: Literal["sms_summary"] = "sms_summary"
    total_messages: int
    total_conversations: int
    unread: int


class ChatSummary(WireModel):
    """Counts of the chat with the user; a chat has no "unread"."""

    message_type: Literal["chat_summary"] = "chat_summary"
    total_messages: int
    conversation_count: int


class InitialStateSummary(WireModel):
    """The participant's view of the state when the assessment starts."""

    message_type: Literal["initial_state_summary"] = "initial_state_summary"
    email: EmailSummary
    calendar: CalendarSummary
    sms: SMSSummary
    chat: ChatSummary


class AssessmentStartMessage(WireModel):
    """Evaluator to participant: an assessment begins. ``api_key`` is the user-level key of this assessment alone.

    ``resumes_turn`` names the next turn, in two cases:

    * In another greeting during the assessment, the address or the key is new. The participant must stop any work in
      progress. Its memory of the earlier turns stays valid.
    * In the first greeting of a fork, another agent played the turns before. The simulation has their effects.

    ``mcp_url`` is the simulation's address for the Model Context Protocol, if it has one (streamable HTTP, same key).
    """

    message_type: Literal["assessment_start"] = "assessment_start"
    ues_url: str
    api_key: str
    assessment_instructions: str
    current_time: Instant
    initial_state_summary: InitialStateSummary
    resumes_turn: int | None = Field(default=None, ge=1)
    mcp_url: str | None = None


class TurnStartMessage(WireModel):
    """Evaluator to participant: your turn.

    ``attempt`` counts the tries of this turn from 1. With a higher number, the simulation was reset to the turn's start
    and the turn is played again.
    """

    message_type: Literal["turn_start"] = "turn_start"
    turn_number: int
    current_time: Instant
    events_processed: int
    attempt: int = Field(default=1, ge=1)


class ActionLogEntry(WireModel):
    """One action as the participant reports it; ``action`` is for example ``email.send``."""

    message_type: Literal["action_log_entry"] = "action_log_entry"
    timestamp: Instant
    action: str
    parameters: dict[str, JsonValue]
    success: bool
    error_message: str | None = None


class ModelUsage(WireModel):
    """The participant's use of one model in a turn, as the participant reports it."""

    message_type: Literal["model_usage"] = "model_usage"
    model: str = Field(max_length=200)
    calls: int = Field(default=0, ge=0, le=_MOST_TOKENS)
    input_tokens: int = Field(default=0, ge=0, le=_MOST_TOKENS)
    output_tokens: int = Field(default=0, ge=0, le=_MOST_TOKENS)


class TurnCompleteMessage(WireModel):
    """Participant to evaluator: the turn is done; ``time_step`` is how far the clock shall move.

    ``model_usage`` is optional: it becomes part of the result and does not affect the score. Without ``actions``, no
    actions are reported. ``trajectory`` is the turn's transcript in the Agent Trajectory Interchange Format, for
    readers of the result. Transcripts over 1 MB are shortened; their ``notes`` say so.
    """

    message_type: Literal["turn_complete"] = "turn_complete"
    actions: list[ActionLogEntry] = Field(default_factory=list)
    notes: str | None = None
    time_step: Duration = "PT1H"
    model_usage: list[ModelUsage] = Field(default_factory=list, max_length=_MOST_MODELS)
    trajectory: dict[str, JsonValue] | None = None


CompletionReason = Literal["scenario_complete", "early_completion", "timeout", "error"]


class AssessmentCompleteMessage(WireModel):
    """Evaluator to participant: the assessment has ended, for any reason."""

    message_type: Literal["assessment_complete"] = "assessment_complete"
    reason: CompletionReason


class EarlyCompletionMessage(WireModel):
    """Participant to evaluator: nothing is left to do.

    ``actions`` are the actions of this last turn. Without this field, none of the turn's actions count as unreported.
    """

    message_type: Literal["early_completion"] = "early_completion"
    reason: str | None = None
    actions: list[ActionLogEntry] | None = None
    model_usage: list[ModelUsage] = Field(default_factory=list, max_length=_MOST_MODELS)
    trajectory: dict[str, JsonValue] | None = None


ToParticipant = AssessmentStartMessage | TurnStartMessage | AssessmentCompleteMessage
FromParticipant = TurnCompleteMessage | EarlyCompletionMessage

_TO_PARTICIPANT = ByMessageType[ToParticipant](ToParticipant)
_FROM_PARTICIPANT = ByMessageType[FromParticipant](FromParticipant)


def parse_to_participant(data: dict[str, Any]) -> ToParticipant:
    """Read a message from the evaluator. Raises the errors of ``parse_from_participant``."""
    return _TO_PARTICIPANT.read(data)


def parse_from_participant(data: dict[str, Any]) -> FromParticipant:
    """Read a participant's answer to a turn.

    Raises:
        UnknownMessageTypeError: ``message_type`` is neither ``turn_complete`` nor ``early_completion``.
        pydantic.ValidationError: the fields are invalid for that type. Every location begins with the type.
    """
    return _FROM_PARTICIPANT.read(data)
