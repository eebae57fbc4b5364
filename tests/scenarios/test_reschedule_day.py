"""reschedule_day measures what it says: real days of scripted participants (see ``playing``)."""

import json
from collections import Counter
from datetime import datetime

import pytest

from purple_sdk.protocol.messages import EarlyCompletionMessage, TurnCompleteMessage
from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.ues import AsyncUESClient
from tests.assessments.normalising import normalised
from tests.scenarios.playing import Rehearsal
from tests.scenarios.reschedule_day_cheats import CHEATS, SCORES
from tests.scenarios.reschedule_day_mistakes import CARELESS, HONEST, MISTAKES, PLANTED_TOGETHER
from tests.scenarios.reschedule_day_scripts import IDEAL, Day, changed, script
from tests.stack import SCENARIOS, Stack, play
from tests.work import some_of

JUDGED = 84  # the other 16 need a model: what was said in free text


async def assess(rehearsal: Rehearsal, day: Day) -> AssessmentResults:
    return await rehearsal.play("reschedule_day", script(day))


def lost(results: AssessmentResults) -> dict[str, int]:
    """The points that are missing, by criterion; none for those that are full."""
    return {c.criterion_id: c.max_score - c.score for c in results.criteria_results if c.score < c.max_score}


def explanations(results: AssessmentResults) -> str:
    return "\n".join(f"{c.criterion_id}: {c.explanation}" for c in results.criteria_results)


async def test_the_ideal_participant_earns_every_judged_point(rehearsal: Rehearsal) -> None:
    results = await assess(rehearsal, IDEAL)
    assert lost(results) == {}, explanations(results)
    assert (results.scores.overall.score, results.scores.overall.max_score) == (JUDGED, JUDGED)
    assert results.turns_taken == 8


async def test_the_whole_evaluator_comes_to_the_same_result(stack: Stack, rehearsal: Rehearsal) -> None:
    """What every other test here rests on: nothing of a result depends on Temporal, A2A and the network."""
    day = changed(IDEAL, *(change for name in PLANTED_TOGETHER[0] for change in MISTAKES[name].changes))
    here, there = await assess(rehearsal, day), await play(stack, "reschedule_day", script(day))
    assert lost(here) != {}
    same = ("scores", "coverage", "criteria_results", "action_log", "turns_taken", "actions_taken", "seed", "offline")
    assert [normalised(here)[name] for name in same] == [normalised(there)[name] for name in same]


@pytest.mark.parametrize("name", some_of(HONEST, 1))
async def test_other_ways_to_do_it_right_earn_as_much(rehearsal: Rehearsal, name: str) -> None:
    """With the ideal day these are six voices. At f96c45b they had 98 of 98, "a story" 94."""
    cost = {"a story": {"final_overview": 2}, "terse, twelve-hour clock": {"times_confirmed": 2}}  # Ray isn't confirmed
    results = await assess(rehearsal, HONEST[name])
    assert lost(results) == cost.get(name, {}), explanations(results)


async def test_it_can_be_played_by_the_half_hour(rehearsal: Rehearsal) -> None:
    hourly = script(IDEAL)

    async def half_hourly(turn: int, ues: AsyncUESClient, now: datetime) -> TurnCompleteMessage:
        if now.minute == 0:
            await hourly(now.hour - 7, ues, now)
        return TurnCompleteMessage(actions=[], time_step="PT30M")

    results = await rehearsal.play("reschedule_day", half_hourly)
    assert lost(results) == {}, explanations(results)
    assert results.turns_taken == 16


async def test_nothing_is_earned_by_doing_nothing(rehearsal: Rehearsal) -> None:
    results = await assess(rehearsal, {})
    assert results.scores.overall.score == 0


async def test_nothing_is_earned_by_leaving_at_once(rehearsal: Rehearsal) -> None:
    async def leaves(turn: int, ues: object, now: object) -> EarlyCompletionMessage:
        return EarlyCompletionMessage(reason="nothing to do")

    results = await rehearsal.play("reschedule_day", leaves)
    assert results.scores.overall.score == 0


async def test_one_turn_is_not_half_of_the_work(rehearsal: Rehearsal) -> None:
    """It earned 45 %: by asking everybody kindly, early and discreetly, and leaving it at that."""
    results = await assess(rehearsal, {1: IDEAL[1]})
    assert results.scores.overall.score <= 0.1 * JUDGED


@pytest.mark.parametrize("name", some_of(CARELESS, 1))
async def test_a_show_of_work_earns_little(rehearsal: Rehearsal, name: str) -> None:
    results = await assess(rehearsal, CARELESS[name])
    assert results.scores.overall.score <= 0.1 * JUDGED


@pytest.mark.parametrize("names", some_of(PLANTED_TOGETHER, 1), ids="; ".join)
async def test_mistakes_cost_what_they_concern_and_nothing_else(rehearsal: Rehearsal, names: tuple[str, ...]) -> None:
    planted = [MISTAKES[name] for name in names]
    costs = sum((Counter(mistake.costs) for mistake in planted), Counter())
    day = changed(IDEAL, *(change for mistake in planted for change in mistake.changes))
    results = await assess(rehearsal, day)
    assert lost(results) == dict(costs), explanations(results)


def test_every_mistake_is_planted_once() -> None:
    assert sorted(name for names in PLANTED_TOGETHER for name in names) == sorted(MISTAKES)


def test_every_criterion_has_a_mistake() -> None:
    config = json.loads((SCENARIOS / "reschedule_day" / "scenario.json").read_text())
    assert {c["criterion_id"] for c in config["criteria"]} == {c for m in MISTAKES.values() for c in m.costs}


@pytest.mark.parametrize("name", some_of(CHEATS, 1))
async def test_a_day_that_cheats_earns_what_it_did(rehearsal: Rehearsal, name: str) -> None:
    results = await assess(rehearsal, CHEATS[name])
    assert results.scores.overall.score == SCORES[name][1], explanations(results)
