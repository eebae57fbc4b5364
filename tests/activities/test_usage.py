"""Tokens and costs: what is unknown stays unknown, and nothing is taken for 0."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from pydantic import BaseModel
from pydantic_core import to_jsonable_python
from temporalio.activity import ActivityCancellationDetails
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError
from temporalio.exceptions import TimeoutError as ActivityTimeoutError
from temporalio.testing import ActivityEnvironment

from proctor.activities.attempts.failures import CALLED_OFF
from proctor.activities.models.counting import Counter
from proctor.activities.models.factory import LLMFactory, ModelAnswerError, ModelUnavailableError
from proctor.activities.models.metering import attempt_meter, find_usage
from proctor.activities.models.structured import ask
from proctor.activities.models.usage import Meter, find_endpoint
from proctor.local.doing import noting
from purple_sdk.protocol.provenance import ModelUse, added_up
from purple_sdk.settings.prices import Prices, PricesError, read_prices
from tests.openai_endpoint import OpenAIEndpoint
from tests.sentences import says

PRICES = Prices.model_validate({"models": {"openai/m": {"input": 2.0, "cached_input": 0.5, "output": 8.0}}})


class Said(BaseModel):
    says: str


def answer(**usage: object) -> LLMResult:
    message = AIMessage("yes", usage_metadata=usage or None)
    return LLMResult(generations=[[ChatGeneration(message=message)]])


def count(llm: BaseChatModel, said: LLMResult) -> None:
    """Have the model's counter count an answer."""
    assert isinstance(llm.callbacks, list)
    [counter] = llm.callbacks
    assert isinstance(counter, Counter)
    counter.on_llm_end(said)


def metered(endpoint: OpenAIEndpoint, *answers: LLMResult, name: str = "openai/m") -> list[ModelUse]:
    meter = Meter(PRICES)
    llm = meter.on(LLMFactory.create("openai/m", 0.2, base_url=endpoint.base_url), name, "3")
    for each in answers:
        count(llm, each)
    return meter.read()


async def test_answers_of_a_real_endpoint_are_counted(endpoint: OpenAIEndpoint) -> None:
    endpoint.answer("well", "yes")
    meter = Meter(PRICES)
    llm = meter.on(LLMFactory.create("openai/m", 0.2, base_url=endpoint.base_url), "openai/m", "3")
    await llm.ainvoke("Are you well?")
    await llm.bind(stop=["."]).ainvoke("All well?")
    [use] = meter.read()
    assert (use.calls, use.input_tokens, use.output_tokens) == (2, 2, 2)
    assert (use.endpoint, use.temperature, use.prompt_version) == (endpoint.base_url.split("/")[2], 0.2, "3")


async def test_an_answer_that_is_cut_off_is_counted_too(endpoint: OpenAIEndpoint) -> None:
    """OpenAI's client raises on it; the provider bills it all the same."""
    endpoint.answer("long", '{"says": "this goes on and')
    endpoint.finish = "length"
    meter = Meter(PRICES)
    heard: list[int] = []
    meter.on_answer = lambda: heard.append(meter.read()[0].calls)
    llm = meter.on(LLMFactory.create("openai/m", 0.2, base_url=endpoint.base_url), "openai/m", "3")
    with pytest.raises(ModelAnswerError, check=says()):
        await ask(llm, "You answer.", "Something long.", Said)
    [use] = meter.read()
    assert (use.calls, use.input_tokens, use.output_tokens) == (2, 2, 2)
    assert heard == [1, 2]


async def test_an_attempt_goes_on_counting_where_the_one_before_it_failed() -> None:
    surroundings = ActivityEnvironment()
    noted: list[Any] = []
    surroundings.on_heartbeat = lambda *notes: noted.append(notes[-1])

    async def attempt(earlier: list[Any]) -> list[ModelUse]:
        surroundings.info = replace(surroundings.info, heartbeat_details=earlier)
        return await surroundings.run(noting(ask_once))

    async def ask_once() -> list[ModelUse]:
        with attempt_meter(PRICES) as meter:
            llm = meter.on(LLMFactory.create("openai/m", 0.2, base_url="http://127.0.0.1:9/v1"), "openai/m", "3")
            count(llm, answer(input_tokens=5, output_tokens=5, total_tokens=10))
            return meter.read()

    await attempt([])
    [use] = await attempt(noted[-1:])
    assert (use.calls, use.input_tokens) == (2, 10)


@pytest.mark.parametrize("has_asked", [True, False])
async def test_a_model_that_fails_leaves_what_it_was_asked_with_its_failure(has_asked: bool) -> None:
    async def ask_and_fail() -> None:
        with attempt_meter(PRICES) as meter:
            if has_asked:
                llm = meter.on(LLMFactory.create("openai/m", 0.2, base_url="http://127.0.0.1:9/v1"), "openai/m", "3")
                count(llm, answer(input_tokens=5, output_tokens=5, total_tokens=10))
            raise ModelUnavailableError("The model is away.")

    with pytest.raises(ApplicationError if has_asked else ModelUnavailableError, check=says()) as failed:
        await ActivityEnvironment().run(noting(ask_and_fail))
    if isinstance(failed.value, ApplicationError):
        assert (failed.value.type, failed.value.non_retryable) == ("ModelUnavailableError", False)
        assert [use.calls for use in find_usage(activity_error(failed.value))] == [1]


@pytest.mark.parametrize("is_requested", [True, False])
@pytest.mark.parametrize("has_asked", [True, False])
async def test_only_a_requested_cancellation_becomes_a_failure_with_usage(has_asked: bool, is_requested: bool) -> None:
    """A worker that is stopped leaves the step to the next one, which must not be told that it was cancelled."""

    async def ask_and_wait() -> None:
        with attempt_meter(PRICES) as meter:
            if has_asked:
                llm = meter.on(LLMFactory.create("openai/m", 0.2, base_url="http://127.0.0.1:9/v1"), "openai/m", "3")
                count(llm, answer(input_tokens=5, output_tokens=5, total_tokens=10))
            environment.cancel(details)
            await asyncio.sleep(60)

    environment = ActivityEnvironment()
    details = ActivityCancellationDetails(cancel_requested=is_requested, worker_shutdown=not is_requested)
    expected = ApplicationError if has_asked and is_requested else asyncio.CancelledError
    with pytest.raises(expected) as ended:
        await environment.run(noting(ask_and_wait))
    if isinstance(ended.value, ApplicationError):
        assert (ended.value.type, ended.value.non_retryable) == (CALLED_OFF, True)
        assert [use.calls for use in find_usage(activity_error(ended.value))] == [1]


def activity_error(cause: BaseException) -> ActivityError:
    error = ActivityError(
        "It failed.",
        scheduled_event_id=1,
        started_event_id=2,
        identity="",
        activity_type="",
        activity_id="",
        retry_state=None,
    )
    error.__cause__ = cause
    return error


def test_what_an_attempt_asked_that_ended_without_a_failure_is_in_its_last_note() -> None:
    uses = [[ModelUse(model="openai/m", endpoint="e", calls=calls)] for calls in (1, 2)]
    notes = [to_jsonable_python(use) for use in uses]
    timed_out = ActivityTimeoutError("It is silent.", type=None, last_heartbeat_details=notes)
    assert find_usage(activity_error(timed_out)) == uses[-1]
    assert find_usage(activity_error(ActivityTimeoutError("", type=None, last_heartbeat_details=[]))) == []
    assert find_usage(activity_error(ApplicationError("It failed.", "a detail", {"another": 1}))) == []
    assert find_usage(activity_error(CancelledError("It was cancelled."))) == []


def test_cached_tokens_have_a_price_of_their_own(endpoint: OpenAIEndpoint) -> None:
    told = answer(
        input_tokens=1_000_000,
        output_tokens=100_000,
        total_tokens=1_100_000,
        input_token_details={"cache_read": 400_000},
    )
    [use] = metered(endpoint, told, told)
    assert (use.input_tokens, use.cached_tokens, use.output_tokens) == (2_000_000, 800_000, 200_000)
    assert use.cost == pytest.approx(2 * (1.2 + 0.2 + 0.8))
    assert use.currency == "USD"


def test_one_answer_without_its_tokens_makes_the_sum_unknown(endpoint: OpenAIEndpoint) -> None:
    [use] = metered(endpoint, answer(input_tokens=5, output_tokens=5, total_tokens=10), answer())
    assert (use.calls, use.input_tokens, use.output_tokens, use.cost) == (2, None, None, None)


@pytest.mark.parametrize("count", [-5, 10**400])
def test_counts_that_cannot_be_are_unknown(endpoint: OpenAIEndpoint, count: int) -> None:
    [use] = metered(endpoint, answer(input_tokens=5, output_tokens=count, total_tokens=10))
    assert (use.calls, use.input_tokens, use.output_tokens) == (1, None, None)


def test_a_model_without_a_price_has_no_cost(endpoint: OpenAIEndpoint) -> None:
    [use] = metered(endpoint, answer(input_tokens=5, output_tokens=5, total_tokens=10), name="openai/other")
    assert (use.input_tokens, use.cost, use.currency) == (5, None, None)


def test_a_model_that_was_not_asked_is_not_told(endpoint: OpenAIEndpoint) -> None:
    assert metered(endpoint) == []


def test_uses_of_one_model_add_up_and_those_of_two_prompts_do_not() -> None:
    one = ModelUse(model="m", prompt_version="1", calls=1, input_tokens=3, output_tokens=1, cached_tokens=0, cost=0.5)
    other = one.model_copy(update={"prompt_version": "2"})
    assert [(use.prompt_version, use.calls, use.cost) for use in added_up([one, other, one])] == [
        ("1", 2, 1.0),
        ("2", 1, 0.5),
    ]


def test_an_endpoint_is_told_without_path_or_password() -> None:
    llm = LLMFactory.create("openai/m", base_url="https://me:secret@models.example:8443/key/v1")
    assert find_endpoint(llm) == "models.example:8443"


def test_prices_are_read_from_toml_and_json(tmp_path: Path) -> None:
    toml, as_json = tmp_path / "prices.toml", tmp_path / "prices.json"
    toml.write_text('currency = "EUR"\n[models."gpt-4o"]\ninput = 2.5\noutput = 10\n')
    as_json.write_text(json.dumps({"currency": "EUR", "models": {"gpt-4o": {"input": 2.5, "output": 10}}}))
    assert read_prices(str(toml)) == read_prices(str(as_json))
    assert read_prices(None).models == {}


@pytest.mark.parametrize(
    "content",
    [
        "[models.m]\ninput = -1\noutput = 1\n",
        "[models.m]\ninput = 1\noutputs = 1\n",
        "not toml",
        None,
    ],
)
def test_a_bad_table_is_a_sentence(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "prices.toml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(PricesError, check=says()):
        read_prices(str(file))
