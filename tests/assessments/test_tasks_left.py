"""What a participant is left at by those who are no more is canceled by those who come after them.

The participants speak protocol 0.3, which has no way to ask them what they are at: the evaluator has to remember it.
"""

import asyncio
import os
import signal
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from temporalio.activity import ActivityCancellationDetails
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from proctor.activities.attempts.heartbeats import Heartbeats
from proctor.activities.attempts.notes import TaskNote
from proctor.activities.participant.dialogue import Dialogues
from proctor.client.replay import choose, reset, reset_points
from proctor.settings.config import GreenAgentConfig
from proctor.storage.temporal import connect
from tests.assessments.observers import running
from tests.assessments.participants import DONE, ByHand, Json, by_hand, data, message
from tests.assessments.test_replay import follow
from tests.stack import Stack, assess
from tests.waiting import eventually


class AtFirst:
    """Never ends its first turn."""

    def __init__(self) -> None:
        self._is_first = True

    def __call__(self, said: Json) -> Json | None:
        self._is_first, was_first = False, self._is_first
        return None if was_first else message(data(DONE))


async def start_again(stack: Stack, task_id: str) -> None:
    """Reset an assessment to its first turn."""
    client = await connect(stack.config)
    await reset(client, task_id, choose(await reset_points(client, task_id), 1, from_judging=False))


async def test_the_task_of_a_turn_that_a_reset_threw_away(stack: Stack) -> None:
    async with (
        by_hand(AtFirst(), streams=True) as participant,
        running(stack, participant.url, "tiny", max_turns=1) as assessment,
    ):
        await assessment.until("turn_started")
        await eventually(lambda: participant.at_work)
        await start_again(stack, assessment.task_id)
        ended = await follow(stack, assessment.task_id)
        assert ended.state == "completed", ended.sentence
        assert set(participant.canceled) == set(participant.at_work)


async def test_the_same_where_the_worker_that_asked_for_it_is_no_more(stack: Stack) -> None:
    async with (
        by_hand(AtFirst(), streams=True) as participant,
        running(stack, participant.url, "tiny", max_turns=1) as assessment,
    ):
        await assessment.until("turn_started")
        await is_noted(stack, assessment.task_id, participant)
        worker = stack.supervisor.find_pid("worker")
        assert worker is not None
        os.kill(worker, signal.SIGKILL)
        await start_again(stack, assessment.task_id)
        ended = await follow(stack, assessment.task_id)
        assert ended.state == "completed", ended.sentence
        assert participant.canceled == participant.at_work


async def is_noted(stack: Stack, task_id: str, participant: ByHand) -> None:
    """Wait until Temporal knows what the participant is at."""
    handle = (await connect(stack.config)).get_workflow_handle(task_id)

    async def is_so() -> bool:
        described = await handle.describe()
        noted = str([pending.heartbeat_details for pending in described.raw_description.pending_activities])
        return any(task in noted for task in participant.at_work)

    await eventually(is_so)


async def test_the_task_of_a_try_that_took_too_long_is_canceled_again_before_the_next_try_or_in_the_end(
    stack: Stack,
) -> None:
    canceled: list[list[str]] = []

    def never(_said: Json) -> None:
        canceled.append([*participant.canceled])

    async with by_hand(never, streams=True) as participant:
        assessed = await assess(stack, participant.url, "tiny", max_turns=1, turn_timeout=3, turn_tries=2)
    assert assessed.state == "failed"
    first, second = participant.at_work
    assert canceled == [[], [first] * 2]
    assert participant.canceled[:3] == [first, first, second]
    assert second in participant.canceled[3:]


class Waiting(ActivityInboundInterceptor):
    """An attempt that waits for an answer that never comes, with no simulator and no Temporal."""

    def __init__(self, url: str) -> None:
        self._plan: Any = SimpleNamespace(participant_url=url, assessment_id="an assessment", turn_timeout=600)
        self.waits = asyncio.Event()

    async def execute_activity(self, input: Any) -> None:  # noqa: A002
        nothing: Any = SimpleNamespace()
        attempt: Any = SimpleNamespace(plan=self._plan)
        dialogues = Dialogues(GreenAgentConfig(), nothing)
        try:
            async with dialogues.hold_dialogue(attempt, "turn 1", is_renewed=False):
                self.waits.set()
                await asyncio.Event().wait()
        finally:
            await dialogues.aclose()


@pytest.mark.parametrize(
    ("why", "canceled"),
    [
        pytest.param(ActivityCancellationDetails(cancel_requested=True), ["task-a"], id="the assessment is cancelled"),
        pytest.param(ActivityCancellationDetails(worker_shutdown=True), [], id="its worker stops"),
        pytest.param(ActivityCancellationDetails(timed_out=True), [], id="another attempt took its place"),
    ],
)
async def test_an_attempt_that_ends_leaves_its_task_to_the_next_one_if_there_is_one(
    why: ActivityCancellationDetails, canceled: list[str]
) -> None:
    surroundings = ActivityEnvironment()
    noted = TaskNote(task_id="task-a").model_dump(mode="json")
    surroundings.info = replace(surroundings.info, attempt=2, heartbeat_details=[noted])
    given: Any = ExecuteActivityInput(fn=start_again, args=(), executor=None, headers={})
    async with by_hand(AtFirst(), streams=True) as participant:
        waiting = Waiting(participant.url)
        attempt = surroundings.run(Heartbeats().intercept_activity(waiting).execute_activity, given)
        working = asyncio.ensure_future(attempt)
        await eventually(waiting.waits.is_set)
        surroundings.cancel(cancellation_details=why)
        with pytest.raises(asyncio.CancelledError):
            await working
        assert participant.canceled == canceled
