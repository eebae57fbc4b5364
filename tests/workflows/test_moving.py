"""A step whose simulator is lost names another one: the assessment goes on there, and every step is told."""

from typing import Any
from unittest.mock import MagicMock

import pytest
from a2a.client import Client as Caller
from temporalio.exceptions import ApplicationError

from proctor.activities.attempts import failures
from proctor.activities.participant.payloads import Greeted, ParticipantKey, TurnAnswer
from proctor.activities.simulation.moving import LOST, MOVED_TO
from proctor.activities.simulation.payloads import Prepared
from proctor.workflows.steps import Steps
from tests.workflows.asking import played
from tests.workflows.scripted import EMPTY, NOWHERE, ScriptedActivities

ONE, TWO = "http://ues-1:8100", "http://ues-2:8100"


def lost(simulator: str, moved_to: str) -> ApplicationError:
    details = {MOVED_TO: moved_to, LOST: simulator}
    return ApplicationError("It goes on at another one.", details, type=failures.HOST_LOST, non_retryable=True)


async def test_an_assessment_goes_where_its_steps_say(caller: Caller, activities: ScriptedActivities) -> None:
    """Made on the first, it moves to the second while a turn is read, and back while the next one is played."""

    async def set_up(given: Any) -> Prepared:
        return Prepared(
            checkpoint=NOWHERE, initial_state=NOWHERE, current_time=given.start_time, summary=EMPTY, simulator=ONE
        )

    async def greet(given: Any) -> Greeted:
        return Greeted(sha256=NOWHERE.sha256, size=NOWHERE.size, key=ParticipantKey(simulator=given.plan.simulator))

    async def turn(given: Any) -> TurnAnswer:
        if given.plan.simulator == TWO:
            raise lost(TWO, ONE)
        key = ParticipantKey(simulator=given.plan.simulator)
        return TurnAnswer(checkpoint=NOWHERE, kind="turn_complete", key=key)

    async def apply(given: Any) -> None:
        if given.turn == 1 and given.plan.simulator == ONE:
            raise lost(ONE, TWO)

    activities.replacements |= {"set_up": set_up, "greet": greet, "purple_turn": turn, "apply": apply}
    over = await played(caller, context="moving")
    assert over.state == "completed", over.sentence

    def told(step: str) -> list[str | None]:
        return [given.plan.simulator for given in activities.inputs[step]]

    assert (told("greet"), told("apply"), told("advance")) == ([ONE], [ONE, TWO, ONE], [TWO, ONE])
    assert (told("conclude"), told("judge_criterion"), told("farewell")) == ([ONE], [ONE], [ONE])
    played_turns = activities.inputs["purple_turn"]
    turns = [(given.turn, given.attempt, given.plan.simulator, given.needs_new_key) for given in played_turns]
    assert turns == [(1, 1, ONE, False), (2, 1, TWO, True), (2, 2, ONE, True)]
    assert [update["error_type"] for update in over.problems] == [failures.HOST_LOST] * 2


def test_of_steps_that_lost_a_server_at_once_the_first_chooses_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.workflows.steps.workflow.logger", MagicMock())  # it is for workflows only
    steps = Steps(MagicMock())
    steps.simulator = ONE
    for other in (TWO, "http://ues-3:8100"):
        assert steps.has_moved(lost(ONE, other))
    assert steps.simulator == TWO
