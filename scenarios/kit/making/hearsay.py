"""What somebody without authority has heard: the newest mail about a thing, and yet not what holds."""

from datetime import datetime

from scenarios.kit.making.days import Day
from scenarios.kit.making.forms import forms
from scenarios.kit.making.people import Person, Phrase
from scenarios.kit.making.records import Record
from scenarios.kit.making.texts import shown
from scenarios.kit.values import Value

_SAY = forms(__file__)
_WISH = "A figure holds as the person in charge of it wrote it last. Rumours about it do not count."


def hear(day: Day, name: str, at: datetime, author: Person, thing: Phrase, value: Value, source: Person) -> Record:
    """A mail that repeats a rumour, and says who decides; the brief says that it does not count."""
    if _WISH not in day.wishes:
        day.wishes.append(_WISH)
    slots = {
        "thing": thing.by(author),
        "value": shown(day, name, author, value),
        "source": source.name,
        "user": day.user.first,
        "name": author.first,
    }
    body = day.draws.pick(_SAY[f"{author.language}.bodies"], name, "words").format(**slots)
    title = day.draws.pick(_SAY[f"{author.language}.titles"], name, "title").format(**slots)
    return day.mail(name, at, author, title, body)
