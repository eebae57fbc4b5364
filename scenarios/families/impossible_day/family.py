"""Impossible day: some items can't be done, and have to be reported as impossible."""

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.answering import PRICED
from proctor.scenarios.kit.making.duties.finding import find_out
from proctor.scenarios.kit.values import Value


def make(day: Day) -> None:
    """Four things to find out, some of them withdrawn for good; at difficulties 3 and 4 rumours about them go round."""
    day.begin(hours=6)
    count = 4
    things = day.draws.shuffled(PRICED, "things")
    kinds = day.draws.shuffled([True, False] + [day.draws.chance(0.4, n) for n in range(count - 2)], "kinds")
    for number in range(count):
        key = f"item-{number + 1}"
        history: list[Value | str] = []
        count = day.difficulty + day.draws.below(2, key, "more")  # statements before the last one
        amounts = [Value("amount", str(100 * euros)) for euros in day.draws.different(300, 9000, 8, key, "euros")]
        for place in range(count + 1):
            # The last statement is of the drawn kind, and those before it alternate.
            is_void = kinds[number] == ((count - place) % 2 == 0)
            draws = day.draws.of(key, place)
            if is_void and place:
                letters = draws.pick(("NX", "VR", "QT", "ZB", "HK"), "a")
                history.append(f"{letters}-{draws.between(10_000, 99_999, 'n')}")
            else:
                history.append(amounts[place])
        *_, decoy, rumour = amounts
        find_out(
            day,
            key,
            reader=day.cast(f"{key}-reader", "colleague"),
            source=day.cast(f"{key}-source", "vendor"),
            thing=things[2 * number],
            history=history,
            decoys=[(things[2 * number + 1], decoy)],
            heard=[(day.before(number % 2, key, "heard", minutes=(5, 50)), day.cast(f"{key}-heard"), rumour)]
            if day.difficulty > 2
            else [],
            until=2 + number % 3,
        )
