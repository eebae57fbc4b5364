"""Where an assessment may go on from is read from what its steps were given."""

import pytest
from a2a.client import Client as Caller
from temporalio.client import Client

from proctor.replay import reset_points
from tests.workflows.asking import played
from tests.workflows.scripted import ScriptedActivities
from workflows import limits


async def test_turns_are_known_by_their_input_whatever_they_are_called(
    caller: Caller, client: Client, activities: ScriptedActivities, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = limits.turn
    monkeypatch.setattr(limits, "turn", lambda summary, timeout: {**named(summary, timeout), "summary": "a turn"})
    over = await played(caller)
    assert [point.turn for point in await reset_points(client, over.task.id)] == [1, 2, None]
