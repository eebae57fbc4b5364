"""A model's server gets only N requests at once; waiting for a place takes nothing of a request's time."""

import asyncio
from collections.abc import Iterator

import pytest
from langchain_core.messages import HumanMessage

from activities.models.dialects import invoke
from activities.models.endpoint_queue import requests_at_once, set_requests_at_once
from activities.models.factory import LLMFactory
from tests.openai_endpoint import OpenAIEndpoint


@pytest.fixture(autouse=True)
def _defaults() -> Iterator[None]:
    set_requests_at_once(None)
    yield
    set_requests_at_once(None)


@pytest.mark.parametrize(
    ("host", "most"),
    [("127.0.0.1:8080", 1), ("localhost:11434", 1), ("[::1]:80", 1), ("api.openai.com", 4), ("10.0.0.7:8000", 4)],
)
def test_a_local_server_gets_one_request_at_a_time_and_others_four(host: str, most: int) -> None:
    assert requests_at_once(host) == most
    set_requests_at_once(9)
    assert requests_at_once(host) == 9


@pytest.mark.parametrize("most", [None, 3])
async def test_no_more_requests_are_under_way_than_the_setting_says(endpoint: OpenAIEndpoint, most: int | None) -> None:
    set_requests_at_once(most)
    endpoint.answer("hello", "hi")
    endpoint.delay = 0.05
    models = [LLMFactory.create(f"openai/model-{n}", base_url=endpoint.base_url) for n in range(3)]
    await asyncio.gather(*(invoke(model, [_hello()]) for model in models * 3))
    assert endpoint.calls == 9
    assert endpoint.most_at_once == (most or 1)


async def test_waiting_for_a_place_takes_nothing_of_a_requests_time(endpoint: OpenAIEndpoint) -> None:
    """Six requests of a quarter of a second, one after the other; each may take one second."""
    endpoint.answer("hello", "hi")
    endpoint.delay = 0.25
    model = LLMFactory.create("openai/hasty", base_url=endpoint.base_url, timeout=1.0)
    answers = await asyncio.gather(*(invoke(model, [_hello()]) for _ in range(6)))
    assert [answer.content for answer in answers] == ["hi"] * 6


async def test_a_cancelled_wait_gives_its_place_back(endpoint: OpenAIEndpoint) -> None:
    endpoint.answer("hello", "hi")
    endpoint.delay = 0.05
    model = LLMFactory.create("openai/model", base_url=endpoint.base_url)
    first, second, third = (asyncio.create_task(invoke(model, [_hello()])) for _ in range(3))
    await asyncio.sleep(0)
    second.cancel()
    assert (await first).content == (await third).content == "hi"


def _hello() -> HumanMessage:
    return HumanMessage("hello")
