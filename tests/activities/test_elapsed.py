"""How long a step has been tried is told by no clock that anybody can set."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from proctor.activities.attempts import elapsed
from proctor.activities.attempts.around import Around
from proctor.activities.attempts.elapsed import since_scheduled, timing

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


class Asking(ActivityInboundInterceptor):
    """An attempt that wants to know it."""

    def __init__(self) -> None:
        pass

    async def execute_activity(self, input: Any) -> timedelta:  # noqa: A002
        return since_scheduled()


@pytest.fixture(autouse=True)
def three_seconds_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the attempt's beginning and its question, whatever day it is here."""
    monkeypatch.setattr(elapsed, "time", SimpleNamespace(monotonic=iter([100.0, 103.0]).__next__))


async def asked(scheduled: datetime, started: datetime) -> timedelta:
    """What an attempt is told that Temporal has scheduled and handed out so."""
    surroundings = ActivityEnvironment()
    surroundings.info = replace(surroundings.info, scheduled_time=scheduled, started_time=started)
    given: Any = ExecuteActivityInput(fn=asked, args=(), executor=None, headers={})
    found: timedelta = await surroundings.run(Around(timing).intercept_activity(Asking()).execute_activity, given)
    return found


@pytest.mark.parametrize("waited", [0, 5, 90_000])
async def test_it_is_what_temporal_says_and_what_has_passed_since(waited: int) -> None:
    assert await asked(NOON, NOON + timedelta(seconds=waited)) == timedelta(seconds=waited + 3)


async def test_it_is_never_negative_where_temporals_clock_went_back() -> None:
    assert await asked(NOON, NOON - timedelta(hours=1)) == timedelta(seconds=3)
