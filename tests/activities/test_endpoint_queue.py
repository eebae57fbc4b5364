"""A model's server gets only N requests at once; waiting for a place takes nothing of a request's time."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from proctor.activities.models import endpoint_queue
from proctor.activities.models.dialects import invoke
from proctor.activities.models.endpoint_queue import requests_at_once, set_requests_at_once
from proctor.activities.models.factory import LLMFactory
from tests.openai_endpoint import OpenAIEndpoint
from tests.waiting import PATIENCE, eventually


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


async def test_waiting_for_a_place_takes_nothing_of_a_requests_time(
    endpoint: OpenAIEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request's limit begins when it has a place: while the first one is under way, no other limit has begun."""
    begun, may_answer, seconds = list[Any](), threading.Event(), endpoint_queue._seconds

    def noted(model: Any) -> float | None:
        begun.append(model)
        return seconds(model)

    def answer(_request: Any) -> dict[str, Any]:
        may_answer.wait(PATIENCE)
        return {"content": "hi"}

    monkeypatch.setattr(endpoint_queue, "_seconds", noted)
    endpoint.decide = answer
    model = LLMFactory.create("openai/patient", base_url=endpoint.base_url, timeout=PATIENCE)
    asking = asyncio.gather(*(invoke(model, [_hello()]) for _ in range(6)))
    await eventually(lambda: endpoint.calls == 1)
    assert begun == [model]
    may_answer.set()
    assert [answer.content for answer in await asking] == ["hi"] * 6
    assert len(begun) == 6


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
