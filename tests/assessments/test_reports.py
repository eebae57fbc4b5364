"""What the result says of the turns: who did what when, what the participant says of it, and how time passed."""

from datetime import datetime, timedelta
from typing import Any

from starlette.applications import Starlette

from proctor.protocol.updates import (
    ActionObservedUpdate,
    ScenarioLoadedUpdate,
    SimulationAdvancedUpdate,
    TurnCompletedUpdate,
    TurnStartedUpdate,
)
from purple_sdk import create_app
from purple_sdk.examples.assistant_agent import AssistantAgent
from purple_sdk.protocol.messages import ActionLogEntry, EarlyCompletionMessage, ModelUsage, TurnCompleteMessage
from purple_sdk.protocol.results import AssessmentResults, TurnModelUsage
from purple_sdk.settings.config import merge_configs
from purple_sdk.ues import AsyncUESClient
from tests.assessments.scripts import ask_ben
from tests.openai_endpoint import OpenAIEndpoint
from tests.sentences import says
from tests.stack import Assessed, Script, Stack, agent_config, assess, listening, play, serving

START = datetime.fromisoformat("2026-03-02T09:00:00+00:00")
END = START + timedelta(hours=12)


async def two_actions(turn: int, ues: AsyncUESClient, now: datetime) -> None:
    await ask_ben(ues)
    await ues.chat.send(role="assistant", content=f"turn {turn}: asked again")


async def followed(
    stack: Stack, script: Script, scenario_id: str = "tiny", *, reports: bool = True, **config: Any
) -> Assessed:
    """Assess a script and keep the updates."""
    async with serving(script, reports=reports) as url:
        assessed = await assess(stack, url, scenario_id, **config)
    assert assessed.state == "completed", assessed.sentence
    return assessed


def results_of(assessed: Assessed) -> AssessmentResults:
    assert assessed.results is not None
    return assessed.results


async def test_what_was_done_stands_beside_what_is_reported(stack: Stack) -> None:
    """An honest turn, a silent one, a boasting one, and one with an action that the simulator refuses."""

    async def script(turn: int, ues: AsyncUESClient, now: datetime) -> TurnCompleteMessage | None:
        if turn == 4:
            answer = await ues.email.read(message_ids=["no-such-mail"])
            assert answer.status == "failed"
            return None
        if turn == 3:
            await ask_ben(ues)
            actions = [
                ("email.send", {"to_addresses": ["ben@work.example"]}),
                ("sms.send", {"to_numbers": ["+34600000002"]}),
            ]
            return TurnCompleteMessage(
                actions=[ActionLogEntry(timestamp=now, action=a, parameters=p, success=True) for a, p in actions]
            )
        await two_actions(turn, ues, now)
        return TurnCompleteMessage(actions=[]) if turn == 2 else None

    results = await play(stack, "tiny", script, max_turns=4)
    honest, silent, boasting, refused = 1, 2, 3, 4
    assert [(entry.turn, entry.action, entry.timestamp) for entry in results.action_log] == [
        (honest, "email.send", START),
        (honest, "chat.send_message", START),
        (silent, "email.send", START + timedelta(hours=1)),
        (silent, "chat.send_message", START + timedelta(hours=1)),
        (boasting, "email.send", START + timedelta(hours=2)),
        (refused, "email.mark_read", START + timedelta(hours=3)),
    ]
    assert (results.actions_taken, results.turns_taken) == (len(results.action_log), 4)
    report = results.action_report
    assert [(entry.turn, entry.action, entry.success) for entry in report.reported] == [
        (honest, "email.send", True),
        (honest, "chat.send_message", True),
        (boasting, "email.send", True),
        (boasting, "sms.send", True),
        (refused, "email.mark_read", False),
    ]
    assert report.unreported == results.action_log[2:4]
    assert [(entry.turn, entry.action) for entry in report.never_happened] == [(boasting, "sms.send")]
    last = results.action_log[-1]
    assert not last.success
    assert "no-such-mail" in (last.error_message or "")


async def test_early_completion_ends_the_turns(stack: Stack) -> None:
    claim = ActionLogEntry(
        timestamp=START, action="sms.send", parameters={"to_numbers": ["+34600000002"]}, success=True
    )
    usage = ModelUsage(model="small", calls=2, input_tokens=900, output_tokens=80)

    async def enough(turn: int, ues: AsyncUESClient, now: datetime) -> EarlyCompletionMessage | None:
        await ask_ben(ues)
        if turn == 1:
            return None
        return EarlyCompletionMessage(reason="nothing left", actions=[claim], model_usage=[usage])

    assessed = await followed(stack, enough)
    results = results_of(assessed)
    assert (results.turns_taken, results.completion_reason, results.status) == (2, "early_completion", "completed")
    assert [entry.turn for entry in results.action_log] == [1, 2]
    completed = [update for update in assessed.updates if isinstance(update, TurnCompletedUpdate)]
    assert [update.early_completion_requested for update in completed] == [False, True]
    [loaded] = [update for update in assessed.updates if isinstance(update, ScenarioLoadedUpdate)]
    assert loaded.warnings == [says("20", "config.offline")]
    assert (results.total_points, results.scores.overall.max_score) == (20, 18)
    # The message carries its turn's report, which counts as every other turn's does.
    report = results.action_report
    assert [(entry.turn, entry.action) for entry in report.unreported] == [(2, "email.send")]
    assert [(entry.turn, entry.action) for entry in report.never_happened] == [(2, "sms.send")]
    assert results.participant_usage == [TurnModelUsage(turn=2, **usage.model_dump())]


async def test_what_a_model_driven_agent_asked_of_its_model_stands_in_the_result(stack: Stack) -> None:
    def answer(request: dict[str, Any]) -> dict[str, Any]:
        is_new = request["messages"][-1]["role"] == "user"
        return {"tool_calls": [("email_query", {"folder": "inbox"})]} if is_new else {"content": "Nothing to do."}

    with OpenAIEndpoint() as endpoint:
        endpoint.decide = answer
        settings = {"model": "openai/small", "model_base_url": endpoint.base_url, "enable_reflection": False}

        def app(url: str) -> Starlette:
            return create_app(AssistantAgent, merge_configs(agent_config(url), settings))

        async with listening(app) as url:
            results = results_of(await assess(stack, url, "tiny", max_turns=2))
    told = [(usage.turn, usage.model, usage.calls, usage.input_tokens) for usage in results.participant_usage]
    assert told == [(1, "openai/small", 2, 200), (2, "openai/small", 2, 200)]


async def test_notes_reach_the_evaluators_and_the_clock_moves_by_the_participants_step(stack: Stack) -> None:
    """Turn by turn; where an agent of the SDK says nothing of a step, the scenario's own counts."""

    async def script(turn: int, ues: AsyncUESClient, now: datetime) -> TurnCompleteMessage | None:
        if turn > 3:
            await ues.chat.send(role="assistant", content="I have finished.")
            return TurnCompleteMessage(actions=[], notes="Ben prefers Thursday. " * 20)
        step = ["PT5M", "PT2H30M", "PT30M"][turn - 1]
        return TurnCompleteMessage(actions=[], time_step=step, notes=f"note {turn}" if turn != 2 else None)

    assessed = await followed(stack, script, "notes_are_read", max_turns=4)
    results = results_of(assessed)
    last = "Ben prefers Thursday. " * 20
    read = str({1: "note 1", 3: "note 3", 4: last})
    assert [criterion.explanation for criterion in results.criteria_results[:2]] == [read, read]
    [observed] = [update for update in assessed.updates if isinstance(update, ActionObservedUpdate)]
    assert observed.notes == last[:200], "an action carries its turn's notes"
    starts = [update.current_time for update in assessed.updates if isinstance(update, TurnStartedUpdate)]
    assert [start - START for start in starts] == [timedelta(minutes=minutes) for minutes in (0, 5, 155, 185)]
    moves = [update for update in assessed.updates if isinstance(update, SimulationAdvancedUpdate)]
    assert [move.duration for move in moves] == ["PT5M", "PT2H30M", "PT30M", "PT20M"]
    assert [move.events_processed for move in moves] == [0, 1, 0, 0]
    assert results.turns_taken == 4
