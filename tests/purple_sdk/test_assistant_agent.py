"""The model-driven assistant against a deterministic OpenAI-compatible endpoint, in days of both scenarios."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from purple_sdk.examples.assistant_agent import AssistantAgent
from purple_sdk.examples.assistant_agent.memory import Memory, tokens_in
from purple_sdk.examples.assistant_agent.models import ModelNotUsableError, make_model, provider_and_name
from purple_sdk.examples.assistant_agent.talk import read_json_answer
from purple_sdk.protocol.messages import EarlyCompletionMessage
from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.settings.config import PurpleAgentConfig
from purple_sdk.ues import AsyncUESClient
from tests.openai_endpoint import OpenAIEndpoint, prompt_of
from tests.purple_sdk.played import PlayedAgent
from tests.scenarios.playing import Rehearsal
from tests.sentences import says
from tests.work import only_nightly

Json = dict[str, Any]
PANEL = "evt-thu-panel"
GRETA = {
    "to_addresses": ["greta.holm@larkfield.example"],
    "subject": "LIMS vendor panel",
    "body_text": "Dear Greta,\n\nInes can't attend the LIMS vendor panel tomorrow.\n\nKind regards",
}


@pytest.fixture(scope="module")
def served() -> Iterator[OpenAIEndpoint]:
    with OpenAIEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(served: OpenAIEndpoint) -> OpenAIEndpoint:
    served.forget()
    return served


def assistant(endpoint: OpenAIEndpoint, **settings: Any) -> AssistantAgent:
    given: Json = {"model": "openai/small", "model_base_url": endpoint.base_url, **settings}
    return AssistantAgent(PurpleAgentConfig(**given))


def latest(request: Json) -> list[str]:
    """What was said to the model since it spoke last."""
    said: list[str] = []
    for message in reversed(request["messages"]):
        if message["role"] == "assistant":
            break
        said.insert(0, prompt_of({"messages": [message]}))
    return said


def sorts_mail(request: Json) -> list[tuple[str, Json]]:
    """Reads the unread mail, labels all of it, and says how much it was."""
    heard = latest(request)
    if any("This is turn" in text for text in heard):
        return [("email_query", {"folder": "inbox", "is_read": False})]
    [mails] = [json.loads(text[text.index("{") :])["emails"] for text in heard if '"emails"' in text] or [[]]
    if not mails:
        return []
    ids = [mail["message_id"] for mail in mails]
    return [
        ("email_label", {"message_ids": ids, "labels": ["action"]}),
        ("email_read", {"message_ids": ids}),
        ("chat_send", {"content": f"{len(ids)} new mails"}),
    ]


def declines_the_panel(request: Json) -> list[tuple[str, Json]]:
    if "This is turn 1." not in latest(request)[-1]:
        return []
    return [("calendar_respond", {"event_id": PANEL, "response": "declined"}), ("email_send", GRETA)]


def natively(decide: Any) -> Any:
    def answer(request: Json) -> Json:
        calls = decide(request)
        return {"tool_calls": calls} if calls else {"content": "All is done."}

    return answer


def in_json(decide: Any) -> Any:
    def answer(request: Json) -> Json:
        calls = [{"tool": name, "arguments": arguments} for name, arguments in decide(request)]
        return {"content": json.dumps({"thoughts": "All is done." if not calls else "", "calls": calls})}

    return answer


def scores(results: AssessmentResults) -> dict[str, int]:
    return {criterion.criterion_id: criterion.score for criterion in results.criteria_results}


async def test_it_plays_four_turns_of_mail_with_tool_calls(rehearsal: Rehearsal, endpoint: OpenAIEndpoint) -> None:
    endpoint.decide = natively(sorts_mail)
    played = PlayedAgent(assistant(endpoint, temperature=0.25))

    async def leave_after_four(turn: int, ues: AsyncUESClient, now: datetime) -> Any:
        answer = await played(turn, ues, now)
        return answer if turn < 4 else EarlyCompletionMessage(reason="The tests have seen enough.")

    results = await rehearsal.play("email_triage_basic", leave_after_four)
    assert results.turns_taken == 4
    assert results.scores.overall.score > 0
    done = [entry.action for entry in results.action_log]
    assert {"email.label", "email.mark_read", "chat.send_message"} <= set(done)
    assert all(entry.success for entry in results.action_log)
    # Every turn says what it took: 120 tokens a call, as the endpoint counts.
    calls = [usage.calls for answer in played.answers for usage in answer.model_usage]
    assert len(calls) == 4
    assert sum(calls) == endpoint.calls
    for answer in played.answers:
        [usage] = answer.model_usage
        assert (usage.model, usage.input_tokens, usage.output_tokens) == (
            "openai/small",
            100 * usage.calls,
            20 * usage.calls,
        )
        assert answer.actions is not None
    assert {request["temperature"] for request in endpoint.requests} == {0.25}
    assert {request["model"] for request in endpoint.requests} == {"small"}
    # Reflection asks once more in each turn, and each turn but the first knows of those before.
    asked = [prompt_of(request) for request in endpoint.requests]
    assert sum("Before you end" in latest(request)[-1] for request in endpoint.requests) == 4
    assert all("Turn 1, " in prompt and "email_label" in prompt for prompt in asked[-3:])


@only_nightly  # by default: test_it_plays_four_turns_of_mail_with_tool_calls
async def test_it_plays_a_whole_day_of_appointments_with_a_model_that_only_knows_json(
    rehearsal: Rehearsal, endpoint: OpenAIEndpoint
) -> None:
    endpoint.has_tools = False
    endpoint.refused_formats.add("json_schema")
    endpoint.decide = in_json(declines_the_panel)
    played = PlayedAgent(assistant(endpoint, enable_reflection=False))
    results = await rehearsal.play("reschedule_day", played)
    assert results.turns_taken == 8
    assert scores(results)["panel_declined"] == 3
    assert [entry.action for entry in results.action_log] == ["calendar.respond", "email.send"]
    # It tried tools and a schema once, and remembers that this model has neither.
    assert sum("tools" in request for request in endpoint.requests) == 1
    formats = [request["response_format"]["type"] for request in endpoint.requests[1:]]
    assert formats == ["json_schema"] + ["json_object"] * (len(formats) - 1)
    assert not any("Before you end" in prompt for prompt in endpoint.prompts)


async def test_the_schema_of_answers_names_each_tool_with_its_arguments(
    rehearsal: Rehearsal, endpoint: OpenAIEndpoint
) -> None:
    endpoint.decide = in_json(declines_the_panel)
    await one_turn(rehearsal, assistant(endpoint, tool_calling="json", enable_reflection=False))
    schema = endpoint.requests[0]["response_format"]["json_schema"]["schema"]
    validator = Draft202012Validator(schema)
    assert validator.is_valid(json.loads(in_json(declines_the_panel)(endpoint.requests[0])["content"]))
    for call in ({"tool": "no_such_tool", "arguments": {}}, {"tool": "calendar_respond", "arguments": {}}):
        assert not validator.is_valid({"thoughts": "", "calls": [call]})


async def test_an_answer_that_was_cut_off_is_asked_for_again(rehearsal: Rehearsal, endpoint: OpenAIEndpoint) -> None:
    def cut_off_at_first(request: Json) -> Json:
        if endpoint.calls == 1:
            return {"content": '{"thoughts": "Once upon a time', "finish": "length"}
        if endpoint.calls == 2:
            assert says().within(latest(request)[-1])
        return in_json(lambda _: [] if endpoint.calls > 2 else [("email_send", GRETA)])(request)  # type: ignore[no-any-return]

    endpoint.decide = cut_off_at_first
    results, played = await one_turn(rehearsal, assistant(endpoint, tool_calling="json", enable_reflection=False))
    assert [entry.action for entry in results.action_log] == ["email.send"]
    [usage] = played.answers[0].model_usage
    assert (usage.calls, usage.output_tokens) == (3, 60)


async def one_turn(rehearsal: Rehearsal, agent: AssistantAgent) -> tuple[AssessmentResults, PlayedAgent]:
    played = PlayedAgent(agent)

    async def only_the_first(turn: int, ues: Any, now: Any) -> Any:
        if turn == 1:
            answer = await played(turn, ues, now)
            return answer.model_copy(update={"time_step": "PT12H"})
        raise AssertionError("a second turn")

    return await rehearsal.play("reschedule_day", only_the_first), played


async def test_a_turn_has_no_more_actions_than_it_may(rehearsal: Rehearsal, endpoint: OpenAIEndpoint) -> None:
    endpoint.decide = natively(lambda request: [("email_star", {"message_ids": ["em-panel-1"]})] * 5)
    results, played = await one_turn(rehearsal, assistant(endpoint, max_actions_per_turn=3))
    assert len(results.action_log) == 3
    assert played.answers[0].notes.startswith("stopped: 3 actions")  # type: ignore[union-attr]
    assert endpoint.calls == 1


async def test_a_turn_ends_when_its_tokens_are_used_up(rehearsal: Rehearsal, endpoint: OpenAIEndpoint) -> None:
    endpoint.decide = natively(lambda request: [("email_query", {})])
    agent = assistant(endpoint, tokens_per_turn=14_000, context_tokens=10_000, answer_tokens=500)
    _, played = await one_turn(rehearsal, agent)
    assert played.answers[0].notes.startswith("stopped: 14000 tokens")  # type: ignore[union-attr]
    assert 10 < endpoint.calls < 40
    # However much the tools say, no prompt outgrows the context (roughly measured, and the tools beside it).
    assert all(tokens_in(json.dumps(request["messages"])) < 7_000 for request in endpoint.requests)


async def test_a_turn_ends_when_a_model_goes_round_in_circles(
    rehearsal: Rehearsal, endpoint: OpenAIEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("purple_sdk.examples.assistant_agent.agent._MOST_ROUNDS", 3)
    endpoint.decide = natively(lambda request: [("email_query", {})])
    agent = assistant(endpoint, tokens_per_turn=14_000, context_tokens=10_000, answer_tokens=500)
    _, played = await one_turn(rehearsal, agent)
    assert played.answers[0].notes.startswith("stopped: 3 rounds")  # type: ignore[union-attr]
    assert endpoint.calls == 3


async def test_a_model_is_told_what_it_did_wrong(rehearsal: Rehearsal, endpoint: OpenAIEndpoint) -> None:
    wrong = [
        ("email_shred", {}),
        ("email_star", {"message_ids": "em-panel-1"}),
        ("email_star", {"message_ids": ["no-such-mail"]}),
    ]
    endpoint.decide = natively(lambda request: wrong if "This is turn" in latest(request)[-1] else [])
    await one_turn(rehearsal, assistant(endpoint, enable_reflection=False))
    unknown, unfit, failed = latest(endpoint.requests[-1])
    assert says("email_shred", "email_query", "email_send").within(unknown)
    assert unfit.startswith("error: message_ids is")
    assert failed.startswith("failed: ")
    assert "no-such-mail" in failed


@pytest.mark.parametrize(
    ("answer", "tools", "thoughts"),
    [
        ('{"thoughts": "t", "calls": [{"tool": "a", "arguments": {"b": 1}}]}', ["a"], "t"),
        ('Sure!\n```json\n{"calls": [{"tool": "a"}, {"tool": "c"}]}\n```', ["a", "c"], ""),
        ('I would say {"thoughts": "done", "calls": []} and that is all', [], "done"),
        ("no JSON at all", ["(none)"], ""),
        ('{"calls": ["email_send"]}', ["(none)"], ""),
        ("[1, 2]", ["(none)"], ""),
    ],
)
def test_json_is_found_in_whatever_a_model_writes(answer: str, tools: list[str], thoughts: str) -> None:
    said, wishes = read_json_answer(answer)
    assert (said, [wish.tool for wish in wishes]) == (thoughts, tools)


def test_memory_keeps_the_latest_within_its_budget() -> None:
    memory = Memory()
    for turn in range(1, 11):
        memory.add(f"Turn {turn}", ["did " + "much " * 500], "thought", most_tokens=50)
    recalled = memory.recall(150)
    assert tokens_in(recalled) <= 170
    assert says().within(recalled)
    assert "Turn 9" in recalled
    assert "Turn 10" in recalled


def test_models_are_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert provider_and_name("gpt-4o") == ("openai", "gpt-4o")
    assert provider_and_name("claude-opus-4") == ("anthropic", "claude-opus-4")
    assert provider_and_name("ollama/qwen3:4b") == ("ollama", "qwen3:4b")
    with pytest.raises(ModelNotUsableError, check=says("AGENTBEATS_PURPLE_MODEL", "mystery")):
        provider_and_name("mystery")
    with pytest.raises(ModelNotUsableError, check=says()):
        make_model(PurpleAgentConfig(model="nobody/x"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelNotUsableError, check=says("gpt-4o", why=re.compile(r"(?<=used: ).*"))):
        make_model(PurpleAgentConfig(model="gpt-4o"))
