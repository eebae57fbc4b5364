"""A model that is away is waited for once by all steps of a run, also where each request to it takes long."""

import asyncio
from collections.abc import Iterator

import pytest
from temporalio.exceptions import ApplicationError

from proctor.activities.models import waits
from proctor.activities.models.factory import LLMFactory, ModelUnavailableError
from proctor.activities.models.metering import attempt_meter
from proctor.activities.models.structured import ask
from proctor.local.doing import noting
from purple_sdk.settings.prices import Prices
from tests.activities.attempts import surroundings_of_attempt
from tests.activities.test_usage import Said
from tests.openai_endpoint import OpenAIEndpoint

CRITERIA = 5


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIEndpoint]:
    monkeypatch.setattr(waits, "LONGEST_WAIT", 0.0)
    with OpenAIEndpoint() as endpoint:
        endpoint.answer("", {"says": "yes"})
        yield endpoint


async def try_until_it_ends(endpoint: OpenAIEndpoint, run: str, timeout: float = 30.0) -> str:
    """What comes of a step that is tried as often as Temporal would; "failed" if it failed for good."""

    async def work() -> str:
        with attempt_meter(Prices()) as meter:
            llm = meter.on(LLMFactory.create("openai/m", base_url=endpoint.base_url, timeout=timeout), "openai/m", None)
            return (await ask(llm, "You answer.", "What do you say?", Said)).says

    for _ in range(13):
        surroundings = surroundings_of_attempt(workflow_run_id=run)
        try:
            return await surroundings.run(noting(work))
        except ModelUnavailableError:
            continue
        except ApplicationError as problem:
            return "failed" if problem.type == "ModelUnavailableError" and problem.non_retryable else str(problem)
    return "out of attempts"


async def of_all_criteria(endpoint: OpenAIEndpoint, run: str, timeout: float = 30.0) -> list[str]:
    return await asyncio.gather(*(try_until_it_ends(endpoint, run, timeout) for _ in range(CRITERIA)))


async def test_all_steps_of_a_run_share_one_wait(endpoint: OpenAIEndpoint) -> None:
    endpoint.statuses = [503] * 100
    assert await of_all_criteria(endpoint, "one run") == ["failed"] * CRITERIA
    assert endpoint.calls == waits.FEWEST_FAILURES
    assert await of_all_criteria(endpoint, "another run") == ["failed"] * CRITERIA
    assert endpoint.calls == 2 * waits.FEWEST_FAILURES


async def test_the_time_limit_of_a_request_is_waited_for_a_few_times_in_all(endpoint: OpenAIEndpoint) -> None:
    endpoint.delay = 5.0  # longer than the request may take
    assert await of_all_criteria(endpoint, "a run that hangs", timeout=0.1) == ["failed"] * CRITERIA
    assert endpoint.calls <= waits.FEWEST_FAILURES


async def test_a_model_that_comes_back_in_time_is_asked_by_all(endpoint: OpenAIEndpoint) -> None:
    endpoint.statuses = [503] * (waits.FEWEST_FAILURES - 1)
    assert await of_all_criteria(endpoint, "a run") == ["yes"] * CRITERIA
    endpoint.statuses = [503] * (waits.FEWEST_FAILURES - 1)
    assert await of_all_criteria(endpoint, "a run") == ["yes"] * CRITERIA


async def test_a_model_is_not_given_up_before_the_time(
    endpoint: OpenAIEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waits, "LONGEST_WAIT", 1_000.0)
    endpoint.statuses = [503] * 100
    assert await try_until_it_ends(endpoint, "a patient run") == "out of attempts"
    assert endpoint.calls == 13
