"""Orders about alarms: fifteen minutes count by the clock, also within a turn, and each note holds from its time on."""

import asyncio
from datetime import datetime

from proctor.local.audit import players
from proctor.local.audit.plays import Stage, Turn
from proctor.scenarios.kit.making.days import Day, make_day
from purple_sdk.ues import AsyncUESClient
from tests.stack import SCENARIOS


def day_of(difficulty: int) -> Day:
    return make_day(SCENARIOS / "families" / "standing_orders", difficulty, 1)


def reading_first(player: Turn, seen: list[int]) -> Turn:
    """Reads the mailbox three times before anything else in a turn; ``seen`` gets how many alarms came meanwhile."""

    async def turn(number: int, now: datetime, client: AsyncUESClient) -> None:
        counts = [len((await client.email.get_state())["emails"]) for _ in range(3)]
        seen.append(counts[-1] - counts[0])
        await player(number, now, client)

    return turn


def test_alarms_come_while_the_participant_works_and_the_fifteen_minutes_pass() -> None:
    day, quick, slow = day_of(1), list[int](), list[int]()
    stage = Stage(day)
    oracle = players.oracle(day)

    assert asyncio.run(stage.play(reading_first(oracle, quick), clock="fixed:5")).share == 1
    outcome = asyncio.run(stage.play(reading_first(oracle, slow), clock="fixed:280"))

    due = {act.checks[0] for duty in day.duties for act in duty.acts}
    assert not any(quick)
    assert any(slow)
    assert not any(outcome.held[check] for check in due)


def test_a_note_holds_for_the_alarms_after_it() -> None:
    day = day_of(4)
    duty = day.duties[0]
    facts = [fact for record in duty.records for fact in record.facts]
    notes = [fact for fact in facts if fact.kind in ("holder", "exception") and fact.at and fact.at > day.start]

    assert duty.solve(facts) == duty.answers
    for note in notes:
        assert note.at
        without = duty.solve([fact for fact in facts if fact is not note])
        before = {
            fact.value.partition("/")[0] for fact in facts if fact.kind == "alarm" and fact.at and fact.at < note.at
        }
        changed = {answer.partition("/")[2] for answer in without ^ duty.answers}
        assert changed
        assert changed.isdisjoint(before)
