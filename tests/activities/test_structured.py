"""Structured answers over real HTTP: three ways to ask, one re-ask, and errors by whether trying again can help."""

import pytest
from langchain_core.language_models.chat_models import BaseChatModel
from pydantic import BaseModel

from proctor.activities.models.factory import (
    MAX_TOKENS,
    LLMFactory,
    ModelAnswerError,
    ModelSettingsError,
    ModelUnavailableError,
)
from proctor.activities.models.structured import ask, read_answer
from tests.openai_endpoint import OpenAIEndpoint
from tests.sentences import says
from tests.work import some_of


class Colour(BaseModel):
    name: str
    strength: int


def _not_too_strong(colour: Colour) -> str | None:
    return None if colour.strength <= 10 else f"strength is {colour.strength}: it must be at most 10"


async def _ask(llm: BaseChatModel) -> Colour:
    return await ask(llm, "You are a painter.", "Which colour?", Colour, _not_too_strong)


async def test_a_server_that_knows_json_schema_is_asked_with_it(endpoint: OpenAIEndpoint, llm: BaseChatModel) -> None:
    endpoint.answer("which colour", {"name": "red", "strength": 3})
    assert await _ask(llm) == Colour(name="red", strength=3)
    assert [request["response_format"]["type"] for request in endpoint.requests] == ["json_schema"]
    assert endpoint.requests[0]["temperature"] == 0.0


@pytest.mark.parametrize(
    ("refused", "formats"),
    [
        ({"json_schema"}, ["json_schema", "json_object", "json_object"]),
        ({"json_schema", "json_object"}, ["json_schema", "json_object", None, None]),
    ],
)
async def test_a_refused_format_is_replaced_by_the_next_and_not_tried_again(
    endpoint: OpenAIEndpoint, llm: BaseChatModel, refused: set[str], formats: list[str | None]
) -> None:
    endpoint.refused_formats = refused
    endpoint.answer("which colour", 'Let me see.\n```json\n{"name": "red", "strength": 3}\n```')
    assert (await _ask(llm)).name == "red"
    assert (await _ask(llm)).name == "red"
    assert [(request.get("response_format") or {}).get("type") for request in endpoint.requests] == formats
    assert '"strength"' in endpoint.prompts[-1]  # the schema stands in the prompt where the server doesn't enforce it


async def test_which_format_works_is_remembered_for_each_model_and_address(
    endpoint: OpenAIEndpoint, llm: BaseChatModel
) -> None:
    endpoint.refused_formats = {"json_schema"}
    endpoint.answer("which colour", {"name": "red", "strength": 3})
    await _ask(llm)
    other = LLMFactory.create("openai/another-test-model", base_url=endpoint.base_url)
    await _ask(other)
    assert [request["response_format"]["type"] for request in endpoint.requests] == ["json_schema", "json_object"] * 2


@pytest.mark.parametrize("bad", ["no idea", '{"name": "red"}', '{"name": "red", "strength": 11}', "{", ""])
async def test_a_bad_answer_is_asked_for_again_with_what_was_wrong(
    endpoint: OpenAIEndpoint, llm: BaseChatModel, bad: str
) -> None:
    endpoint.answer("which colour", bad, {"name": "red", "strength": 3})
    assert (await _ask(llm)).strength == 3
    assert endpoint.calls == 2
    assert says().within(endpoint.prompts[1])


async def test_an_answer_without_end_is_not_looked_at(endpoint: OpenAIEndpoint, llm: BaseChatModel) -> None:
    endpoint.answer("which colour", '{"name": "red", "strength": 3}' + "." * 200_000)
    with pytest.raises(ModelAnswerError, check=says("200,030", "200,000")):
        await _ask(llm)


async def test_two_bad_answers_are_an_error_that_says_what_was_wrong(
    endpoint: OpenAIEndpoint, llm: BaseChatModel
) -> None:
    endpoint.answer("which colour", {"name": "red", "strength": 11})
    with pytest.raises(ModelAnswerError, check=says("11", "10")):
        await _ask(llm)
    assert endpoint.calls == 2


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
async def test_failures_that_pass_are_told_as_such_after_a_single_call(
    endpoint: OpenAIEndpoint, llm: BaseChatModel, status: int
) -> None:
    endpoint.statuses = [status]
    with pytest.raises(ModelUnavailableError, check=says()):
        await _ask(llm)
    assert endpoint.calls == 1


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_refusals_for_good_are_told_as_such(endpoint: OpenAIEndpoint, llm: BaseChatModel, status: int) -> None:
    endpoint.statuses = [status]
    with pytest.raises(ModelSettingsError, match=f"HTTP {status}"):
        await _ask(llm)
    assert endpoint.calls == 1


async def test_a_request_that_is_refused_in_every_format_is_refused_for_good(
    endpoint: OpenAIEndpoint, llm: BaseChatModel
) -> None:
    endpoint.statuses = [400] * 6
    with pytest.raises(ModelSettingsError, match="HTTP 400"):
        await _ask(llm)


@pytest.mark.parametrize(
    "body",
    some_of(
        [
            b"<html><body>502 Bad Gateway</body></html>",
            b"",
            b'{"id": "chatcmpl-1", "object": "chat.completion", "choices": [{"index": 0, "mess',
            b"{}",
            b'{"choices": null}',
            b'{"choices": []}',
            b"null",
            b"[]",
        ],
        4,
    ),
)
@pytest.mark.parametrize("refused", [set[str](), {"json_schema", "json_object"}])
async def test_what_is_not_a_models_answer_is_an_outage(
    endpoint: OpenAIEndpoint, llm: BaseChatModel, body: bytes, refused: set[str]
) -> None:
    """As a proxy sends it while the server behind it restarts: another attempt gets an answer."""
    endpoint.refused_formats = refused
    endpoint.answer("which colour", {"name": "red", "strength": 3})
    await _ask(llm)  # finds the format that the server takes
    calls, endpoint.bodies = endpoint.calls, [body]
    with pytest.raises(ModelUnavailableError, check=says()):
        await _ask(llm)
    assert endpoint.calls == calls + 1
    assert (await _ask(llm)).name == "red"


FIELDS = ["max_completion_tokens", "seed", "list content"]


@pytest.mark.parametrize("names_refused", [True, False])
@pytest.mark.parametrize("refused", [*FIELDS, " ".join(FIELDS)])
async def test_a_refused_field_is_left_out_and_not_sent_again(
    endpoint: OpenAIEndpoint, refused: str, names_refused: bool
) -> None:
    endpoint.refused = {name for name in FIELDS if name in refused}
    endpoint.names_refused = names_refused
    endpoint.answer("the evidence.*which colour", {"name": "red", "strength": 3})
    llm = LLMFactory.create(f"openai/without {refused} {names_refused}", seed=7, base_url=endpoint.base_url)
    for _ in range(2):
        answer = await ask(llm, "You are a painter.", "Which colour?", Colour, context="The evidence.")
        assert answer.name == "red"
    first, *tried, last = endpoint.requests
    assert (first["max_completion_tokens"], first["seed"]) == (MAX_TOKENS, 7)
    assert last == tried[-1]  # what the server refuses is remembered
    assert len(tried) <= len(endpoint.refused)
    assert last["response_format"]["type"] == "json_schema"
    assert last.get("max_tokens", last.get("max_completion_tokens")) == MAX_TOKENS
    if names_refused:
        assert ("max_completion_tokens" in last) == ("max_completion_tokens" not in endpoint.refused)
        assert ("seed" in last) == ("seed" not in endpoint.refused)


async def test_a_refused_temperature_is_left_out(endpoint: OpenAIEndpoint) -> None:
    endpoint.refused = {"temperature"}
    endpoint.answer("which colour", {"name": "red", "strength": 3})
    await _ask(LLMFactory.create("openai/without temperature", temperature=0.0, base_url=endpoint.base_url))
    assert ["temperature" in request for request in endpoint.requests] == [True, False]


async def test_a_slow_server_is_a_timeout(endpoint: OpenAIEndpoint) -> None:
    endpoint.delay = 20.0
    endpoint.answer("which colour", {"name": "red", "strength": 3})
    hasty = LLMFactory.create("openai/hasty", base_url=endpoint.base_url, timeout=0.2)
    with pytest.raises(ModelUnavailableError):
        await _ask(hasty)


async def test_nobody_listening_is_worth_another_try() -> None:
    with pytest.raises(ModelUnavailableError):
        await _ask(LLMFactory.create("openai/nobody", base_url="http://127.0.0.1:9/v1"))


@pytest.mark.parametrize(
    "text",
    [
        'I thought about it. {"name": "blue", "strength": 2}',
        '<think>{"name": "red", "strength": 1}</think>{"name": "blue", "strength": 2}',
        '{"name": "blue", "strength": 2} {"other": 1}',
    ],
)
def test_the_one_object_that_fits_is_the_answer(text: str) -> None:
    assert read_answer(text, Colour)[0] == Colour(name="blue", strength=2)


def test_two_objects_that_fit_are_no_answer() -> None:
    said = 'The mail said {"name": "red", "strength": 1}. I say: {"name": "blue", "strength": 2}'
    found, problem = read_answer(said, Colour)
    assert found is None
    assert problem == says()


def test_an_answer_of_braces_is_given_up() -> None:
    """Each brace at which no object begins costs a pass over the answer."""
    assert read_answer("{ " * 99 + '{"name": "blue", "strength": 2}', Colour)[0] == Colour(name="blue", strength=2)
    assert read_answer("{ " * 101 + '{"name": "blue", "strength": 2}', Colour)[0] is None


async def test_a_context_comes_before_its_question(endpoint: OpenAIEndpoint, llm: BaseChatModel) -> None:
    endpoint.answer("which colour", {"name": "red", "strength": 3})
    await ask(llm, "You know colours.", "Which colour?", Colour, context="A long story.")
    assert endpoint.prompts[0].index("A long story.") < endpoint.prompts[0].index("Which colour?")
    assert endpoint.requests[0]["max_completion_tokens"] == MAX_TOKENS


async def test_half_a_surrogate_pair_in_an_answer_is_replaced(endpoint: OpenAIEndpoint, llm: BaseChatModel) -> None:
    """It could be sent to no model again, and to no simulator."""
    assert read_answer('{"name": "half \\ud83d", "strength": 2}', Colour)[0] == Colour(name="half ?", strength=2)
    endpoint.answer("which colour", "half \ud83d, and no JSON")
    with pytest.raises(ModelAnswerError, check=says()):
        await _ask(llm)
