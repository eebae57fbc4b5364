"""A participant has to be greeted again: the turn's conditions hold nevertheless, and no lost greeting counts."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.responses import JSONResponse
from temporalio.activity import ActivityCancellationDetails
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from proctor.activities.attempts import failures
from proctor.activities.attempts.heartbeats import Heartbeats
from proctor.activities.participant.activities import ParticipantActivities
from proctor.activities.participant.payloads import GreetInput, ParticipantKey, TurnInput
from proctor.activities.plan import Plan
from proctor.activities.simulation.hosts import Claim
from proctor.activities.simulation.payloads import Prepared
from proctor.activities.simulation.simulations import Simulations
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobRef
from purple_sdk.ues import AsyncUESClient
from tests.activities.attempts import surroundings_of_attempt
from tests.activities.test_settling import SCENARIO, SECRET, START, made, simulations, simulator
from tests.assessments.participants import DONE, Json, by_hand, data, message, text
from tests.waiting import eventually
from tests.workflows.scripted import EMPTY, plan

__all__ = ["simulations", "simulator"]  # fixtures


@pytest.fixture
async def activities(simulations: Simulations) -> AsyncIterator[ParticipantActivities]:
    async def load_scenario(_ref: BlobRef) -> Any:
        return SCENARIO

    scenarios: Any = SimpleNamespace(load_scenario=load_scenario)
    speaking = ParticipantActivities(GreenAgentConfig(secret=SECRET), scenarios, simulations)
    yield speaking
    await speaking.aclose()


def planned(name: str, url: str) -> Plan:
    changes = {"participant_url": url, "offline": True, "clock": "fixed:5"}
    return plan(name, "queue").model_copy(update=changes)


class Attempts(ActivityInboundInterceptor):
    """Attempts of one step, one after the other; each has the notes of those before."""

    def __init__(self, step: Callable[[Any], Any], payload: Any) -> None:
        self._step, self._payload = step, payload
        self._notes: tuple[Any, ...] = ()
        self._count = 0

    async def execute_activity(self, input: Any) -> Any:  # noqa: A002
        return await self._step(self._payload)

    async def attempt(self, dies: Callable[[], bool] | None = None) -> Any:
        """Make an attempt; its worker ends when ``dies`` holds."""
        self._count += 1
        surroundings = surroundings_of_attempt(attempt=self._count, heartbeat_details=list(self._notes))
        surroundings.on_heartbeat = lambda *notes: setattr(self, "_notes", notes)
        given: Any = ExecuteActivityInput(fn=self.attempt, args=(), executor=None, headers={})
        trying = asyncio.ensure_future(surroundings.run(Heartbeats().intercept_activity(self).execute_activity, given))
        if dies is not None:
            await eventually(dies)
            surroundings.cancel(cancellation_details=ActivityCancellationDetails(worker_shutdown=True))
            with pytest.raises(asyncio.CancelledError):
                await trying
            return None
        return await trying


class Restarted:
    """Refuses its turn at first, since it was restarted; the first time that it is greeted then never ends."""

    def __init__(self) -> None:
        self.access: Json | None = None
        self.is_greeted = False
        self.times: list[datetime] = []

    async def greet(self, said: Json) -> Json:
        if not self.is_greeted:
            self.is_greeted, self.access = True, said
            await asyncio.Event().wait()
        return message(text("Good day."))

    async def play(self, _said: Json) -> Any:
        if self.access is None:
            return JSONResponse({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "Which assessment?"}})
        async with AsyncUESClient(self.access["ues_url"], self.access["api_key"]) as ues:
            self.times = [(await ues.time.get_state()).current_time for _ in range(2)]
        return message(data(DONE))


async def test_the_conditions_hold_though_the_worker_died_while_it_greeted_again(
    simulations: Simulations, activities: ParticipantActivities
) -> None:
    name, beginning = await made(simulations)
    restarted = Restarted()
    async with by_hand(restarted.play, greeting=restarted.greet) as participant:
        turn = Attempts(
            activities.purple_turn,
            TurnInput(
                plan=planned(name, participant.url),
                turn=1,
                attempt=1,
                checkpoint=beginning,
                current_time=START,
                events_processed=0,
                key=ParticipantKey(issue=1),
            ),
        )
        await turn.attempt(dies=lambda: restarted.is_greeted)
        answer = await turn.attempt()
    assert [at - START for at in restarted.times] == [timedelta(seconds=5), timedelta(seconds=10)]
    assert answer.applied.settled_at == START + timedelta(seconds=11)


@pytest.mark.parametrize("is_restored", [True, False])
async def test_a_greeting_counts_only_where_the_simulation_still_has_it(
    simulations: Simulations, activities: ParticipantActivities, is_restored: bool
) -> None:
    name, beginning = await made(simulations)
    lost: list[str] = []

    async def lose(_said: Json) -> Json:
        if not lost:
            lost.append("the simulation")
            fence = (await simulations.host.list_standing())[name]
            await simulations.host.end(name, fence)
            if is_restored:
                claim = Claim(name, fence, beginning)
                await simulations.host.claim(claim, lambda: simulations._store.get(beginning))
        return message(text("Good day."))

    async with by_hand(lose, greeting=lose) as participant:
        prepared = Prepared(checkpoint=beginning, initial_state=beginning, current_time=START, summary=EMPTY)
        greeting = Attempts(
            activities.greet, GreetInput(plan=planned(name, participant.url), prepared=prepared, is_reset=False)
        )
        with pytest.raises(ApplicationError) as refused:
            await greeting.attempt()
        assert (refused.value.type, refused.value.non_retryable) == (failures.SIMULATION_LOST, False)
        await greeting.attempt()
        assert participant.kinds == ["assessment_start"] * 2


class Forgetful:
    """Takes no message for one that it knows, and names no task: it acts once for each, and then thinks."""

    def __init__(self) -> None:
        self.access: Json = {}
        self.acted: list[str] = []
        self.goes_on = asyncio.Event()

    async def greet(self, said: Json) -> Json:
        self.access = said
        return await self.play(said)

    async def play(self, said: Json) -> Json:
        async with AsyncUESClient(self.access["ues_url"], self.access["api_key"]) as ues:
            await ues.chat.send(role="assistant", content="Good day.")
        self.acted.append(said["message_type"])
        await self.goes_on.wait()
        return message(data(DONE))


async def test_a_participant_that_has_acted_is_not_asked_again_by_the_next_attempt(
    simulations: Simulations, activities: ParticipantActivities
) -> None:
    """The turn is played again from its beginning, by no fault of the participant's; a greeting begins again."""
    name, beginning = await made(simulations)
    forgetful = Forgetful()
    prepared = Prepared(checkpoint=beginning, initial_state=beginning, current_time=START, summary=EMPTY)
    async with by_hand(forgetful.play, greeting=forgetful.greet) as participant:
        about = planned(name, participant.url)
        greeting = Attempts(activities.greet, GreetInput(plan=about, prepared=prepared, is_reset=False))
        await greeting.attempt(dies=lambda: bool(forgetful.acted))
        with pytest.raises(ApplicationError, match="be greeted again"):
            await greeting.attempt()
        assert participant.kinds == ["assessment_start"]
        forgetful.goes_on.set()
        greeted = await greeting.attempt()
        forgetful.goes_on.clear()
        turn = Attempts(
            activities.purple_turn,
            TurnInput(
                plan=about,
                turn=1,
                attempt=1,
                checkpoint=greeted.checkpoint,
                current_time=START,
                events_processed=0,
                key=greeted.key,
            ),
        )
        await turn.attempt(dies=lambda: "turn_start" in forgetful.acted)
        with pytest.raises(ApplicationError) as refused:
            await turn.attempt()
    assert (refused.value.type, refused.value.non_retryable) == (failures.WORKERS_LOST, True)
    assert participant.kinds == ["assessment_start"] * 2 + ["turn_start"]
