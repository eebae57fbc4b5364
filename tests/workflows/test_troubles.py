"""A step that is tried again and again is told to the caller, with its answer and the number of the try."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from a2a.client import Client as Caller
from temporalio import activity
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

from proctor.activities.attempts import failures, troubles
from proctor.activities.attempts.scrubbing import REMOVED, Scrubbing
from proctor.activities.models.dialects import invoke
from proctor.client.replay import choose, reset, reset_points
from proctor.settings.config import GreenAgentConfig
from proctor.workflows import limits, steps
from purple_sdk.ues import UESConnectionError
from tests.sentences import says
from tests.waiting import PATIENCE
from tests.work import only_nightly
from tests.workflows.asking import looked_at, played
from tests.workflows.scripted import Replacement, ScriptedActivities, fails, plan

SIGNALED = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED
AWAY = "The simulator at http://ues doesn't answer."
TOLD = "The simulator at http://ues doesn't answer (start the simulator, or set AGENTBEATS_GREEN_UES_URL)"


def fails_until_told(problem: Exception) -> Replacement:
    """The first attempt fails, and the next one goes on only when the workflow has heard of it.

    A workflow hears nothing while it carries out a local activity, but for a moment every 2.4 s.
    """
    has_failed = False

    async def action(_given: Any) -> None:
        nonlocal has_failed
        if not has_failed:
            has_failed = True
            raise problem
        workflow = activity.client().get_workflow_handle(activity.info().workflow_id or "")
        while not [e async for e in workflow.fetch_history_events() if e.event_type == SIGNALED and is_of_trouble(e)]:
            await asyncio.sleep(0.2)

    return action


def is_of_trouble(event: HistoryEvent) -> bool:
    return event.workflow_execution_signaled_event_attributes.signal_name == troubles.TROUBLE_SIGNAL


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are not tried in silence at all; with the real five seconds, tests would take a minute."""
    monkeypatch.setattr(troubles, "TELL_AFTER", 0.0)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("step", "turn", "attempts"),
    [
        pytest.param("admit", None, 12, marks=only_nightly),
        pytest.param("set_up", None, 12, marks=only_nightly),
        pytest.param("greet", None, 8, marks=only_nightly),
        pytest.param("purple_turn", 1, 8, marks=only_nightly),
        ("apply", 1, 12),
        pytest.param("advance", 1, 12, marks=only_nightly),
        pytest.param("conclude", None, 12, marks=only_nightly),
        ("judge_criterion", None, 13),
    ],
)
async def test_every_step_tells_of_its_tries(
    step: str, turn: int | None, attempts: int, caller: Caller, activities: ScriptedActivities
) -> None:
    activities.replacements[step] = fails_until_told(UESConnectionError(AWAY))
    over = await played(caller)
    assert over.state == "completed", over.sentence
    [told] = over.problems
    assert told["error_message"] == says(attempts=attempts, told=TOLD)
    assert (told["error_type"], told["recoverable"]) == ("UESConnectionError", True)
    assert (told["step"], told["attempt"], told["attempts"]) == (step, 1, attempts)
    assert told.get("turn_number") == turn


async def test_a_step_that_soon_succeeds_is_not_worth_a_word(
    caller: Caller, activities: ScriptedActivities, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert troubles.TELL_AFTER == 5.0
    monkeypatch.setattr(troubles, "TELL_AFTER", PATIENCE)
    activities.replacements["apply"] = fails("UESConnectionError", AWAY, times=2)
    over = await played(caller)
    assert (over.state, over.problems) == ("completed", [])


@pytest.mark.usefixtures("impatient")
async def test_the_last_try_is_told_once_as_the_end(caller: Caller, activities: ScriptedActivities) -> None:
    activities.replacements["purple_turn"] = fails("TypeError", "no brain")
    over = await played(caller)
    assert [(told["error_message"], told["recoverable"]) for told in over.problems] == [
        ("purple_turn failed: TypeError: no brain", False)
    ]


@pytest.mark.usefixtures("impatient")
async def test_criteria_that_fail_of_the_same_thing_are_told_once(
    caller: Caller, client: Client, config: GreenAgentConfig
) -> None:
    [criterion] = plan("", "").criteria
    many = [criterion.model_copy(update={"criterion_id": f"c{number}"}) for number in range(5)]
    scripted = ScriptedActivities(criteria=many)
    scripted.replacements["judge_criterion"] = fails("RateLimit", "The model is out of quota.", times=1)
    async with scripted.worker(client, config.task_queue):
        over = await played(caller)
    assert scripted.calls.count("judge_criterion") == 2 * len(many)
    assert [told["attempt"] for told in over.problems] == [1]


@pytest.mark.usefixtures("impatient")
async def test_a_wait_within_an_attempt_is_told_once(caller: Caller, activities: ScriptedActivities) -> None:
    async def wait(_given: Any) -> None:
        waiting = troubles.Wait()
        for _ in range(5):
            await waiting.goes_on(UESConnectionError(AWAY))
            await asyncio.sleep(0.01)

    activities.replacements["greet"] = wait
    over = await played(caller)
    assert [told["error_message"] for told in over.problems] == [says(told=TOLD)]


async def test_a_model_that_does_not_answer_is_told_of_again_and_again(
    caller: Caller, activities: ScriptedActivities, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(troubles, "TELL_AGAIN", 0.1)
    monkeypatch.setattr(steps, "_SAID_AGAIN", timedelta(0))

    class Slow:
        model_name = "slow"

        async def ainvoke(self, _messages: Any) -> None:
            workflow = activity.client().get_workflow_handle(activity.info().workflow_id or "")
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    while len([e async for e in workflow.fetch_history_events() if e.event_type == SIGNALED]) < 3:
                        await asyncio.sleep(0.1)

    async def judge(_given: Any) -> None:
        await invoke(Slow(), [])  # type: ignore[arg-type]

    activities.replacements["judge_criterion"] = judge
    over = await played(caller)
    sentences = [told["error_message"] for told in over.problems]
    assert len(sentences) >= 3
    (sentence,) = set(sentences)
    assert sentence == says("c1", "slow")


def test_progress_says_every_minute_that_a_model_is_waited_for() -> None:
    pause = limits.model("", 0)["retry_policy"].maximum_interval
    assert pause + timedelta(seconds=troubles.TELL_AGAIN) < timedelta(seconds=60)
    assert timedelta(seconds=troubles.TELL_AGAIN) > steps._SAID_AGAIN


@pytest.mark.usefixtures("impatient")
async def test_what_is_told_has_no_secret(
    caller: Caller, client: Client, config: GreenAgentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-of-this-test")
    scripted = ScriptedActivities()
    scripted.replacements["apply"] = fails_until_told(ValueError("401 for sk-of-this-test"))
    async with scripted.worker(client, config.task_queue, Scrubbing("a secret", lambda _simulation: ())):
        over = await played(caller)
    assert over.state == "completed"
    [told] = over.problems
    assert says("401", removed=REMOVED).within(told["error_message"])


@pytest.mark.usefixtures("impatient")
async def test_a_reset_tells_nothing_of_what_was_before(
    caller: Caller, client: Client, activities: ScriptedActivities
) -> None:
    """Temporal repeats the signals that came after the reset's point."""
    activities.replacements["purple_turn"] = fails(failures.PARTICIPANT_UNREACHABLE, "Nobody answers.", times=2)
    activities.replacements["advance"] = fails(failures.SCENARIO_BROKEN, "Bad day.")
    failed = await played(caller)
    assert [told["recoverable"] for told in failed.problems] == [True, True, False]
    activities.replacements.clear()
    task_id = failed.task.id
    await reset(client, task_id, choose(await reset_points(client, task_id), 1, from_judging=False))
    await client.get_workflow_handle(task_id).result()
    over = await looked_at(caller, task_id)
    assert (over.state, over.problems) == ("completed", [])
