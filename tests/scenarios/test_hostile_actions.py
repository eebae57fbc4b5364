"""Whatever a participant does, it is judged: no evaluator raises or hangs, and random actions earn nothing."""

import asyncio
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from typing import Any

import pytest

from proctor.activities.scenario_code.evaluator_modules import import_evaluators
from proctor.protocol.evaluation import AgentBeatsEvalContext
from proctor.protocol.scenario import EvaluationCriterion
from purple_sdk.protocol.results import ActionLogEntryWithTurn
from tests.scenarios.hostile_actions import ENDPOINTS, Hostile
from tests.scenarios.playing import Rehearsal
from tests.stack import SCENARIOS
from tests.work import NIGHTLY, calls_in, some_of

HEAVIEST = {"only_news", "incident_status", "private_kept", "final_overview", "confidence_kept", "few_options"}
TURNS = {"email_triage_basic": 12, "reschedule_day": 8}
SEEDS = range(5) if NIGHTLY else range(1)
ACTIONS = 600 if NIGHTLY else 160
"""Of each seed in each scenario; some six in a hundred are refused, mostly for the year 9999."""
CHANCE = 0.05
"""The share of the points that actions at random may come to: Greta's panel named to Greta, a note to Ingrid."""
SECONDS = 2.0
"""Processor time that a judgement may take; measured nightly only."""
MOST_CALLS = 3_000_000 if NIGHTLY else 1_000_000
"""Functions called in one judgement, Python's and C's; a fraction of a second."""


def judges(scenario_id: str) -> Iterator[tuple[str, Any]]:
    """Every evaluator function of a scenario's criteria, with its parameters given."""
    module = import_evaluators(SCENARIOS / scenario_id)
    for data in json.loads((SCENARIOS / scenario_id / "scenario.json").read_text())["criteria"]:
        criterion = EvaluationCriterion.model_validate(data)
        name = criterion.evaluator_id or criterion.work_evaluator_id
        assert name is not None
        yield name, partial(getattr(module, name), params=dict(criterion.params or {}))


async def calls_of(judge: Any, seen: AgentBeatsEvalContext) -> int:
    """How much work a judgement is."""
    if NIGHTLY:
        began = time.process_time()
        await judge(seen)
        assert time.process_time() - began < SECONDS
    calls, _ = await asyncio.to_thread(calls_in, lambda: asyncio.run(judge(seen)))
    return calls


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scenario_id", some_of(TURNS, 1))
async def test_actions_at_random(rehearsal: Rehearsal, scenario_id: str, seed: int) -> None:
    participant = Hostile(seed, ACTIONS // TURNS[scenario_id])
    results, seen = await rehearsal.play_and_keep(scenario_id, participant)
    assert sum(participant.accepted.values()) >= 0.8 * ACTIONS
    assert len(participant.accepted) >= 0.9 * len(ENDPOINTS)
    done = [entry.success for entry in results.action_log]
    assert sum(done) >= 0.5 * ACTIONS
    overall = results.scores.overall
    assert overall.max_score in (88, 84)  # the same points as everybody
    assert 0 <= overall.score <= overall.score + overall.doubtful_points <= CHANCE * overall.max_score
    for name, judge in judges(scenario_id):
        if NIGHTLY or name in HEAVIEST:
            assert await calls_of(judge, seen) < MOST_CALLS, name


WORDS = (
    "Friday 12 June 13:30 Monday INC-2291 closed not until Ingrid Dahl of Fjordkyst wants customs files today. Sam and"
    " Leo call Tom Becker\nRachel Kwan: annex 2 of the DPA by Friday. Daniel Okafor pricing Tuesday 16:00, Sabine"
    " 12:30 Berlin"
)
LONG = 200_000 if NIGHTLY else 60_000
"""Characters; the simulator takes messages of at most 256 kB."""


@pytest.mark.parametrize("scenario_id", some_of(reversed(TURNS), 1))
async def test_a_flood_of_words_is_judged_in_little_more_work(scenario_id: str) -> None:
    """It took 30 s and more; a participant that loses could have had its assessment end without a result."""
    states = json.loads((SCENARIOS / scenario_id / "initial_state.json").read_text())["environment"]["modality_states"]
    config = json.loads((SCENARIOS / scenario_id / "scenario.json").read_text())
    people = [person["email"] for person in config["characters"].values() if person.get("email")]
    start = datetime.fromisoformat(config["start_time"]).astimezone(UTC)
    drawn = Random(1)
    log = []
    for turn in range(1, TURNS[scenario_id] + 1):
        text = " ".join(drawn.choices(WORDS.split(" "), k=LONG // 6))
        for action, given in (
            ("chat.send_message", {"role": "assistant", "content": text}),
            ("email.send", {"to_addresses": people[:1], "subject": "x", "body_text": text}),
        ):
            at = start + timedelta(hours=turn - 1)
            log.append(ActionLogEntryWithTurn(turn=turn, timestamp=at, action=action, parameters=given, success=True))
    seen = AgentBeatsEvalContext(None, {}, log, states, states, user_prompt="")
    for name, judge in judges(scenario_id):
        if NIGHTLY or name in HEAVIEST:
            assert await calls_of(judge, seen) < MOST_CALLS, name
