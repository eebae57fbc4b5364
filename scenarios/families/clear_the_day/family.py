"""Clear the day: meetings are moved or declined, and the reason is kept from some people."""

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.inviting import EVENTS, HEADCOUNTS, confirm, draw_statements, send_deputy
from proctor.scenarios.kit.making.duties.keeping import SECRETS, keep_reason
from proctor.scenarios.kit.making.duties.scheduling import TOPICS, move_meeting, working_days
from proctor.scenarios.kit.making.people import Person, Phrase
from proctor.scenarios.kit.values import Value


def make(day: Day) -> None:
    """Two meetings to move, two invitations to answer, and a reason that only some may know."""
    day.begin(hours=8)
    topics = day.draws.shuffled(TOPICS, "topics")
    day.cast("stranger")
    confidant = day.cast("confidant", day.draws.pick(("manager", "family", "friend"), "confidant"))
    day.wishes.append(
        f"I have to clear this day for something that {confidant.name} wrote to me about; the meetings of today "
        "can't be held."
    )
    for number, hour in enumerate(day.draws.some((11, 13, 14, 15), 2, "hours")):
        _move(day, number, topics[number], hour)
    changes = (1, 2, 3, 4)[day.difficulty - 1]
    send_deputy(
        day,
        "decline-1",
        topic=topics[2],
        other=topics[3],
        changes=changes,
        turn=2 if changes > 1 else None,
        start=day.clock(16),
        until=day.turn(4),
    )
    events = day.draws.some(EVENTS, 2, "events")
    _confirm(day, events[0], events[1])
    _keep(day, confidant)


def _move(day: Day, number: int, topic: Phrase, hour: int) -> None:
    key = f"move-{number + 1}"
    count = (1, 1, 2, 3)[day.difficulty - 1]
    days = working_days(day, 1 + 2 * number, (1, 1, 2, 2)[day.difficulty - 1])
    changes = (0, 1, 1, 3)[day.difficulty - 1]
    move_meeting(
        day,
        key,
        topic=topic,
        people=[day.cast(f"{key}-{n}", ("colleague", "client", "colleague")[n]) for n in range(count)],
        start=day.clock(hour),
        days=days,
        until=day.turn(4 + number),
        changed=[day.before(1 + n, key, "changed", n) for n in range(changes)],
    )


def _confirm(day: Day, topic: Phrase, other: Phrase) -> None:
    """An invitation for another day, with a number from a person's message."""
    key, count = "confirm-1", (1, 2, 3, 4)[day.difficulty - 1]
    numbers = [Value("number", str(n)) for n in day.draws.some(HEADCOUNTS, count + 2, key, "numbers")]
    teller = day.cast(f"{key}-teller", "colleague")
    statements = draw_statements(day, key, teller, numbers[:count], turn=2 if count > 1 else None)
    similar = Phrase(f"the number of people from our side at {other.en}", f"die Teilnehmerzahl (Termin: {other.de})")
    confirm(
        day,
        key,
        topic=topic,
        organizer=day.cast(f"{key}-organizer", "vendor"),
        start=working_days(day, 6, 1)[0].replace(hour=day.draws.between(9, 16, key, "hour")),
        statements=statements,
        decoys=[(day.ago(f"{key}-decoy"), teller, similar, numbers[-1])],
        until=day.turn(5),
    )


def _keep(day: Day, confidant: Person) -> None:
    thing, word = day.draws.pick(SECRETS, "secret")
    keep_reason(
        day,
        source=confidant,
        secret=Phrase(f"on {day.start:%A} {thing.en} and you come with me", f"{thing.de} und du kommst mit"),
        word=word,
        what=Phrase("the reason for the cleared day", "der Grund für den freien Tag"),
    )
