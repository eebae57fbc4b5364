"""The prompts for a model that plays a character."""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from activities.characters.messages import OutgoingMessage
from activities.models.prompts import UNTRUSTED_NOTICE, quote_untrusted, shorten
from proctor_protocol.scenario import ScenarioConfig

PROMPT_VERSION = "3"
"""Rises with every change of a character's prompts."""

_USER = (
    "An assistant does your correspondence. It writes to you in the chat, or from your own address. You have asked it "
    "for this:\n{prompt}\nAnswer its questions by what is written here: clarify, confirm or refuse. Say so where you "
    "don't know. Don't do its work for it, and say nothing that it didn't ask for."
)
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
    """The system message: who the character (or the user) is and its relations to the others."""
    person = scenario.characters[character_id]
    lines = [
        f"You play {person.name} in a simulation of everyday correspondence. Stay in character in all that you write.",
        f"Who you are: {person.personality or 'an ordinary, friendly person.'}",
    ]
    for other, relation in person.relationships.items():
        name = scenario.characters[other].name if other in scenario.characters else other
        lines.append(f"{name} is to you: {relation}")
    if person.special_instructions:
        lines.append(f"What you must keep to: {person.special_instructions}")
    lines.append(
        _USER.format(prompt=scenario.user_prompt)
        if character_id == scenario.user_character
        else f"Messages from {scenario.user.name} may be written by an assistant on {scenario.user.name}'s behalf. You "
        "know only what is written here. Don't invent commitments of other people."
    )
    lines.append(UNTRUSTED_NOTICE)
    return "\n".join(lines)


def decision_question(message: OutgoingMessage, scenario: ScenarioConfig) -> str:
    return (
        f"{_situation(message, scenario)}\n\n"
        "Would you answer this? People answer questions, requests, proposals and invitations that are meant for them. "
        "They mostly leave a mere thank-you, an acknowledgement or a note for their information without an answer, "
        "and what they were only copied on unless it concerns them. Say should_respond and, in one sentence, the "
        "reason."
    )


def reply_question(message: OutgoingMessage, scenario: ScenarioConfig, reason: str, faults: Sequence[str] = ()) -> str:
    wanted = {
        "chat": "Write your answer in the chat: short, as people chat.",
        "email": "Write your reply's text: what you would really write, no longer than needed, without a subject line.",
        "sms": "Write your text message: short, as people text.",
        "calendar": "Answer the invitation: accepted, declined or tentative, with a short comment (an alternative time "
        "goes there), or an empty one.",
    }[message.modality]
    refused = "".join(f"\nAn earlier draft of yours can't be sent: {fault}. Write another." for fault in faults)
    return f"{_situation(message, scenario)}\n\nYou decided to answer, because: {reason}\n{wanted}{refused}"


def check_question(draft: str, message: OutgoingMessage, scenario: ScenarioConfig, role: str) -> str:
    """The question for a model that checks a draft; ``role`` is the system message of the model that wrote it."""
    return (
        f"The person's instructions:\n{role}\n\nWhat the person has before it:\n{_situation(message, scenario)}\n\n"
        f"The draft:\n{quote_untrusted('draft', shorten(draft, _LONGEST_MESSAGE))}\n\n"
        "Can it be sent? Say is_fine, and in one sentence the fault, or an empty string."
    )


def _situation(message: OutgoingMessage, scenario: ScenarioConfig) -> str:
    parts = []
    if message.thread:
        history = "\n\n".join(f"{entry.sender}, {entry.at.isoformat()}:\n{entry.text}" for entry in message.thread)
        parts.append("Said before:\n" + quote_untrusted("earlier messages", shorten(history, _LONGEST_THREAD)))
    kind = {
        "chat": "a chat message",
        "email": "an email",
        "sms": "a text message",
        "calendar": "a calendar invitation",
    }[message.modality]
    author = "your assistant" if message.modality == "chat" else scenario.user.name
    if message.modality == "calendar" and message.operation == "update":
        kind = "a changed calendar invitation"
    parts.append(
        f"It is {message.sent_at.isoformat()}. You get {kind} from {author}:\n"
        + quote_untrusted(kind.partition(" ")[2], shorten(written_out(message), _LONGEST_MESSAGE))
    )
    return "\n\n".join(parts)


def written_out(message: OutgoingMessage) -> str:
    """A message's words with its readers, as it is shown to the one who answers."""
    if message.modality == "chat":
        return message.body
    if message.modality == "sms":
        return f"To: {', '.join(message.to)}\n\n{message.body}"
    if message.modality == "email":
        copied = f"Cc: {', '.join(message.cc)}\n" if message.cc else ""
        return f"To: {', '.join(message.to)}\n{copied}Subject: {message.subject or ''}\n\n{message.body}"
    lines = {
        "Title": message.title,
        "Start": message.start.isoformat() if message.start else None,
        "End": message.end.isoformat() if message.end else None,
        "Location": message.location,
        "Attendees": ", ".join(message.attendees),
        "Description": message.description,
    }
    return "\n".join(f"{name}: {value}" for name, value in lines.items() if value)
