"""Messages of an assessment: those that the participant sent, its chat with the user, and those that came in."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from proctor.language.patterns import compiled
from proctor.language.reader.text import readable
from proctor.protocol.evaluation import AgentBeatsEvalContext
from proctor.protocol.recipients import read_bare_recipients
from proctor.protocol.visible import visible
from proctor.scenarios.kit.texts import texts_beside
from purple_sdk.protocol.readings import bare_address, bare_phone, chat_text, instant
from purple_sdk.protocol.results import ActionLogEntryWithTurn

MAILS = frozenset({"email.send", "email.reply", "email.reply_all", "email.forward", "email.send_draft"})
TEXTS = frozenset({"sms.send"})
INVITATIONS = frozenset({"calendar.create", "calendar.update", "calendar.delete", "calendar.respond"})
"""Names of the actions that send something to others (``purple_sdk.protocol.actions``)."""

_ANSWERS = ("email.reply", "email.reply_all")


@dataclass(frozen=True)
class Message:
    """A mail, a text message, or an invitation's text.

    Attributes:
        at: when it went out or came in.
        action: the action, such as ``email.reply``; ``email.receive`` or ``sms.receive`` if it came in.
        people: addresses in lower case and numbers in E.164: its readers if it went out, else its author.
        subject: a mail's subject, an entry's title.
        body: the visible part of its text.
        source: all of its text and HTML as it was sent, hidden parts included.
        answers: the id of the mail that it answers or forwards.
        beside: the other texts that its readers get, such as names of files.
    """

    at: datetime
    action: str
    people: frozenset[str]
    subject: str
    body: str
    source: str = ""
    answers: str = ""
    beside: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """``email``, ``sms`` or ``calendar``."""
        return self.action.partition(".")[0]

    @property
    def text(self) -> str:
        """Its text: for a mail or an entry, subject, line break, body."""
        return self.body if self.kind == "sms" else f"{self.subject}\n{self.body}"

    def reached(self, *addresses: str | None) -> bool:
        """Whether it went to (or came from) one of these addresses or numbers; None is never one of them."""
        return not self.people.isdisjoint(addresses)


@dataclass(frozen=True)
class ChatMessage:
    """The participant's chat message to the user: ``text`` as a reader sees it, ``source`` all of it."""

    at: datetime
    text: str
    source: str = ""


def done(ctx: AgentBeatsEvalContext, actions: Iterable[str] | None = None) -> list[ActionLogEntryWithTurn]:
    """The participant's successful actions, in order: all, or only those in ``actions``."""
    wanted = None if actions is None else frozenset(actions)
    return [entry for entry in ctx.action_log if entry.success and (wanted is None or entry.action in wanted)]


def messages_sent(ctx: AgentBeatsEvalContext, actions: Iterable[str] = MAILS | TEXTS) -> list[Message]:
    """The mails and text messages that the participant sent, in order, or the messages of other ``actions``."""
    mails = (ctx.final_state.get("email") or {}).get("emails") or {}
    return [_sent(entry, mails) for entry in done(ctx, actions)]


def _sent(entry: ActionLogEntryWithTurn, mails: Mapping[str, Any]) -> Message:
    parameters = entry.parameters
    subject = str(parameters.get("subject") or parameters.get("title") or "")
    plain = str(parameters.get("body_text") or parameters.get("body") or parameters.get("description") or "")
    html = str(parameters.get("body_html") or "")
    return Message(
        at=instant(entry.timestamp),
        action=entry.action,
        people=reached(entry, mails),
        subject=readable(visible(subject)),
        body=readable(visible(_with_signs(html) or plain)),  # a mail client shows the HTML if a mail has it
        source="\n".join(filter(None, (subject, plain, html))),
        answers=str(parameters.get("in_reply_to") or parameters.get("message_id") or ""),
        beside=tuple(texts_beside(parameters)),
    )


def _with_signs(html: str) -> str:
    """HTML with the signs of plain text: ``~~`` around struck-out words, ``>`` before lines of a block quote."""
    return _with_quote_signs(compiled(r"</?(?:s|strike|del)(?:\s[^<>]*)?>").sub("~~", html))


def _with_quote_signs(html: str) -> str:
    """HTML in which each line of a block quote begins with ``>``, as in plain mail."""
    if "<blockquote" not in html.lower():
        return html
    pieces, depth = [], 0
    for piece in compiled(r"</?blockquote[^<>]*>|[^<]+|<[^<>]*>|<").finditer(html):
        text = piece.group()
        low = text.lower()
        if low.startswith(("<blockquote", "</blockquote")):
            depth = max(0, depth + (-1 if low.startswith("</") else 1))
            pieces.append("<br>" + "&gt; " * depth)
        elif depth and low.startswith(("<br", "<p", "<div", "<li")):
            pieces.append(f"{text}{'&gt; ' * depth}")
        else:
            pieces.append(text.replace("\n", f"\n{'&gt; ' * depth}") if depth else text)
    return "".join(pieces)


def messages_known(ctx: AgentBeatsEvalContext) -> Iterator[tuple[datetime, frozenset[str], str]]:
    """All mails and text messages: when each came, who wrote or got it, and its text."""
    for mail in ((ctx.final_state.get("email") or {}).get("emails") or {}).values():
        author = mail.get("from_address")
        people = read_bare_recipients(mail) | ({bare_address(str(author))} if author else set())
        at = instant(str(mail.get("sent_at") or mail.get("received_at")))
        yield at, people, f"{mail.get('subject') or ''}\n{visible(str(mail.get('body_text') or ''))}"
    for text in ((ctx.final_state.get("sms") or {}).get("messages") or {}).values():
        author = text.get("from_number")
        people = read_bare_recipients(text) | ({bare_phone(str(author))} if author else set())
        yield instant(str(text.get("sent_at"))), people, str(text.get("body") or "")


def written(ctx: AgentBeatsEvalContext) -> Iterator[tuple[datetime, str]]:
    """The time and the author's address or number of each mail and text message."""
    for mail in ((ctx.final_state.get("email") or {}).get("emails") or {}).values():
        yield instant(str(mail.get("sent_at") or mail.get("received_at"))), bare_address(str(mail.get("from_address")))
    for text in ((ctx.final_state.get("sms") or {}).get("messages") or {}).values():
        yield instant(str(text.get("sent_at"))), bare_phone(str(text.get("from_number")))


def reached(entry: ActionLogEntryWithTurn, mails: Mapping[str, Any]) -> frozenset[str]:
    """The people whom an action reached: its readers, or the author of the answered mail; ``mails`` are by id."""
    people = readers(entry.parameters)
    if people or entry.action not in _ANSWERS:
        return people
    answered = mails.get(str(entry.parameters.get("message_id") or entry.parameters.get("in_reply_to"))) or {}
    return frozenset({bare_address(str(answered.get("from_address") or "unknown"))})


def readers(parameters: Mapping[str, Any]) -> frozenset[str]:
    """The addresses and numbers of an action's recipients, from its parameters."""
    return read_bare_recipients(parameters)


def invited(parameters: Mapping[str, Any]) -> frozenset[str]:
    """The addresses of the attendees that an action on the calendar names."""
    return read_bare_recipients({"attendees": parameters.get("attendees")})


def messages_received(ctx: AgentBeatsEvalContext, own: Iterable[str]) -> list[Message]:
    """The mails and text messages that came in after the start, in order of time.

    Args:
        ctx: the evaluator's context.
        own: the user's addresses and numbers; their own messages are left out.
    """
    mine = frozenset(own)
    received = []
    for mail in _new(ctx, "email", "emails"):
        author, words = (
            frozenset({bare_address(str(mail["from_address"]))}),
            (str(mail["subject"]), str(mail["body_text"])),
        )
        received.append(Message(instant(mail["received_at"]), "email.receive", author, *words))
    for text in _new(ctx, "sms", "messages"):
        author = frozenset({bare_phone(text["from_number"])})
        received.append(Message(instant(text["sent_at"]), "sms.receive", author, "", text["body"]))
    return sorted((message for message in received if message.people.isdisjoint(mine)), key=lambda message: message.at)


def _new(ctx: AgentBeatsEvalContext, modality: str, table: str) -> list[dict[str, Any]]:
    before = (ctx.initial_state.get(modality) or {}).get(table) or {}
    after = (ctx.final_state.get(modality) or {}).get(table) or {}
    return [value for key, value in after.items() if key not in before]


def chat_messages(ctx: AgentBeatsEvalContext) -> list[ChatMessage]:
    """The participant's messages to the user, in order."""
    written = [
        (instant(entry.timestamp), chat_text(entry.parameters.get("content")))
        for entry in done(ctx, ("chat.send_message",))
        if entry.parameters.get("role") == "assistant"
    ]
    return [ChatMessage(at, readable(visible(text)), text) for at, text in written]


def as_list(value: Any) -> list[Any]:
    """A parameter's value as a list; it may be nothing, one thing, or a list."""
    if value is None:
        return []
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | Mapping) else [value]
