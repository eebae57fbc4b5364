"""Simulated people: who a message reached, whether they reply, with what and when (seed 000, section 3.5)."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import TYPE_CHECKING, Any

from proctor.activities.characters import prompts
from proctor.activities.characters.guard import DRAWN_AGAIN, Guard
from proctor.activities.characters.messages import CharacterReply, OutgoingMessage, Rsvp
from proctor.activities.models.structured import ask
from proctor.language.patterns import compiled
from proctor.protocol.modalities import Written
from proctor.protocol.scenario import CharacterProfile, ScenarioConfig, ScriptedReply
from purple_sdk.protocol.readings import bare_address, bare_phone

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

ANSWERED_IN_A_TURN = 20
"""How many of a turn's messages one character reads: who gets more in an hour leaves the rest unanswered. Each message
that somebody reads is a step of its own, and a call of a model where there is one; a participant that writes by the
thousand must not make the assessment too large for its history, nor the operator pay for it."""

_LONGEST_REPLY = 8000


def characters_addressed(message: OutgoingMessage, scenario: ScenarioConfig) -> list[str]:
    """The ids of the characters whom a message reached and who might reply to it.

    To, CC and BCC alike, each once, in the order of the addresses. The user, whom the participant works for, only by
    the scenario's ``user_talks``; never another sender of the message. Addresses without an owner are passed over, and
    so are people whose ``config`` says ``blocked: true``, and those whom other participants work for.
    """
    if message.operation in ("delete", "respond"):
        return []
    sender = _plain(message.sender or "")
    user, user_talks = scenario.user_character, message.modality in scenario.user_talks
    reached: dict[str, None] = {user: None} if message.modality == "chat" else {}
    for address in map(_plain, recipients(message)):
        character_id = character_at(address, message.modality, scenario)
        # A change to the calendar is the user's own action, whoever organizes the event.
        if character_id is not None and (message.modality == "calendar" or address != sender or character_id == user):
            reached.setdefault(character_id)
    return [
        key
        for key in reached
        if (key != user or user_talks)
        and scenario.characters[key].config.get("blocked") is not True
        and key not in scenario.colleagues.values()
    ]


def answerable(
    messages: Iterable[OutgoingMessage], scenario: ScenarioConfig
) -> list[tuple[OutgoingMessage, list[str]]]:
    """The messages of a turn that somebody reads, each with the ids of the characters who do, in order.

    A character reads the first ``ANSWERED_IN_A_TURN`` that reach it.
    """
    read: Counter[str] = Counter()
    messages_with_readers = []
    for message in messages:
        readers = [key for key in characters_addressed(message, scenario) if read[key] < ANSWERED_IN_A_TURN]
        read.update(readers)
        if readers:
            messages_with_readers.append((message, readers))
    return messages_with_readers


def recipients(message: OutgoingMessage) -> list[str]:
    """The addresses that a message went to; of a calendar event, all who are invited."""
    if message.modality == "calendar":
        return message.attendees
    return [*message.to, *message.cc, *message.bcc]


def _plain(address: str) -> str:
    """An address to compare: the bare email in lower case, or the bare phone number."""
    if "@" in address:
        return bare_address(address)
    return bare_phone(address)


def character_at(address: str, modality: Written, scenario: ScenarioConfig) -> str | None:
    """The id of the character at an address, in any of its written forms."""
    address = _plain(address)
    for key, person in scenario.characters.items():
        own = person.phone if modality == "sms" else person.email
        if own and _plain(own) == address:
            return key
    return None


async def respond(
    message: OutgoingMessage,
    character_id: str,
    scenario: ScenarioConfig,
    llm: "BaseChatModel | None",
    seed: int | None,
    turn: int,
    guard: Guard | None = None,
) -> CharacterReply | None:
    """Decide whether a character replies to a message, and with what; None for silence, also for someone whom it didn't
    reach.

    With a model, it decides first and writes then, and ``guard`` refuses drafts that can't be sent; without one, the
    first of the character's ``scripted_replies`` that matches is the reply, and silence if none does. The delay is
    drawn by (seed, turn, character, message). Raises as ``structured.ask``.
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
    """The text that scripted replies' patterns are searched in (``proctor.protocol.scenario.ScriptedReply``)."""
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
    """Whole seconds until the reply. Drawn from the texts, not from ids, which another run may choose differently."""
    content = [message.modality, message.to, message.cc, message.attendees, searched_text(message)]
    source = json.dumps([seed, turn, character_id, content], ensure_ascii=True)
    draw = Random(hashlib.sha256(source.encode()).digest()).uniform(-1, 1)
    timing = person.response_timing
    seconds = timing.base_delay_timedelta.total_seconds() + draw * timing.variance_timedelta.total_seconds()
    return max(0, round(seconds))


def reply_subject(subject: str | None) -> str:
    """``Re: `` and the subject, with what was there of ``Re:`` before taken off."""
    bare = compiled(r"\A(\s*re\s*(\[\d+\])?\s*:)+").sub("", subject or "").strip()
    return f"Re: {bare or '(no subject)'}"


def reply_event(
    reply: CharacterReply, message: OutgoingMessage, scenario: ScenarioConfig
) -> tuple[str, dict[str, Any]]:
    """The simulator's event for a reply: its modality, and the ``data`` to schedule (UES contract, "input").

    An email goes to the user, with the message's other readers in CC (none for a reader in BCC); an SMS goes to the
    user, and to the others of a group; the user's words in the chat go into the same conversation. An RSVP that says
    neither yes nor no, only something, is tentative.
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
    own = _plain(person.email or "")
    others = [a for a in openly if _plain(a) not in (own, _plain(user))] if own in map(_plain, openly) else []
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
    others = [n for n in message.to if _plain(n) not in (_plain(person.phone or ""), _plain(user))]
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
    """The address as the event writes it, by which the calendar knows its attendee."""
    return next((attendee for attendee in attendees if _plain(attendee) == _plain(address)), address)
