"""Check 17's voices: the kit's, and voices with quotes, forwarded messages, Markdown, HTML, or several messages."""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from proctor.scenarios.kit.making import wording
from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duty import Act
from proctor.scenarios.kit.making.people import Language
from purple_sdk.ues import AsyncUESClient, UESError
from purple_sdk.ues.errors import ServerError

_QUOTED = 6
"""The number of lines that are quoted from the answered mail."""


@dataclass(frozen=True)
class Note:
    """A single message; only mails have ``html``."""

    subject: str
    text: str
    html: str = ""


@dataclass(frozen=True)
class Told:
    """The content of a message: the act's topic, its values in their notations, and the names of people."""

    act: Act
    day: Day
    values: tuple[str, ...]

    @property
    def topic(self) -> str:
        return self.act.topic

    @property
    def reader(self) -> str:
        return self.act.to.first if self.act.to else self.day.user.first

    @property
    def user(self) -> str:
        return self.day.user.first

    @property
    def is_question(self) -> bool:
        return any(value.kind == "question" for value in self.act.values)

    @property
    def line(self) -> str:
        """All values in one line. A question has its values as options."""
        if self.is_question:
            return f"{' or '.join(self.values[:-1])}?"
        return ", ".join(self.values)

    @property
    def items(self) -> tuple[str, ...]:
        """The values as separate items. A question is a single item."""
        return (self.line,) if self.is_question else self.values

    @property
    def asked(self) -> list[str]:
        """The first lines of the mail that the act answers. If it answers none, the lines of an invented mail."""
        mails = [record for record in self.day.records if record.id == self.act.reply_to]
        body = mails[0].body if mails else f"Hello,\n\nis there any news on {self.topic}?\n\n{self.reader}"
        return [line.strip() for line in body.strip().split("\n")][:_QUOTED]


Speak = Callable[[Told], Sequence[Note]]


@dataclass(frozen=True)
class Voice:
    """A way to write messages.

    Attributes:
        name: the name of the voice in the report.
        language: the language of its words and notations.
        speak: writes the messages.
        is_mail: whether only mails have this voice.
        is_whole: whether the voice says everything in one message.
    """

    name: str
    language: Language
    speak: Speak
    is_mail: bool = False
    is_whole: bool = True


def _kit(number: int) -> Speak:
    def speak(told: Told) -> list[Note]:
        words = wording.message(told.act, told.day.user, number, told.items)
        return [Note(words["subject"], words["body"])]

    return speak


def _form(text: str, subject: str = "{topic}") -> Speak:
    """A voice that fills a form's slots with the fields of ``Told``; ``lines`` are the items below each other."""

    def speak(told: Told) -> list[Note]:
        slots = {
            **{name: getattr(told, name) for name in ("topic", "reader", "user", "line")},
            "lines": "\n".join(f"- {item}" for item in told.items),
            "bold": "\n".join(f"* **{item}**" for item in told.items),
            "rows": "\n".join(f"| {told.topic} | {item} |" for item in told.items),
            "quote": "\n".join(f"> {line}".rstrip() for line in told.asked),
        }
        return [Note(subject.format(**slots), text.format(**slots))]

    return speak


def _in_html(form: str, item: str, *, joint: str = ", ") -> Speak:
    """A voice that sends an HTML mail with its plain text. In the HTML, characters beyond ASCII are entities."""

    def speak(told: Told) -> list[Note]:
        def coded(text: str) -> str:
            escaped = html.escape(text, quote=False)
            return "".join(_ENTITIES.get(char, char if char.isascii() else f"&#{ord(char)};") for char in escaped)

        items = joint.join(item.format(item=coded(thing), topic=coded(told.topic)) for thing in told.items)
        slots = {name: coded(getattr(told, name)) for name in ("topic", "reader", "user")}
        plain = f"{told.reader},\n\n{told.topic}: {told.line}\n\n{told.user}"
        return [Note(told.topic, plain, form.format(items=items, **slots))]

    return speak


_ENTITIES = {
    "\u00a0": "&nbsp;",
    "€": "&euro;",
    "\u2013": "&ndash;",
    "“": "&ldquo;",
    "”": "&rdquo;",
    "ü": "&uuml;",
    "ö": "&ouml;",
}


def _in_pieces(*texts: str) -> Speak:
    """A voice that sends several messages: the topic, the values, and a closing line."""

    def speak(told: Told) -> list[Note]:
        slots = {name: getattr(told, name) for name in ("topic", "reader", "line")}
        return [Note(told.topic, text.format(**slots)) for text in texts]

    return speak


VOICES: tuple[Voice, ...] = (
    *(
        Voice(name, "en", _kit(number))
        for number, name in enumerate(("formal", "brief", "on behalf", "bare values", "chatty", "non-native"))
    ),
    Voice(
        "above a quote",
        "en",
        _form("{topic}: {line}.\n\nBest wishes\n{user}\n\nOn Tuesday at 9:12, {reader} wrote:\n{quote}", "Re: {topic}"),
        is_mail=True,
    ),
    Voice(
        "below a quote",
        "en",
        _form("{reader} wrote:\n{quote}\n\nSure, here you go. {topic}: {line}.\n\n{user}", "Re: {topic}"),
        is_mail=True,
    ),
    Voice(
        "please see below",
        "en",
        _form(
            "Hi {reader}, please see below.\n\n---------- Forwarded message ---------\nFrom: {user}\n"
            "Subject: {topic}\nTo: {user}\n\n{topic}: {line}",
            "Fwd: {topic}",
        ),
        is_mail=True,
    ),
    Voice("Markdown list", "en", _form("## {topic}\n\nHi {reader}, the details:\n\n{bold}\n\n_{user}_")),
    Voice("Markdown table", "en", _form("Hi {reader},\n\n| What | Value |\n| --- | --- |\n{rows}\n\nBest,\n{user}")),
    Voice(
        "HTML",
        "en",
        _in_html(
            "<html><body><p>Hello {reader},</p><p>{topic}:&nbsp;{items}</p>"
            "<p>Kind&nbsp;regards<br>{user}</p></body></html>",
            "<b>{item}</b>",
        ),
        is_mail=True,
    ),
    Voice(
        "HTML table",
        "en",
        _in_html(
            "<div>Hi {reader},<br><table border=1><tr><th>What</th><th>Value</th></tr>{items}</table></div>",
            "<tr><td>{topic}</td><td><strong>{item}</strong></td></tr>",
            joint="",
        ),
        is_mail=True,
    ),
    Voice("one line of chat", "en", _form("fyi @{reader} {topic} → {line} 👍")),
    Voice(
        "in pieces",
        "en",
        _in_pieces("Hi {reader}, now about {topic}:", "{topic} - {line}", "That's all from me for now!"),
        is_whole=False,
    ),
    Voice(
        "with a signature",
        "en",
        _form(
            "Dear {reader},\n\n{topic}: {line}.\n\nSincerely\n{user}\n\n-- \n{user}\nPhone +44 20 7946 0018 ext. 3\n"
            "This message is confidential. If it is not meant for you, please delete it."
        ),
        is_mail=True,
    ),
    Voice("mit Sie", "de", _form("Guten Tag {reader},\n\nzu {topic}: {line}.\n\nMit freundlichen Grüßen\n{user}")),
    Voice("mit du", "de", _form("hallo {reader}, kurz zu {topic}: {line}. lg {user}")),
    Voice("als Liste", "de", _form("Liebe Grüße vorweg, {reader}!\n\n{topic}:\n{lines}\n\nViele Grüße\n{user}")),
    Voice(
        "über dem Zitat",
        "de",
        _form("{topic}: {line}.\n\nGruß\n{user}\n\nAm Dienstag um 9:12 Uhr schrieb {reader}:\n{quote}", "AW: {topic}"),
        is_mail=True,
    ),
    Voice(
        "siehe unten",
        "de",
        _form(
            "Hallo {reader}, siehe unten.\n\n-----Ursprüngliche Nachricht-----\nVon: {user}\nAn: {user}\n"
            "Betreff: {topic}\n\n{topic}: {line}",
            "WG: {topic}",
        ),
        is_mail=True,
    ),
    Voice(
        "deutsches HTML",
        "de",
        _in_html(
            "<p>Guten Tag {reader},</p><ul>{items}</ul><p>Viele Gr&uuml;&szlig;e<br>{user}</p>",
            "<li>{topic}: <em>{item}</em></li>",
            joint="",
        ),
        is_mail=True,
    ),
    Voice("deutsches Markdown", "de", _form("### {topic}\n\n{bold}\n\n*Gruß, {user}*")),
    Voice(
        "in Stücken",
        "de",
        _in_pieces("Hallo {reader}, noch zu {topic}:", "{topic}: {line}", "Das war es für heute!"),
        is_whole=False,
    ),
    Voice("eine Zeile", "de", _form("@{reader} {topic}: {line} ✅")),
)


async def deliver(notes: Sequence[Note], act: Act, client: AsyncUESClient) -> None:
    """Send notes to the act's reader, in the act's channel. If the act answers a mail, the notes do, too."""
    for note in notes:
        if act.to is None or act.channel == "chat":
            await client.chat.send(role="assistant", content=note.text)
        elif act.channel == "text":
            await client.sms.send(to_numbers=[str(act.to.phone)], body=note.text)
        else:
            await _mail(note, act, act.to.email, client)


async def _mail(note: Note, act: Act, address: str, client: AsyncUESClient) -> None:
    if act.reply_to is not None:
        try:
            await client.email.reply(act.reply_to, body_text=note.text, body_html=note.html or None)
            return
        except ServerError:
            raise
        except UESError:  # the mail has not arrived yet
            pass
    await client.email.send(
        to_addresses=[address], subject=note.subject, body_text=note.text, body_html=note.html or None
    )
