"""What goes wrong is counted by what it is: failed attempts, fences, the store, a model's calls."""

import errno
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from prometheus_client import REGISTRY
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from proctor.activities.attempts import failures
from proctor.activities.attempts.around import Around
from proctor.activities.attempts.metrics import observing
from proctor.activities.models.counting import Counter
from proctor.observing.logs import what_it_is_about
from proctor.storage.folder import Folder, StoreUnavailableError
from proctor.ues import fences
from proctor.ues.problems import Overtaken
from purple_sdk.protocol.provenance import ModelUse
from purple_sdk.settings.prices import Price, Prices


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


class Work(ActivityInboundInterceptor):
    """What stands behind the interceptor: it fails, or says what log lines are about meanwhile."""

    def __init__(self, problem: Exception | None) -> None:
        self._problem = problem

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002
        if self._problem:
            raise self._problem
        return dict(what_it_is_about())


async def attempt(problem: Exception | None = None) -> Any:
    environment = ActivityEnvironment()
    given = ExecuteActivityInput(fn=attempt, args=[], executor=None, headers={})
    return await environment.run(Around(observing).intercept_activity(Work(problem)).execute_activity, given)


@pytest.mark.parametrize(
    ("problem", "cause"),
    [
        (failures.PARTICIPANT_UNREACHABLE.passing("Nobody answers."), "ParticipantUnreachable"),
        (ApplicationError("odd"), "Failure"),
        (KeyError("a"), "KeyError"),
    ],
)
async def test_a_failed_attempt_is_counted_by_its_cause(problem: Exception, cause: str) -> None:
    before = counted("proctor_attempts_failed_total", activity="unknown", cause=cause)
    with pytest.raises(type(problem)):
        await attempt(problem)
    assert counted("proctor_attempts_failed_total", activity="unknown", cause=cause) == before + 1


async def test_an_overtaken_attempt_and_a_refused_request_are_counted() -> None:
    of_workers, of_simulators = "proctor_fences_refused_total", "proctor_simulator_fences_refused_total"
    before = counted(of_workers), counted(of_simulators)
    with pytest.raises(ApplicationError):
        await attempt(failures.OVERTAKEN.passing("Another attempt has taken over."))
    with pytest.raises(Overtaken):
        fences.refuse_lower(1, held=2)
    fences.refuse_lower(2, held=2)
    assert (counted(of_workers), counted(of_simulators)) == (before[0] + 1, before[1] + 1)


async def test_lines_of_an_activity_say_its_task_and_attempt() -> None:
    said = await attempt()
    assert said == {"task": "test", "step": "unknown", "attempt": 1}
    assert not what_it_is_about()


async def test_the_store_is_timed_and_its_failures_counted(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path), "store")
    times, failed = "proctor_store_seconds_count", "proctor_store_failures_total"
    before = counted(times, operation="write"), counted(failed, operation="write")
    await folder.within_time(lambda: folder.write("a/b", b"c"), "written")

    def full() -> None:
        raise folder.unavailable(OSError(errno.ENOSPC, "No space left on device"), "written")

    with pytest.raises(StoreUnavailableError):
        await folder.within_time(full, "written")
    assert (counted(times, operation="write"), counted(failed, operation="write")) == (before[0] + 2, before[1] + 1)


def test_a_models_calls_tokens_and_cost_are_counted() -> None:
    model = f"openai/{uuid4()}"
    prices = Prices(currency="EUR", models={model: Price(input=1_000_000, output=2_000_000, cached_input=500_000)})
    counter, run = Counter(ModelUse(model=model), prices, lambda: None), uuid4()
    usage = {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13, "input_token_details": {"cache_read": 4}}
    message = AIMessage("Hm.", usage_metadata=usage)
    counter.on_chat_model_start({}, [], run_id=run)
    counter.on_llm_end(LLMResult(generations=[[ChatGeneration(message=message)]]), run_id=run)
    counter.on_chat_model_start({}, [], run_id=run)
    counter.on_llm_error(TimeoutError(), run_id=run)
    for kind, tokens in (("input", 6), ("cached_input", 4), ("output", 3)):
        assert counted("proctor_model_tokens_total", model=model, type=kind) == tokens
    for outcome in ("answered", "failed"):
        assert counted("proctor_model_calls_total", model=model, outcome=outcome) == 1
    assert counted("proctor_model_cost_total", model=model, currency="EUR") == 6 + 2 + 6
    assert counted("proctor_model_call_seconds_count", model=model) == 2
