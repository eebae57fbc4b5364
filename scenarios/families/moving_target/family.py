"""Moving target: two events that change until they are final."""

from datetime import datetime

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.hosting import Event, follow_event
from proctor.scenarios.kit.making.duties.inviting import EVENTS, HEADCOUNTS, Statement
from proctor.scenarios.kit.making.duties.passing import Office, draw_office
from proctor.scenarios.kit.making.duties.scheduling import working_days
from proctor.scenarios.kit.making.duties.travelling import draw_code
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.people import Phrase
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)


def make(day: Day) -> None:
    """Two events, settled at the fifth turn."""
    day.begin(hours=8)
    topics, places = day.draws.some(EVENTS, 2, "topics"), day.draws.shuffled(_SAY["places"], "places")
    for number, topic in enumerate(topics):
        _event(day, number, topic, places[12 * number : 12 * number + 12])


def _event(day: Day, number: int, topic: Phrase, places: list[str]) -> None:
    key, d = f"event-{number + 1}", day.difficulty
    settled = day.turn(4)
    (date,) = working_days(day, 5 + number, 1)
    counts = day.draws.some(HEADCOUNTS, 6, key, "counts")
    clocks = day.draws.some(_SAY["clocks"], 6, key, "clocks")
    values = {
        "place": [Value("words", place) for place in places[:6]],
        "time": [Value("moment", f"{date.date().isoformat()}T{clock}") for clock in clocks],
        "count": [Value("number", str(count)) for count in counts],
    }
    changes = {"place": (1, 2, 2, 3)[d - 1], "time": (1, 1, 2, 3)[d - 1], "count": (1, 2, 2, 3)[d - 1]}
    statements, heard = dict[str, list[tuple[datetime, Value]]](), dict[str, list[Statement]]()
    rumoured = day.draws.some(sorted(values), (0, 1, 2, 3)[d - 1], key, "rumoured")
    too_late = day.draws.pick(sorted(values), key, "too late") if d > 3 else None
    for kind, options in values.items():
        turns = sorted(day.draws.some(range(1, 5), changes[kind], key, kind, "turns"))
        times = [day.ago(f"{key}-{kind}", days=(1, 3))]
        times += [day.before(turn, key, kind, turn, minutes=(6, 50)) for turn in turns]
        chosen = options[: len(times)]
        if kind == "place" and d > 2 and day.draws.chance(0.4, key, "back"):
            chosen[-1] = chosen[0]
        statements[kind] = list(zip(times, chosen, strict=True))
        if kind == too_late:
            statements[kind].append((day.turn(4, day.draws.between(5, 50, key, "late")), options[4]))
        if kind in rumoured:
            at = day.before(4, key, kind, "heard", minutes=(1, 5))
            heard[kind] = [(at, day.cast(f"{key}-heard-{kind}", "colleague"), options[5])]
    named = dict.fromkeys(value.value for _, value in statements["place"])
    named |= dict.fromkeys(value.value for *_, value in heard.get("place", ()))
    event = Event(
        topic=topic,
        host=day.cast(f"{key}-host", "colleague"),
        statements=statements,
        heard=heard,
        settled=settled,
        halls={place: _hall(day, f"{key}-hall-{n}", place) for n, place in enumerate(named)},
        booking=draw_code(day, key, "booking", digits=5),
        guests=[day.cast(f"{key}-guest-{n}", "client") for n in range(1 + (d > 2))],
        caterer=day.cast(f"{key}-caterer", "vendor"),
    )
    follow_event(day, key, event, until=day.turn(6))


def _hall(day: Day, key: str, place: str) -> Office:
    """The office that rents out a place; at higher difficulties another person held it before."""
    task = Phrase(f"rent out the rooms of {place}", f"die Räume von {place} vermieten")
    return draw_office(day, key, task, holders=1 + (day.difficulty > 2), relation="vendor")
