"""The solver of slots, and what changes of mind do to it."""

from datetime import timedelta

import pytest

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.scheduling import HOUR, Journey, draw_puzzle, solve_slots, working_days
from proctor.scenarios.kit.making.duties.scheduling import puzzle_records as records_of
from proctor.scenarios.kit.making.people import Phrase
from proctor.scenarios.kit.making.records import Fact

_TOPIC = Phrase("the budget talk", "das Budgetgespräch")


def _puzzle(seed: int, *, changes: int, journey: Journey | None = None):  # type: ignore[no-untyped-def]
    day = Day("slots", 4, seed)
    people = [day.cast(f"guest-{number}") for number in range(3)]
    changed = [day.turn(1 + number, -10) for number in range(changes)]
    puzzle = draw_puzzle(day, "move", working_days(day, 1, 2), people, changed=changed, journey=journey)
    return puzzle, records_of(day, "move", _TOPIC, puzzle)


@pytest.mark.parametrize("seed", range(1, 9))
def test_each_record_with_limits_of_somebody_matters(seed: int) -> None:
    puzzle, records = _puzzle(seed, changes=2)
    solve = solve_slots("move", puzzle)

    assert solve([fact for record in records for fact in record.facts]) == {puzzle.right.isoformat()}
    for person in {limits.who.key: limits.who for limits in puzzle.statements}.values():
        others = [record for record in records if record.author.key != person.key]
        assert solve([fact for record in others for fact in record.facts]) != {puzzle.right.isoformat()}


@pytest.mark.parametrize("seed", range(1, 9))
def test_who_misses_a_change_finds_another_slot(seed: int) -> None:
    puzzle, records = _puzzle(seed, changes=2)
    late = sorted(limits.at for limits in puzzle.statements)[-2:]
    early = [fact for record in records if record.at < late[0] or record.kind == "entry" for fact in record.facts]

    assert solve_slots("move", puzzle)(early) != {puzzle.right.isoformat()}
    assert puzzle.right not in puzzle.wrong.values()


def test_nothing_begins_before_the_traveller_is_there() -> None:
    (first,) = working_days(Day("slots", 4, 1), 1, 1)
    journey = Journey("AB123", (first.replace(hour=8), first.replace(hour=11, minute=20)), lead=60)
    puzzle, records = _puzzle(1, changes=0, journey=journey)
    facts = [fact for record in records for fact in record.facts]
    solve = solve_slots("move", puzzle)

    assert solve(facts) == frozenset()
    said = [
        Fact("arrival", "AB123", f"{at.replace(tzinfo=None).isoformat()}", at - timedelta(days=1))
        for at in journey.arrivals
    ]
    assert solve([*facts, *said]) == {puzzle.right.isoformat()}
    assert puzzle.right >= journey.arrivals[-1] + HOUR
    assert solve([*facts, said[0]]) != {puzzle.right.isoformat()}
