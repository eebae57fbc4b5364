"""The prompts for a model that plays a character."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from proctor.activities.characters.messages import OutgoingMessage
from proctor.activities.models.prompts import UNTRUSTED_NOTICE, quote_untrusted, shorten
from proctor.protocol.scenario import ScenarioConfig

PROMPT_VERSION = "4"
"""Must rise with every change of a character's prompts."""

_TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_LONGEST_MESSAGE = 12_000
_LONGEST_THREAD = 12_000


class Decision(BaseModel):
    """Whether the character answers, decided before it writes."""

    should_respond: bool
    reason: str


class TextAnswer(BaseModel):
    """The words of an email or SMS."""

    text: str = Field(description="the message exactly as it is sent, without a subject line")


class CalendarAnswer(BaseModel):
    """An answer to an invitation."""

    response: Literal["accepted", "declined", "tentative"]
    comment: str = Field(description="a short note to the organizer, or an empty string")


def persona(character_id: str, scenario: ScenarioConfig) -> str:
    """Return the system message: the character (or the user), and its relations to the others."""
    person = scenario.characters[character_id]
    personality = person.personality or "an ordinary, friendly person."
    lines = [_TEXTS["persona"].format(name=person.name, personality=personality)]
    for other, relation in person.relationships.items():
        name = scenario.characters[other].name if other in scenario.characters else other
        lines.append(f"{name} is to you: {relation}")
    if person.special_instructions:
        lines.append(f"What you must keep to: {person.special_instructions}")
    kind = "user" if character_id == scenario.user_character else "other"
    lines.append(_TEXTS[kind].format(prompt=scenario.user_prompt, user=scenario.user.name))
    lines.append(UNTRUSTED_NOTICE)
    return "\n".join(lines)


def decision_question(message: OutgoingMessage, scenario: ScenarioConfig) -> str:
    return str(_TEXTS["decision"].format(situation=_situation(message, scenario)))


def reply_question(message: OutgoingMessage, scenario: ScenarioConfig, reason: str, faults: Sequence[str] = ()) -> str:
    refused = "".join(_TEXTS["refused"].format(fault=fault) for fault in faults)
    situation, wanted = _situation(message, scenario), _TEXTS["wanted"][message.modality]
    return str(_TEXTS["reply"].format(situation=situation, reason=reason, wanted=wanted)) + refused


def check_question(draft: str, message: OutgoingMessage, scenario: ScenarioConfig, role: str) -> str:
    """Return the question for a model that checks a draft; ``role`` is the system message of the model that
    wrote it.
    """
    quoted = quote_untrusted("draft", shorten(draft, _LONGEST_MESSAGE))
    return str(_TEXTS["check"].format(role=role, situation=_situation(message, scenario), draft=quoted))


def _situation(message: OutgoingMessage, scenario: ScenarioConfig) -> str:
    parts = []
    if message.thread:
        history = "\n\n".join(f"{entry.sender}, {entry.at.isoformat()}:\n{entry.text}" for entry in message.thread)
        parts.append("Said before:\n" + quote_untrusted("earlier messages", shorten(history, _LONGEST_THREAD)))
    kind: str = _TEXTS["kinds"][message.modality]
    author = "your assistant" if message.modality == "chat" else scenario.user.name
    if message.modality == "calendar" and message.operation == "update":
        kind = "a changed calendar invitation"
    parts.append(
        f"It is {message.sent_at.isoformat()}. You get {kind} from {author}:\n"
        + quote_untrusted(kind.partition(" ")[2], shorten(written_out(message), _LONGEST_MESSAGE))
    )
    return "\n\n".join(parts)


def written_out(message: OutgoingMessage) -> str:
    """Return a message's text and readers, as the answering character sees them."""
    if message.modality == "chat":
        return message.body
    if message.modality == "sms":
        return f"To: {', '.join(message.to)}\n\n{message.body}"
    if message.modality == "email":
        copied = f"Cc: {', '.join(message.cc)}\n" if message.cc else ""
        return f"To: {', '.join(message.to)}\n{copied}Subject: {message.subject or ''}\n\n{message.seen}"
    lines = {
        "Title": message.title,
        "Start": message.start.isoformat() if message.start else None,
        "End": message.end.isoformat() if message.end else None,
        "Location": message.location,
        "Attendees": ", ".join(message.attendees),
        "Description": message.description,
    }
    return "\n".join(f"{name}: {value}" for name, value in lines.items() if value)
