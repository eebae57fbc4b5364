"""Decide for simulated people whether, how and when they reply to a message (seed 000, section 3.5)."""

import hashlib
import json
from random import Random
from typing import TYPE_CHECKING, Any

from proctor.activities.characters import prompts
from proctor.activities.characters.addressing import characters_addressed
from proctor.activities.characters.guard import DRAWN_AGAIN, Guard
from proctor.activities.characters.messages import CharacterReply, OutgoingMessage, Rsvp
from proctor.activities.models.structured import ask
from proctor.language.patterns import compiled
from proctor.protocol.modalities import Written
from proctor.protocol.scenario import CharacterProfile, ScenarioConfig, ScriptedReply
from purple_sdk.protocol.readings import bare

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

_LONGEST_REPLY = 8000


async def respond(
    message: OutgoingMessage,
    character_id: str,
    scenario: ScenarioConfig,
    llm: "BaseChatModel | None",
    seed: int | None,
    turn: int,
    guard: Guard | None = None,
) -> CharacterReply | None:
    """Return a character's reply to a message. Return None if the character stays silent, or if the message didn't
    reach it.

    With a model, the character decides first and then writes; ``guard`` refuses drafts that can't be sent. Without a
    model, or if all drafts were refused, the reply is the first of the ``scripted_replies`` that matches. The character
    stays silent if none matches. The delay is a random draw from seed, turn, character and message. Raises the errors
    of ``structured.ask``.
    """
    if character_id not in characters_addressed(message, scenario):
        return None
    person = scenario.characters[character_id]
    if llm is None:
        text, response = _scripted(message, person, scenario)
    else:
        text, response = await _improvised(message, character_id, scenario, llm, guard or Guard())
    if not text and not (response and message.modality == "calendar"):
        return None
    return CharacterReply(
        character_id=character_id,
        modality=message.modality,
        text=text,
        response=response if message.modality == "calendar" else None,
        delay_seconds=_delay(person, seed, turn, character_id, message),
        subject=reply_subject(message.subject) if message.modality == "email" else None,
    )


def searched_text(message: OutgoingMessage) -> str:
    """Return the text in which patterns of scripted replies are searched
    (``proctor.protocol.scenario.ScriptedReply``).
    """
    if message.modality == "email":
        return f"{message.subject or ''}\n{message.seen}"
    if message.modality in ("sms", "chat"):
        return message.body
    start, end = (moment.isoformat() if moment else "" for moment in (message.start, message.end))
    return "\n".join([message.title or "", start, end, message.location or "", message.description or ""])


def _scripted(message: OutgoingMessage, person: CharacterProfile, scenario: ScenarioConfig) -> tuple[str, Rsvp | None]:
    text = scenario.read(searched_text(message), message.sent_at.date())
    match = next((reply for reply in person.scripted_replies if _is_due(reply, message) and reply.holds(text)), None)
    if match is None:
        return "", None
    is_again = match.again is not None and any(
        match.holds(scenario.read(entry.text, entry.at.date()))
        for entry in message.thread
        if entry.sender == message.sender
    )
    return (match.again or "") if is_again else match.reply, match.response


def _is_due(reply: ScriptedReply, message: OutgoingMessage) -> bool:
    return (
        reply.modality in (None, message.modality)
        and (reply.after is None or message.sent_at >= reply.after)
        and (reply.before is None or message.sent_at < reply.before)
    )


async def _improvised(
    message: OutgoingMessage, character_id: str, scenario: ScenarioConfig, llm: "BaseChatModel", guard: Guard
) -> tuple[str, Rsvp | None]:
    system = prompts.persona(character_id, scenario)
    decision = await ask(llm, system, prompts.decision_question(message, scenario), prompts.Decision)
    if not decision.should_respond:
        return "", None
    faults: list[str] = []
    while len(faults) <= DRAWN_AGAIN:
        text, response = await _draft(
            llm, system, prompts.reply_question(message, scenario, decision.reason, faults), message.modality
        )
        fault = await guard.find_fault(text, message, character_id, scenario)
        if fault is None:
            return text, response
        faults.append(fault)
    guard.note_scripted()
    return _scripted(message, scenario.characters[character_id], scenario)


async def _draft(llm: "BaseChatModel", system: str, question: str, modality: Written) -> tuple[str, Rsvp | None]:
    if modality == "calendar":
        rsvp = await ask(llm, system, question, prompts.CalendarAnswer, lambda answer: _too_long(answer.comment))
        return rsvp.comment.strip(), rsvp.response
    answer = await ask(llm, system, question, prompts.TextAnswer, _says_something)
    return answer.text.strip(), None


def _says_something(answer: prompts.TextAnswer) -> str | None:
    return _too_long(answer.text) if answer.text.strip() else "text is empty: write the answer"


def _too_long(text: str) -> str | None:
    if len(text) <= _LONGEST_REPLY:
        return None
    return f"the text has {len(text)} characters: write at most {_LONGEST_REPLY}"


def _delay(person: CharacterProfile, seed: int | None, turn: int, character_id: str, message: OutgoingMessage) -> int:
    """Return the whole seconds until the reply. The random draw depends on the message's text, not on its id, which
    differs between runs.
    """
    content = [message.modality, message.to, message.cc, message.attendees, searched_text(message)]
    source = json.dumps([seed, turn, character_id, content], ensure_ascii=True)
    draw = Random(hashlib.sha256(source.encode()).digest()).uniform(-1, 1)
    timing = person.response_timing
    seconds = timing.base_delay_timedelta.total_seconds() + draw * timing.variance_timedelta.total_seconds()
    return max(0, round(seconds))


def reply_subject(subject: str | None) -> str:
    """Return ``Re: `` and the subject, without any earlier ``Re:``."""
    bare = compiled(r"\A(\s*re\s*(\[\d+\])?\s*:)+").sub("", subject or "").strip()
    return f"Re: {bare or '(no subject)'}"


def reply_event(
    reply: CharacterReply, message: OutgoingMessage, scenario: ScenarioConfig
) -> tuple[str, dict[str, Any]]:
    """Return the simulator's event for a reply: its modality, and the ``data`` to schedule (UES contract, "input").

    An email goes to the user, with the message's other readers in CC; a reader in BCC replies only to the user. An SMS
    goes to the user, and to the other members of a group. The user's chat messages go into the same conversation. An
    RSVP with a comment but without yes or no is tentative.
    """
    person = scenario.characters[reply.character_id]
    if reply.modality == "email":
        return "email", _email(reply, message, person, scenario)
    if reply.modality == "sms":
        return "sms", _sms(reply, message, person, scenario)
    if reply.modality == "chat":
        return "chat", {
            "operation": "send_message",
            "role": "user",
            "content": reply.text,
            "conversation_id": message.thread_id or "default",
        }
    return "calendar", {
        "operation": "respond",
        "event_id": message.event_id,
        "calendar_id": message.calendar_id or "primary",
        "attendee_email": _as_written(person.email or "", message.attendees),
        "response": reply.response or "tentative",
        "response_comment": reply.text or None,
    }


def _email(
    reply: CharacterReply, message: OutgoingMessage, person: CharacterProfile, scenario: ScenarioConfig
) -> dict[str, Any]:
    user = message.sender or scenario.user.email or ""
    openly = [*message.to, *message.cc]
    own = person.bare_email
    others = [a for a in openly if bare(a) not in (own, bare(user))] if own in map(bare, openly) else []
    return {
        "operation": "receive",
        "from_address": person.email,
        "to_addresses": [user],
        "cc_addresses": others,
        "subject": reply.subject or reply_subject(message.subject),
        "body_text": reply.text,
        "thread_id": message.thread_id,
        "in_reply_to": message.message_id,
        "references": [message.message_id],
    }


def _sms(
    reply: CharacterReply, message: OutgoingMessage, person: CharacterProfile, scenario: ScenarioConfig
) -> dict[str, Any]:
    user = message.sender or scenario.user.phone or ""
    others = [n for n in message.to if bare(n) not in (person.bare_phone, bare(user))]
    return {
        "action": "receive_message",
        "message_data": {
            "from_number": person.phone,
            "to_numbers": [user, *others],
            "body": reply.text,
            "message_type": "sms",
        },
    }


def _as_written(address: str, attendees: list[str]) -> str:
    """Return the address in the event's own spelling, by which the calendar knows the attendee."""
    return next((attendee for attendee in attendees if bare(attendee) == bare(address)), address)
