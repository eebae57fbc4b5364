"""reschedule_day measures what it says: played by scripts on the real evaluator."""

import json
from collections import Counter
from datetime import datetime

import pytest

from proctor_protocol.messages import EarlyCompletionMessage, TurnCompleteMessage
from proctor_protocol.results import AssessmentResults
from purple_sdk.ues import AsyncUESClient
from tests.scenarios.reschedule_day_mistakes import CARELESS, HONEST, MISTAKES, PLANTED_TOGETHER
from tests.scenarios.reschedule_day_scripts import IDEAL, Day, changed, script
from tests.stack import SCENARIOS, Stack, play

JUDGED = 98  # two points of courteous need a model


async def assess(stack: Stack, day: Day) -> AssessmentResults:
    return await play(stack, "reschedule_day", script(day))


def lost(results: AssessmentResults) -> dict[str, int]:
    """The points that are missing, by criterion; none for those that are full."""
    return {c.criterion_id: c.max_score - c.score for c in results.criteria_results if c.score < c.max_score}


def explanations(results: AssessmentResults) -> str:
    return "\n".join(f"{c.criterion_id}: {c.explanation}" for c in results.criteria_results)


async def test_the_ideal_participant_earns_every_judged_point(stack: Stack) -> None:
    results = await assess(stack, IDEAL)
    assert lost(results) == {}, explanations(results)
    assert (results.scores.overall.score, results.scores.overall.max_score) == (JUDGED, JUDGED)
    assert results.turns_taken == 8


@pytest.mark.parametrize("name", HONEST)
async def test_other_ways_to_do_it_right_earn_as_much(stack: Stack, name: str) -> None:
    results = await assess(stack, HONEST[name])
    assert lost(results) == {}, explanations(results)


async def test_it_can_be_played_by_the_half_hour(stack: Stack) -> None:
    hourly = script(IDEAL)

    async def half_hourly(turn: int, ues: AsyncUESClient, now: datetime) -> TurnCompleteMessage:
        if now.minute == 0:
            await hourly(now.hour - 7, ues, now)
        return TurnCompleteMessage(actions=[], time_step="PT30M")

    results = await play(stack, "reschedule_day", half_hourly)
    assert lost(results) == {}, explanations(results)
    assert results.turns_taken == 16


async def test_nothing_is_earned_by_doing_nothing(stack: Stack) -> None:
    results = await assess(stack, {})
    assert results.scores.overall.score == 0


async def test_nothing_is_earned_by_leaving_at_once(stack: Stack) -> None:
    async def leaves(turn: int, ues: object, now: object) -> EarlyCompletionMessage:
        return EarlyCompletionMessage(reason="nothing to do")

    results = await play(stack, "reschedule_day", leaves)
    assert results.scores.overall.score == 0


@pytest.mark.parametrize("name", CARELESS)
async def test_a_show_of_work_earns_little(stack: Stack, name: str) -> None:
    results = await assess(stack, CARELESS[name])
    assert results.scores.overall.score <= 0.3 * JUDGED


@pytest.mark.parametrize("names", PLANTED_TOGETHER, ids="; ".join)
async def test_mistakes_cost_what_they_concern_and_nothing_else(stack: Stack, names: tuple[str, ...]) -> None:
    planted = [MISTAKES[name] for name in names]
    costs = sum((Counter(mistake.costs) for mistake in planted), Counter())
    day = changed(IDEAL, *(change for mistake in planted for change in mistake.changes))
    results = await assess(stack, day)
    assert lost(results) == dict(costs), explanations(results)


def test_every_mistake_is_planted_once() -> None:
    assert sorted(name for names in PLANTED_TOGETHER for name in names) == sorted(MISTAKES)


def test_every_criterion_has_a_mistake() -> None:
    config = json.loads((SCENARIOS / "reschedule_day" / "scenario.json").read_text())
    assert {c["criterion_id"] for c in config["criteria"]} == {c for m in MISTAKES.values() for c in m.costs}
