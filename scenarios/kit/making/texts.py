"""Mails and text messages of people, in their own style and notation."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.draws import Draws
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.people import Person, Phrase
from proctor.scenarios.kit.making.records import Fact, Record
from proctor.scenarios.kit.making.voices import SERVICE, write
from proctor.scenarios.kit.making.wording import show
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)
_NO_SAY = "A figure holds as the person in charge of it wrote it last. Rumours about it do not count."
_ENGLISH, _GERMAN = (0, 1, 2, 4), (5,)


def shown(day: Day, name: str, author: Person, value: Value) -> str:
    """A value in one of the notations that its author may use."""
    if author.language == "de":
        return show(value, day.draws.pick(_GERMAN, "notation", name), at="um")
    return show(value, day.draws.pick(_ENGLISH, "notation", name))


def mail_saying(day: Day, name: str, at: datetime, author: Person, act: str, **slots: Any) -> Record:
    """A mail to the user that does one speech act (``voices.ACTS``).

    Args:
        day: the day.
        name: the record's name in draws.
        at: when it comes.
        author: who writes it.
        act: the speech act.
        slots: the act's slots; ``reply_to`` (a record), ``folder``, ``is_read`` and ``labels`` belong to the mail.
    """
    fields = {field: slots.pop(field) for field in ("reply_to", "folder", "is_read", "labels") if field in slots}
    text = write(day.draws.of("text", name), act, author, day.user, slots)
    return day.mail(name, at, author, text.subject, text.body, **fields)


def text_saying(day: Day, name: str, at: datetime, author: Person, act: str, **slots: Any) -> Record:
    """A text message to the user that does one speech act."""
    text = write(day.draws.of("text", name), act, author, day.user, slots, greet=False, sign=False)
    return day.text(name, at, author, text.body)


def message_saying(
    day: Day,
    key: str,
    at: datetime,
    author: Person,
    draws: Draws,
    bodies: Sequence[str],
    titles: Sequence[str],
    *facts: Fact,
    by_text: float,
    **slots: object,
) -> Record:
    """A mail from drawn forms with slots (``Day.letter``), or, with probability ``by_text``, a text message.

    The body begins with a capital. Authors without a telephone write mails.
    """
    body = draws.pick(bodies, "form").format(**{"you": day.user.first, "me": author.first, **slots})
    body = body[:1].upper() + body[1:]
    if author.phone and draws.chance(by_text, "by text"):
        return day.text(key, at, author, body, *facts)
    return day.mail(key, at, author, draws.pick(titles, "title").format(**slots), body, *facts)


def hear(day: Day, name: str, at: datetime, author: Person, thing: Phrase, value: Value, source: Person) -> Record:
    """A mail that repeats a rumour and names the person who decides; by the brief, it does not count."""
    if _NO_SAY not in day.wishes:
        day.wishes.append(_NO_SAY)
    slots = {"thing": thing.by(author), "value": shown(day, name, author, value), "source": source.name}
    body = day.draws.pick(_SAY[f"{author.language}.bodies"], name, "words")
    title = day.draws.pick(_SAY[f"{author.language}.titles"], name, "title")
    return day.letter(name, at, author, title, body, slots)


def service(name: str) -> Person:
    """The sender of automatic mails: a shop, a carrier, a system. It has no telephone and reads no mail."""
    slug = "".join(char for char in name.lower() if char.isascii() and char.isalnum())
    key, email = f"service-{slug}", f"service@{slug}.example"
    return Person(key, name, "", email, None, SERVICE, name, relation="vendor", style="formal")
