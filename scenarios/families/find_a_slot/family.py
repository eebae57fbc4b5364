"""Find a slot: people of three time zones, ranked wishes, and a person who turns proposals down."""

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.proposing import find_slot
from proctor.scenarios.kit.making.duties.scheduling import TOPICS, working_days
from proctor.scenarios.kit.making.people import Relation

RELATIONS: tuple[Relation, ...] = ("client", "colleague", "vendor", "client")


def make(day: Day) -> None:
    """Two hours to be found; at higher difficulties more people, and lists that change during the day."""
    day.begin(hours=8, language_mix=0.0)
    topics = day.draws.some(TOPICS, 2, "topics")
    d = day.difficulty
    length = 2 + (d > 2)
    for number, topic in enumerate(topics):
        key = f"find-{number + 1}"
        refusals = day.draws.pick((0, 1, 1, 2) if d < 4 else (1, 2, 2), key, "refusals")
        # The people who change their hours, and the turn of the news; the wrong city is corrected after the wishes.
        changes = ({}, {1: 1}, {1: 1}, {0: 1, 1: 1, 2: 2})[d - 1]
        turn = max([number if d == 1 else 1, *changes.values(), *([2] if d > 2 else [])])
        find_slot(
            day,
            key,
            topic=topic,
            people=[day.cast(f"{key}-{n}", RELATIONS[n]) for n in range(d)],
            asked_one=day.cast(f"{key}-asked", "colleague"),
            days=working_days(day, 1 + length * number, length),
            turn=turn,
            until=day.turn(turn + refusals + 2),
            refusals=refusals,
            changed={who: day.before(when, key, "changed", who) for who, when in changes.items()},
            moved=day.before(2, key, "moved") if d > 2 else None,
        )
