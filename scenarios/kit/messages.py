"""Messages of an assessment: what the participant sent, what it wrote to the user, what came in."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from proctor.language.patterns import compiled
from proctor.language.reader.text import readable
from proctor.protocol.evaluation import AgentBeatsEvalContext
from proctor.protocol.visible import visible
from proctor.scenarios.kit.texts import texts_beside
from purple_sdk.protocol.readings import bare_address, bare_phone, chat_text, instant
from purple_sdk.protocol.results import ActionLogEntryWithTurn

MAILS = frozenset({"email.send", "email.reply", "email.reply_all", "email.forward", "email.send_draft"})
TEXTS = frozenset({"sms.send"})
INVITATIONS = frozenset({"calendar.create", "calendar.update", "calendar.delete", "calendar.respond"})
"""What goes out to others, by the names of actions (``purple_sdk.protocol.actions``)."""

_ANSWERS = ("email.reply", "email.reply_all")
_ADDRESSES = ("to_addresses", "cc_addresses", "bcc_addresses", "attendee_email")


@dataclass(frozen=True)
class Message:
    """A mail, a text message, or what an invitation says.

    Attributes:
        at: when it went out or came in. action: what was done, such as ``email.reply``; ``email.receive`` and
        ``sms.receive`` for what came in. people: addresses in lower case and numbers in E.164: its readers if it went
        out, else its author. subject: a mail's subject, an entry's title. body: the part of its text that a reader
        sees. source: all of its text and HTML as it was sent, hidden parts included. answers: the id of the mail that
        it answers or forwards. beside: the other texts that its readers get, such as names of files.
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
        """What it says: of a mail or an entry, subject, line break, body."""
        return self.body if self.kind == "sms" else f"{self.subject}\n{self.body}"

    def reached(self, *addresses: str | None) -> bool:
        """Whether it went to (or came from) one of these addresses or numbers; None is never one of them."""
        return not self.people.isdisjoint(addresses)


@dataclass(frozen=True)
class ChatMessage:
    """What the participant said to the user in the chat: ``text`` is what a reader sees, ``source`` all of it."""

    at: datetime
    text: str
    source: str = ""


def done(ctx: AgentBeatsEvalContext, actions: Iterable[str] | None = None) -> list[ActionLogEntryWithTurn]:
    """What the participant did, in order: all that came about, or those actions of it."""
    wanted = None if actions is None else frozenset(actions)
    return [entry for entry in ctx.action_log if entry.success and (wanted is None or entry.action in wanted)]


def messages_sent(ctx: AgentBeatsEvalContext, actions: Iterable[str] = MAILS | TEXTS) -> list[Message]:
    """Every mail and text message that the participant sent, in order; or what else these actions said to others."""
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
        body=readable(visible(_with_signs(html) or plain)),  # a mail client shows the HTML where there is one
        source="\n".join(filter(None, (subject, plain, html))),
        answers=str(parameters.get("in_reply_to") or parameters.get("message_id") or ""),
        beside=tuple(texts_beside(parameters)),
    )


def _with_signs(html: str) -> str:
    """HTML with what a plain text would have: ``~~`` around what is struck out, ``>`` before lines of a block quote."""
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
    """Every mail and text message that there is: when it came, who wrote or got it, and its text."""
    for mail in ((ctx.final_state.get("email") or {}).get("emails") or {}).values():
        addresses = [mail.get("from_address"), *(each for name in _ADDRESSES for each in as_list(mail.get(name)))]
        people = frozenset(bare_address(str(each)) for each in addresses if each)
        at = instant(str(mail.get("sent_at") or mail.get("received_at")))
        yield at, people, f"{mail.get('subject') or ''}\n{visible(str(mail.get('body_text') or ''))}"
    for text in ((ctx.final_state.get("sms") or {}).get("messages") or {}).values():
        numbers = [text.get("from_number"), *as_list(text.get("to_numbers"))]
        people = frozenset(bare_phone(str(each)) for each in numbers if each)
        yield instant(str(text.get("sent_at"))), people, str(text.get("body") or "")


def written(ctx: AgentBeatsEvalContext) -> Iterator[tuple[datetime, str]]:
    """When each mail and text message that there is was written, and the address or number of its author."""
    for mail in ((ctx.final_state.get("email") or {}).get("emails") or {}).values():
        yield instant(str(mail.get("sent_at") or mail.get("received_at"))), bare_address(str(mail.get("from_address")))
    for text in ((ctx.final_state.get("sms") or {}).get("messages") or {}).values():
        yield instant(str(text.get("sent_at"))), bare_phone(str(text.get("from_number")))


def reached(entry: ActionLogEntryWithTurn, mails: Mapping[str, Any]) -> frozenset[str]:
    """Whom an action reached: its readers, or the author of the mail that it answers; ``mails`` has all, by id."""
    people = readers(entry.parameters)
    if people or entry.action not in _ANSWERS:
        return people
    answered = mails.get(str(entry.parameters.get("message_id") or entry.parameters.get("in_reply_to"))) or {}
    return frozenset({bare_address(str(answered.get("from_address") or "unknown"))})


def readers(parameters: Mapping[str, Any]) -> frozenset[str]:
    """The addresses and numbers of all to whom an action with these parameters goes."""
    addresses = (bare_address(str(each)) for name in _ADDRESSES for each in as_list(parameters.get(name)) if each)
    numbers = (bare_phone(str(number)) for number in as_list(parameters.get("to_numbers")) if number)
    return frozenset({*addresses, *numbers, *invited(parameters)})


def invited(parameters: Mapping[str, Any]) -> frozenset[str]:
    """The addresses of the attendees that an action on the calendar names."""
    named = (each.get("email") if isinstance(each, Mapping) else each for each in as_list(parameters.get("attendees")))
    return frozenset(bare_address(str(address)) for address in named if address)


def messages_received(ctx: AgentBeatsEvalContext, own: Iterable[str]) -> list[Message]:
    """Every mail and text message that came in after the start, in order of time.

    Args:
        ctx: the evaluator's context.
        own: the user's addresses and numbers: what they wrote themselves didn't come in.
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
    return sorted((each for each in received if each.people.isdisjoint(mine)), key=lambda message: message.at)


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
    """What an action may name once or several times: nothing, one thing, or a list of them."""
    if value is None:
        return []
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | Mapping) else [value]
