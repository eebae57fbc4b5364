"""A turn that a reset gives up has lost its right to act, whichever step of a turn the assessment is reset to."""

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle

from proctor.activities.admission.payloads import SO_FAR_QUERY, SoFar
from proctor.activities.attempts.troubles import TROUBLE_SIGNAL, Trouble
from proctor.client.replay import ResetPoint, reset
from proctor.storage.temporal import connect
from purple_sdk.ues import AsyncUESClient, UESError
from tests.assessments.observers import running
from tests.assessments.participants import DONE, Json, by_hand, data, message, task, text
from tests.assessments.scripts import ask_ben
from tests.assessments.test_replay import follow
from tests.assessments.test_tasks_left import start_again
from tests.sentences import says
from tests.stack import Stack
from tests.waiting import eventually
from tests.work import some_of

SITUATIONS = [
    "in purple_turn 2",  # first, as then the straggler and the turn to which the reset leads have the same key
    "before purple_turn 2",
    "before purple_turn 3",
    "before advance 2",
    "before greet 1",
    "before respond 2",
    "in greet 1",
]
"""Where the reset leads to: to the request for an activity, or to a workflow task while that was under way."""


@dataclass
class Straggler:
    """Asks Ben in each turn, and says so. From turn 3 on it goes on acting, also while it is asked for other turns.

    In the first run it waits for ``goes_on`` in its greeting and in turn 2.
    """

    access: Json = field(default_factory=dict)
    waits_in: str = ""
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)
    in_turn_3: list[AsyncUESClient] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    is_over: asyncio.Event = field(default_factory=asyncio.Event)

    async def greet(self, said: Json) -> Json:
        self.access = said
        await self._wait("greet")
        await self.go_on()
        return message(text("Good day."))

    async def play(self, said: Json) -> Json:
        turn, ues = said["turn_number"], AsyncUESClient(self.access["ues_url"], self.access["api_key"])
        if turn == 3:
            self.in_turn_3.append(ues)
            await self.is_over.wait()
            return message(data(DONE))
        await ask_ben(ues, f"Turn {turn}")
        if turn == 2:
            await self._wait("purple_turn")
        await self.go_on()
        await ues.chat.send(role="assistant", content=f"Turn {turn}")
        return message(data(DONE))

    async def _wait(self, where: str) -> None:
        if not self.in_turn_3:
            self.waits_in = where
            await self.goes_on.wait()
            self.goes_on.clear()

    async def go_on(self) -> None:
        """Do one more action of every turn 3 that it was asked for."""
        for ues in [*self.in_turn_3]:
            try:
                await ues.chat.send(role="assistant", content="late")
            except UESError as error:
                self.refusals.append(str(error))

    def waits_at(self, where: str) -> bool:
        return self.waits_in == where

    def was_asked_in_turn_3(self, count: int) -> bool:
        return len(self.in_turn_3) == count

    async def keep_on(self) -> None:
        while True:
            await self.go_on()
            await asyncio.sleep(0.01)


async def play_to_turn_3(handle: WorkflowHandle[Any, Any], straggler: Straggler) -> None:
    """Play the first run, with a workflow task of its own while the participant is greeted, and one in turn 2."""
    trouble = Trouble(step="admit", attempt=1, attempts=1, kind="Test", answer="a workflow task")
    for where in ("greet", "purple_turn"):
        await eventually(partial(straggler.waits_at, where))
        await handle.signal(TROUBLE_SIGNAL, trouble)

        async def is_taken() -> bool:
            kinds = [event.event_type async for event in handle.fetch_history_events()]
            signaled = len(kinds) - kinds[::-1].index(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED)
            return EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED in kinds[signaled:]

        await eventually(is_taken)
        straggler.goes_on.set()
    await eventually(lambda: straggler.in_turn_3)


async def find_points(handle: WorkflowHandle[Any, Any]) -> dict[str, ResetPoint]:
    """Where the present run can be reset to, by the situation that each point leads to."""
    run_id, points, names = (await handle.describe()).run_id, {}, []
    pending: dict[int, str] = {}
    async for event in handle.fetch_history_events():
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            begun = event.activity_task_scheduled_event_attributes
            names.append(begun.activity_type.name)
            name = pending[event.event_id] = f"{names[-1]} {names.count(names[-1])}"
            points[f"before {name}"] = ResetPoint(run_id, begun.workflow_task_completed_event_id, name)
        elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
            pending.pop(event.activity_task_completed_event_attributes.scheduled_event_id)
        elif event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
            points |= {f"in {name}": ResetPoint(run_id, event.event_id, name) for name in pending.values()}
    return points


async def played(handle: WorkflowHandle[Any, Any]) -> list[tuple[int, str]]:
    so_far: SoFar = await handle.query(SO_FAR_QUERY, result_type=SoFar)
    return [(entry.turn, str(entry.parameters.get("content"))) for entry in so_far.played[0].action_log]


async def test_a_participant_that_goes_on_acts_in_no_turn_that_comes_after_a_reset(stack: Stack) -> None:
    straggler = Straggler()
    async with (
        by_hand(straggler.play, greeting=straggler.greet) as participant,
        running(stack, participant.url, "tiny", max_turns=3) as assessment,
    ):
        await assessment.until("")
        client: Client = await connect(stack.config)
        handle = client.get_workflow_handle(assessment.task_id)
        await play_to_turn_3(handle, straggler)
        undisturbed, points = await played(handle), await find_points(handle)
        assert [turn for turn, _ in undisturbed] == [1, 1, 2, 2]
        for count, situation in enumerate(some_of(SITUATIONS, 3), 2):
            straggler.refusals.clear()
            going_on = asyncio.create_task(straggler.keep_on())
            await reset(client, assessment.task_id, points[situation])
            await eventually(partial(straggler.was_asked_in_turn_3, count))
            going_on.cancel()
            assert says().within(straggler.refusals[-1]), situation
            assert await played(handle) == undisturbed, situation
        straggler.is_over.set()
        assert (await follow(stack, assessment.task_id)).state == "completed"


async def test_a_turn_waits_for_the_end_of_a_task_that_cannot_be_canceled(stack: Stack) -> None:
    """The participant knows no ``tasks/cancel``, and answers ``tasks/get``. The reset comes at the first such look."""
    state, looks, has_begun_again = "working", 0, asyncio.Event()

    def play(_said: Json) -> Json:
        if not participant.at_work:
            participant.at_work.append("task of turn 1")
            return task("working", task_id=participant.at_work[0])
        return message(data(DONE))

    async def look(_params: Json) -> Json:
        nonlocal looks
        looks += 1
        if looks == 1:
            await start_again(stack, assessment.task_id)
            has_begun_again.set()
        return task(state, task_id=participant.at_work[0])

    async with (
        by_hand(play, looked_at=look) as participant,
        running(stack, participant.url, "tiny", max_turns=1) as assessment,
    ):
        await assessment.until("turn_started")
        await has_begun_again.wait()
        # The abandoned attempt asks for the task's cancellation, too, and looks no more.
        await eventually(
            lambda: participant.methods.count("tasks/cancel") == 2 or "turn_start" in participant.kinds[2:]
        )
        before = looks
        await eventually(lambda: looks > before + 1 or participant.kinds.count("turn_start") > 1)
        assert participant.kinds == ["assessment_start", "turn_start"]
        state = "failed"
        ended = await follow(stack, assessment.task_id)
        assert ended.state == "completed", ended.sentence
        assert participant.kinds[2:4] == ["assessment_start", "turn_start"]
