"""An attempt that was overtaken says so, and by whom."""

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from activities import failures, participants
from activities.fencing import Fencing, own_fence
from proctor_protocol.config import GreenAgentConfig
from purple_sdk.ues import OvertakenError

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


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
        await surroundings.run(Fencing().intercept_activity(Late()).execute_activity, given)
    assert (refused.value.type, refused.value.non_retryable) == (failures.OVERTAKEN, False)
    assert refused.value.message == (
        "Another attempt has taken over, one of 2026-03-02T13:00:00+00:00; this one is of 2026-03-02T12:00:00+00:00. "
        "If there is no other, Temporal's clock has gone back, and this goes on once it has passed the later time."
    )


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
    speaker = participants.ParticipantActivities(SimpleNamespace(config=GreenAgentConfig()))  # type: ignore[arg-type]
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
