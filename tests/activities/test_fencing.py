"""An attempt that was overtaken says so, and by whom."""

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from proctor.activities.attempts import failures, heartbeats
from proctor.activities.attempts.around import Around
from proctor.activities.attempts.fencing import fencing, own_fence
from proctor.activities.participant import activities as participants
from proctor.settings.config import GreenAgentConfig
from purple_sdk.ues import OvertakenError
from tests.sentences import says

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)

NOTHING: Any = (SimpleNamespace(), SimpleNamespace())
"""Scenarios and simulations that are not needed."""


class Late(ActivityInboundInterceptor):
    """An attempt whose simulation is held by one of an hour later: Temporal's clock has gone back since."""

    def __init__(self) -> None:
        pass

    async def execute_activity(self, input: Any) -> None:  # noqa: A002
        held = own_fence() + 3_600_000_000
        raise OvertakenError("overtaken", 412, {"message": "another attempt has taken over", "fence": held})


async def test_where_temporals_clock_went_back_the_attempt_is_tried_again_and_says_until_when() -> None:
    surroundings = ActivityEnvironment()
    surroundings.info = replace(surroundings.info, current_attempt_scheduled_time=NOON)
    given: Any = ExecuteActivityInput(fn=Late, args=(), executor=None, headers={})
    with pytest.raises(ApplicationError) as refused:
        await surroundings.run(Around(fencing).intercept_activity(Late()).execute_activity, given)
    assert (refused.value.type, refused.value.non_retryable) == (failures.OVERTAKEN, False)
    assert refused.value.message == says("2026-03-02T13:00:00+00:00", "2026-03-02T12:00:00+00:00")


SECONDS_STOPPED = {"stopped for a second": 1.0, "where no clock tells": 0.0, "not stopped": 0.001}


@pytest.mark.parametrize("stopped", SECONDS_STOPPED)
async def test_who_was_stopped_since_its_claim_looks_before_it_speaks(
    stopped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others may have gone on since: then it says nothing. Who has claimed the simulation just now, knows."""

    async def look() -> None:
        raise OvertakenError("overtaken", 412, {"message": "another attempt has taken over"})

    async def send(message: Any, *_: Any, **__: Any) -> None:
        said.append(message)

    said: list[Any] = []
    seconds = SECONDS_STOPPED[stopped]
    monkeypatch.setattr(participants, "counting_stops", lambda: 100.0 + seconds if seconds > 0 else None)
    speaker = participants.ParticipantActivities(GreenAgentConfig(), *NOTHING)
    simulation: Any = SimpleNamespace(look=look, claimed_at=100.0)
    participant: Any = SimpleNamespace(send=send)
    greeting: Any = "good morning"
    surroundings = ActivityEnvironment()
    if stopped == "not stopped":
        await surroundings.run(speaker._say, participant, simulation, greeting, "m-1")
    else:
        with pytest.raises(OvertakenError):
            await surroundings.run(speaker._say, participant, simulation, greeting, "m-1")
    assert said == ([greeting] if stopped == "not stopped" else [])


@pytest.mark.parametrize(("tried", "is_new"), [(1, False), (2, True)])
async def test_an_attempt_after_another_one_that_left_no_note_opens_with_a_new_key(
    tried: int, is_new: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the one before had the participant do is unknown: with the old key it could still act in the turn."""
    begun: list[int] = []

    class Simulations:
        async def begin(self, _name: str, _checkpoint: Any, *, mark: str, issue: int, conditions: object = None) -> Any:
            begun.append(issue)
            return SimpleNamespace(mark=mark)

    async def begin() -> None:
        plan: Any = SimpleNamespace(simulation_id="s")
        await opener._begin(participants._Work(plan, None, "run turn 1 try 1", 7))  # type: ignore[arg-type]

    simulations: Any = SimpleNamespace(of=lambda _plan: Simulations())
    opener = participants.ParticipantActivities(GreenAgentConfig(), NOTHING[0], simulations)
    monkeypatch.setattr(participants, "_wait_seconds", lambda: 0.0)
    surroundings = ActivityEnvironment()
    surroundings.info = replace(surroundings.info, attempt=tried, current_attempt_scheduled_time=NOON)
    heartbeats._notes.set([])
    await surroundings.run(begin)
    assert (begun != [7]) is is_new
    assert begun in ([7], [int(NOON.timestamp() * 1_000_000)])


@pytest.mark.parametrize("fails", [False, True], ids=["an answer", "a failure"])
async def test_an_answer_counts_only_where_the_simulation_still_has_what_was_done(fails: bool) -> None:
    """It was restarted meanwhile, without the turn: the answer is of something that is gone, and so is a failure."""

    async def look() -> Any:
        return SimpleNamespace(mark=None, is_untouched=True)

    def to_turn() -> Any:
        if fails:
            raise failures.PARTICIPANT_FAILED.final("It failed.")
        return SimpleNamespace()

    hosts: Any = SimpleNamespace(host=SimpleNamespace(outlive_workers=False))
    simulations: Any = SimpleNamespace(of=lambda _plan: hosts)
    given: Any = SimpleNamespace(plan=None, key=SimpleNamespace(issue=7), checkpoint=None)
    simulation: Any = SimpleNamespace(look=look, mark='{"step": "run turn 1 try 1", "fence": 1, "issue": 7}')
    answer: Any = SimpleNamespace(to_turn=to_turn)
    taker = participants.ParticipantActivities(GreenAgentConfig(), NOTHING[0], simulations)
    heartbeats._notes.set([])
    with pytest.raises(ApplicationError) as refused:
        await ActivityEnvironment().run(taker._take_answer, given, answer, simulation, "run turn 1 try 1")
    assert refused.value.type == failures.SIMULATION_LOST
