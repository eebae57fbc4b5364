"""Quiet day: nothing is asked, and some of it matters."""

from datetime import timedelta

from scenarios.kit.making.days import Day
from scenarios.kit.making.duties.noticing import point_out
from scenarios.kit.making.records import Fact, Record
from scenarios.kit.making.texts import mail_saying, service, shown
from scenarios.kit.values import Value

DOCUMENTS = (
    *("passport", "driving licence", "travel insurance", "parking permit", "trade licence", "domain name", "rail card"),
    *("security certificate", "library card", "gas inspection", "boat licence", "first-aid certificate", "work visa"),
    *("membership of the chamber", "office lease", "fire certificate", "export licence", "press card"),
)
TITLES = (
    *(
        "Dentist",
        "Board lunch",
        "School visit",
        "Tax adviser",
        "Piano tuner",
        "Press call",
        "Roof inspection",
        "Eye test",
    ),
    *(
        "Interview",
        "Garden plan",
        "Staff talk",
        "Bank appointment",
        "Supplier visit",
        "Fitting",
        "Driving test",
        "Viewing",
    ),
)


def make(day: Day) -> None:
    """Two to five things that matter, each among things like it."""
    day.begin(size="M" if day.difficulty == 4 else "S", hours=6)
    day.wishes += [
        "I ask for nothing special today. Tell me in the chat of documents of mine that expire within the next 30 days "
        "(with the date), and of birthdays in my family tomorrow. Tell me also of appointments of mine between 08:00 and "
        "18:00 in the coming days that overlap (name both). Tell me of each once, at the latest two rounds after you can "
        "see it. Don't write to me about other documents, birthdays or appointments.",
    ]
    documents = day.draws.shuffled(DOCUMENTS, "documents")
    like = max(1, day.difficulty - 1)
    for number in range(2 if day.difficulty > 2 else 1):
        _document(day, number, documents[4 * number : 4 * number + 4], like)
    _birthday(day, like)
    if day.difficulty > 1:
        _overlap(day, like)


def _document(day: Day, number: int, names: list[str], like: int) -> None:
    key, today = f"document-{number + 1}", day.start.date()
    draws = day.draws.of(key)
    dates = [today + timedelta(days=draws.between(6, 28, "soon"))]
    dates += [today + timedelta(days=draws.between(60 + 50 * n, 100 + 50 * n, "far", n)) for n in range(like)]
    records = [
        _mail(day, f"{key}-{n}", names[n], Value(kind="day", value=date.isoformat()), number)
        .with_facts(Fact("matters" if n == 0 else "does not matter", names[0], f"{names[n]}/{date.isoformat()}"))
        for n, date in enumerate(dates)
    ]  # fmt: skip
    values = [Value(kind="words", value=names[0]), Value(kind="day", value=dates[0].isoformat())]
    decoys = [(f"the {names[n]}", Value(kind="words", value=names[n])) for n in range(1, like + 1)]
    what = f"the {names[0]} that expires"
    point_out(day, key, what=what, about=names[0], records=records, values=values, decoys=decoys, until=3 + number)


def _mail(day: Day, name: str, document: str, date: Value, number: int) -> Record:
    author = service(day.draws.pick(_OFFICES, name))
    at = day.turn(number, 20) if name.endswith("-0") and number else day.ago(name, days=(2, 9))
    return mail_saying(
        day, name, at, author, "document_expiry", document=f"your {document}", date=shown(day, name, author, date)
    )


def _birthday(day: Day, like: int) -> None:
    key, tomorrow = "birthday", day.start.date() + timedelta(days=1)
    people = [day.cast(f"{key}-0", relation="family")]
    people += [day.cast(f"{key}-{n}", relation="friend" if n % 2 else "family") for n in range(1, like + 1)]
    teller = day.cast(f"{key}-teller", relation="friend")
    dates = [tomorrow] + [
        tomorrow + timedelta(days=day.draws.between(9 + 7 * n, 14 + 7 * n, key, n)) for n in range(like)
    ]
    records = []
    for n, (person, date) in enumerate(zip(people, dates, strict=True)):
        name, value = f"{key}-mail-{n}", Value(kind="day", value=date.isoformat())
        slots = {"who": person.name, "date": shown(day, name, teller, value)}
        record = mail_saying(day, name, day.ago(name, days=(1, 5)), teller, "birthday_note", **slots)
        fact = Fact("matters" if n == 0 else "does not matter", key, f"{person.name}/{date.isoformat()}")
        records.append(record.with_facts(fact))
    point_out(
        day,
        key,
        what=f"the birthday of {people[0].first}",
        about=key,
        records=records,
        values=[Value(kind="words", value=people[0].first)],
        decoys=[(f"the birthday of {person.first}", Value(kind="words", value=person.first)) for person in people[1:]],
        until=4,
    )


def _overlap(day: Day, like: int) -> None:
    key = "overlap"
    titles = day.draws.some(TITLES, 2 + 2 * like, key, "titles")
    workdays = [n for n in range(2, 14) if day.clock(9, day=n).weekday() < 5]
    first = day.draws.between(0, 3, key, "day")
    start = day.clock(9, day=workdays[first]) + timedelta(hours=day.draws.between(0, 6, key, "hour"))
    records = [
        day.entry(f"{key}-{n}", titles[n], start + timedelta(minutes=30 * n), 60, Fact("matters", key, titles[n]))
        for n in range(2)
    ]
    for n in range(like):
        begin = start + timedelta(days=workdays[first + 1 + n] - workdays[first])
        records.append(day.entry(f"{key}-near-{n}", titles[2 + 2 * n], begin, 60))
        records.append(day.entry(f"{key}-next-{n}", titles[3 + 2 * n], begin + timedelta(minutes=60), 45))
    point_out(
        day,
        key,
        what="the two appointments that overlap",
        about=key,
        records=records,
        values=[Value(kind="words", value=titles[0]), Value(kind="words", value=titles[1])],
        decoys=[(titles[2 + 2 * n], Value(kind="words", value=titles[2 + 2 * n])) for n in range(like)],
        until=3,
    )


_OFFICES = (
    *("Citizens Service", "Register Office", "Renewal Desk", "Harding Insurance", "Licence Bureau", "Card Centre"),
    *("Reminder Service", "Oakley Mutual", "Permit Office", "Chamber Service", "Certificate Desk", "Town Hall Online"),
)
