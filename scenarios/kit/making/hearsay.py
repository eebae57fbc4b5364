"""What somebody without authority has heard: the newest mail about a thing, and yet not what holds."""

from datetime import datetime

from scenarios.kit.making.days import Day
from scenarios.kit.making.people import Person, Phrase
from scenarios.kit.making.records import Record
from scenarios.kit.making.texts import shown
from scenarios.kit.values import Value

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
    forms, titles = (_GERMAN, _TITLES_DE) if author.language == "de" else (_ENGLISH, _TITLES)
    body = day.draws.pick(forms, name, "words").format(**slots)
    title = day.draws.pick(titles, name, "title").format(**slots)
    return day.mail(name, at, author, title, body)


_TITLES = ("Heard at lunch", "A rumour", "About {thing}", "Is this right?", "Only hearsay", "From the corridor")
_TITLES_DE = ("Gehört in der Kantine", "Ein Gerücht", "Zum Thema: {thing}", "Stimmt das?", "Nur vom Hörensagen")
_ENGLISH = (
    "Hi {user},\n\nsomebody at lunch claimed that {thing} is {value} by now. I can't "
    "vouch for it, {source} decides.\n\n{name}",
    "{user}, in the corridor they talk of {value} for {thing}. Only {source} would really know.\n{name}",
    "Hello {user},\n\nmy guess for {thing} would be {value}, but that is not my "
    "business. It is up to {source}.\n\n{name}",
    "The barber mentioned {value} when I asked about {thing}. Don't quote me, {source} is in charge of it.\n\n{name}",
    "Dear {user}, I overheard a figure for {thing}: {value}. Whether {source} agrees I do not know.\nRegards, {name}",
    "{user}, somebody on the phone said {value} about {thing}. I have nothing in writing from {source}.\n{name}",
    "Not sure who came up with it, {user}: {thing}, they say, will be {value}. I "
    "have no word of {source} on it.\n{name}",
    "Is {source} of the same opinion? The visitors believed that {thing} is {value}. I only repeat it.\n\n{name}",
)
_GERMAN = (
    "Hallo {user},\n\nbeim Essen hat jemand {value} genannt ({thing}). Dafür stehe "
    "ich nicht gerade, {source} entscheidet.\n\n{name}",
    "{user}, auf dem Flur heißt es: {thing}, {value}. Wirklich wissen kann das nur {source}.\n{name}",
    "Guten Tag {user},\n\nich würde auf {value} tippen ({thing}), aber das ist nicht "
    "meine Sache, sondern die von {source}.\n\n{name}",
    "Am Telefon sagte jemand {value}, es ging um dies: {thing}. Von {source} habe ich nichts Schriftliches.\n{name}",
    "Hat {source} dir das auch gesagt? Die Besucher glaubten {value} ({thing}). Ich gebe es nur weiter.\n{name}",
)
