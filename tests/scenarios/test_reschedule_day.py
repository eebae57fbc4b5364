"""reschedule_day measures what it says: played by scripts on the real evaluator."""

from datetime import datetime

import pytest

from protocol.messages import EarlyCompletionMessage, TurnCompleteMessage
from protocol.results import AssessmentResults
from purple_sdk.ues import AsyncUESClient
from tests.scenarios.reschedule_day_scripts import CARELESS, HONEST, IDEAL, MISTAKES, Day, script
from tests.stack import Stack, play

JUDGED = 98  # two points of courteous need a model


async def assess(stack: Stack, day: Day) -> AssessmentResults:
    return await play(stack, "reschedule_day", script(day))


def scores(results: AssessmentResults) -> dict[str, int]:
    return {criterion.criterion_id: criterion.score for criterion in results.criteria_results}


def lost(results: AssessmentResults) -> dict[str, str]:
    """The criteria that aren't full, with what they say."""
    return {c.criterion_id: c.explanation for c in results.criteria_results if c.score < c.max_score}


async def test_the_ideal_participant_earns_every_judged_point(stack: Stack) -> None:
    results = await assess(stack, IDEAL)
    assert lost(results) == {}
    assert (results.scores.overall.score, results.scores.overall.max_score) == (JUDGED, JUDGED)
    assert results.turns_taken == 8


@pytest.mark.parametrize("name", HONEST)
async def test_other_ways_to_do_it_right_earn_as_much(stack: Stack, name: str) -> None:
    results = await assess(stack, HONEST[name])
    assert lost(results) == {}


async def test_it_can_be_played_by_the_half_hour(stack: Stack) -> None:
    hourly = script(IDEAL)

    async def half_hourly(turn: int, ues: AsyncUESClient, now: datetime) -> TurnCompleteMessage:
        if now.minute == 0:
            await hourly(now.hour - 7, ues, now)
        return TurnCompleteMessage(actions=[], time_step="PT30M")

    results = await play(stack, "reschedule_day", half_hourly)
    assert lost(results) == {}
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


@pytest.mark.parametrize("name", MISTAKES)
async def test_a_mistake_costs_what_it_concerns_and_nothing_else(stack: Stack, name: str) -> None:
    day, lowered = MISTAKES[name]
    results = await assess(stack, day)
    assert set(lost(results)) == lowered, lost(results)


async def test_every_criterion_has_a_mistake(stack: Stack) -> None:
    results = await assess(stack, {})
    assert set(scores(results)) == set().union(*(lowered for _, lowered in MISTAKES.values()))
