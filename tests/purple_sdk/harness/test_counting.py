"""What models' answers say, in four protocols; transcripts of turns; folders of assessments."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from purple_sdk.harness.allowed import find_route
from purple_sdk.harness.clis import HARNESSES
from purple_sdk.harness.counting import ModelAnswer, Question, ToolCall, read_answer, read_question
from purple_sdk.harness.declared import HarnessError, Launch, Printed
from purple_sdk.harness.folders import Folders
from purple_sdk.harness.record import AskedModel, Record, UsedTool
from purple_sdk.harness.trajectory import MOST_BYTES, trajectory_of
from purple_sdk.harness.upstream import find_upstream
from tests.scripted_model import CACHED, INPUT, OUTPUT, Call, answer_in
from tests.sentences import says

PATHS = {
    "anthropic": "/v1/messages",
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
    "gemini": "/v1beta/models/scripted-1:streamGenerateContent",
}
NOW = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("wire", PATHS)
def test_calls_texts_and_tokens_are_read_in_each_protocol(wire: Any, streamed: bool) -> None:
    path = PATHS[wire]
    route = find_route(wire, "POST", path)
    assert route is not None
    assert route.wire == wire
    question = read_question(wire, {"model": "scripted-1"}, path, 24)
    body = answer_in(path, Call("email_send", None, {"subject": "Hi"}), streamed).encode()
    asked = read_answer(question, body)
    assert [(call.name, call.arguments) for call in asked.calls] == [("email_send", {"subject": "Hi"})]
    assert (asked.input_tokens, asked.cached_tokens, asked.output_tokens) == (INPUT, CACHED, OUTPUT)
    said = read_answer(question, answer_in(path, "Done.", streamed).encode())
    assert (said.text, said.calls, said.model, said.is_estimated) == ("Done.", (), "scripted-1", False)


@pytest.mark.parametrize(
    ("wire", "request_", "longest"),
    [
        ("chat", {"max_tokens": 900, "max_completion_tokens": 5, "generationConfig": {"max_tokens": 1}}, 900),
        ("chat", {"max_tokens": 9, "n": 100, "generation_config": {"n": 1}, "max_output_tokens": 99_999}, 900),
        ("responses", {"max_tokens": 1}, 128_000),
        ("responses", {"max_output_tokens": 900, "n": 7}, 900),
        ("anthropic", {"max_tokens": 900, "max_output_tokens": 1}, 900),
        ("gemini", {"maxOutputTokens": 1, "generationConfig": {"maxOutputTokens": 9, "candidateCount": 100}}, 900),
        ("gemini", {"generationConfig": {"max_output_tokens": 1}, "generation_config": {"maxOutputTokens": 900}}, 900),
        ("gemini", {"generationConfig": {"maxOutputTokens": 1}, "generation_config": {"topK": 1}}, 128_000),
        ("gemini", {}, 128_000),
    ],
)
def test_an_answer_may_be_as_long_as_the_fields_of_its_own_protocol_say(
    wire: Any, request_: dict[str, Any], longest: int
) -> None:
    assert read_question(wire, request_, PATHS[wire], 24).longest == longest


def test_tokens_are_estimated_where_the_endpoint_names_none() -> None:
    body = json.dumps({"choices": [{"message": {"content": "x" * 400}}]}).encode()
    answer = read_answer(Question("chat", "m", size=40, copies=2), body)
    assert answer.is_estimated
    assert (answer.input_tokens, answer.output_tokens) == (10, 200)


@pytest.mark.parametrize(
    "body",
    [
        b'{"usage": [1], "choices": 5, "note": "' + b"x" * 362 + b'"}',
        b'{"usage": {"prompt_tokens":  -7, "completion_tokens": 1e999}' + b" " * 339 + b"}",
        b"<html>" + b"x" * 394,
    ],
)
def test_an_answer_that_is_none_of_the_protocols_counts_by_its_length(body: bytes) -> None:
    answer = read_answer(Question("chat", "m", size=40), body)
    assert (answer.input_tokens, answer.output_tokens, answer.is_estimated) == (10, 100, True)


TOO_DEEP = '{"a":' * 100_000


@pytest.mark.parametrize("name", HARNESSES)
def test_output_that_is_too_deep_for_the_parser_is_the_cli_agents_failure(name: str, tmp_path: Path) -> None:
    (tmp_path / "trajectory.json").write_text(TOO_DEEP)
    launch = Launch("program", "m", "prompt", None, "session", tmp_path, tmp_path, "http://relay")
    assert HARNESSES[name].read(Printed(TOO_DEEP, "", 1), launch).problem


def test_arguments_that_are_too_deep_for_the_parser_are_kept_as_text() -> None:
    call = {"index": 0, "id": "1", "function": {"name": "x", "arguments": TOO_DEEP}}
    body = json.dumps({"choices": [{"message": {"tool_calls": [call]}}]}).encode()
    (read,) = read_answer(Question("chat", "m", size=40), body).calls
    assert read.arguments == TOO_DEEP


def test_a_note_that_is_too_deep_for_the_parser_names_no_session(tmp_path: Path) -> None:
    folders = Folders(tmp_path, "one")
    folders.go_to(1)
    (folders.home.parent / "state.json").write_text(TOO_DEEP)
    assert folders.session is None


NESTED = "[" * 900 + "]" * 900
DEEP: dict[str, Any] = {
    "chat": {"choices": [{"message": {"tool_calls": [{"function": {"name": "x", "arguments": "[" * 1200}}]}}]},
    "anthropic": {"type": "message", "content": [{"type": "tool_use", "name": "x", "input": json.loads(NESTED)}]},
    "responses": {"status": "completed", "output": [{"type": "function_call", "arguments": NESTED}]},
}


@pytest.mark.parametrize("wire", DEEP)
def test_arguments_that_are_nested_too_deeply_are_kept_as_text(wire: Any) -> None:
    usage = {"prompt_tokens": 50, "completion_tokens": 70, "input_tokens": 50, "output_tokens": 70}
    answer = read_answer(Question(wire, "m", size=40), json.dumps({**DEEP[wire], "usage": usage}).encode())
    assert (answer.output_tokens, [type(call.arguments) for call in answer.calls]) == (70, [str])


@pytest.mark.parametrize(
    ("wire", "usages", "counted"),
    [
        ("chat", [{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 900}], (10, 890)),
        ("responses", [{"input_tokens": 10, "output_tokens": 5, "total_tokens": 900}], (10, 890)),
        ("gemini", [{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 900}], (10, 890)),
        ("anthropic", [{"input_tokens": 1, "iterations": [{"input_tokens": 50}, {"output_tokens": 70}]}], (50, 70)),
        ("chat", [{"prompt_tokens": 10, "completion_tokens": 90}, {"completion_tokens": 1}], (10, 90)),
        ("gemini", [{"promptTokenCount": 10, "candidatesTokenCount": 90}, {"candidatesTokenCount": 1}], (10, 90)),
        ("chat", [{"prompt_tokens": "10", "completion_tokens": "90"}], (10, 90)),
        ("chat", [{"prompt_tokens": 10, "completion_tokens": 10**400}], (10, 10**12)),
    ],
)  # fmt: skip
def test_no_tokens_are_left_out_that_the_endpoint_names(wire: Any, usages: list[Any], counted: tuple[int, int]) -> None:
    name = "usageMetadata" if wire == "gemini" else "usage"
    events = [{name: usage, "type": "message", "status": "completed", "output": []} for usage in usages]
    body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    answer = read_answer(Question(wire, "m", size=40), body)
    assert (answer.input_tokens, answer.output_tokens) == counted


def test_writing_to_a_cache_is_dearer() -> None:
    usage = {"cache_creation_input_tokens": 1400, "cache_creation": {"ephemeral_1h_input_tokens": 1000}}
    body = json.dumps({"type": "message", "usage": usage}).encode()
    assert read_answer(Question("anthropic", "m", size=40), body).surcharge == 1100


def test_an_answer_that_is_cut_off_counts_against_limits_as_the_longest() -> None:
    body = b'data: {"choices": [{"delta": {"content": "Hi there"}}]}\n\n'
    answer = read_answer(Question("chat", "m", size=40, longest=90_000), body, has_ended=False)
    assert (answer.output_tokens, answer.counted_output) == (2, 90_000)


def test_an_answer_that_cannot_be_read_counts_against_limits_as_the_longest() -> None:
    answer = read_answer(Question("gemini", "m", size=40, longest=90_000), b'{"a": ' + b"[" * 100_000)
    assert answer.counted_output == 90_000


def test_a_transcript_has_calls_with_their_results_and_stays_small() -> None:
    call = ToolCall("c1", "mcp__proctor__chat_send", {"content": "hi"})
    asked = AskedModel(200, ModelAnswer("m", "", "Say hi.", (call,), 10, 5, 1), NOW)
    used = UsedTool("chat_send", "chat_send", {"content": "hi"}, "sent", False, NOW)
    record = Record([asked, used, AskedModel(500, None, NOW)])
    about = {"agent": "fake", "version": "1.0", "model": "m", "session": "s", "prompt": "Do it."}
    made = trajectory_of(record, **about)
    assert [step["source"] for step in made["steps"]] == ["user", "agent", "system"]
    assert made["steps"][1]["observation"] == {"results": [{"source_call_id": "c1", "content": "sent"}]}
    assert made["steps"][1]["reasoning_content"] == "Say hi."
    assert made["final_metrics"]["total_prompt_tokens"] == 10
    long = Record([AskedModel(200, ModelAnswer("m", "word " * 2000), NOW)] * 2000)
    assert len(json.dumps(trajectory_of(long, **about))) < MOST_BYTES + 10_000


def test_a_turn_that_was_begun_before_is_set_back(tmp_path: Path) -> None:
    folders = Folders(tmp_path, "one")
    for turn in (1, 2, 3):
        folders.go_to(turn)
        (folders.home / "diary").open("a").write(f"{turn} ")
        folders.complete(turn, f"session-{turn}")
    folders.go_to(2)
    assert ((folders.home / "diary").read_text(), folders.session) == ("1 ", "session-1")
    folders.go_to(3)  # after a reset to turn 2 that wasn't played to its end: nothing is known before turn 3
    assert (folders.session, list(folders.home.iterdir())) == (None, [])


def test_a_gap_begins_with_an_empty_home(tmp_path: Path) -> None:
    folders = Folders(tmp_path, "one")
    folders.go_to(1)
    folders.complete(1, "session")
    folders.go_to(4)
    assert folders.session is None


@pytest.mark.parametrize(
    ("wire", "base", "path", "url"),
    [
        ("chat", "http://m:1", "/v1/chat/completions", "http://m:1/v1/chat/completions"),
        ("chat", "http://m:1/v1beta/openai/", "/v1/chat/completions", "http://m:1/v1beta/openai/chat/completions"),
        ("responses", None, "/v1/responses", "https://api.openai.com/v1/responses"),
        ("anthropic", "http://m:1/v1", "/v1/messages", "http://m:1/v1/messages"),
        ("gemini", "http://m:1/v1beta", "/v1beta/models/x:generateContent", "http://m:1/v1beta/models/x:generateContent"),
    ],
)  # fmt: skip
def test_a_request_finds_its_endpoint(wire: Any, base: str | None, path: str, url: str) -> None:
    assert find_upstream(wire, base, {"OPENAI_API_KEY": "k"}).url(path) == url


@pytest.mark.parametrize(
    ("wire", "base"),
    [
        ("anthropic", None),
        ("gemini", None),
        ("chat", "localhost:8080"),
    ],
)
def test_a_missing_key_or_a_wrong_address_is_named(wire: Any, base: str | None) -> None:
    with pytest.raises(HarnessError, check=says()):
        find_upstream(wire, base, {})
