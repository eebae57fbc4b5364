"""Text that no store can keep changes nothing where it leaves an activity: the same step fails, by the same fault."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from a2a.client import Client as Caller
from temporalio.client import Client

from proctor.activities.attempts import failures
from proctor.activities.attempts.scrubbing import Scrubbing
from proctor.activities.participant.payloads import TurnAnswer
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobStore
from purple_sdk.protocol.json_safe import LONGEST_SENTENCE
from purple_sdk.protocol.messages import ActionLogEntry
from tests.workflows.asking import played
from tests.workflows.scripted import MORNING, NOWHERE, ScriptedActivities, fails, verdict

HALF, SHOWN = "half \ud83d, none \0 ", "half ?, none \ufffd "
"""A text with half of a surrogate pair and NUL, and the same as it is kept."""

MEGABYTES = HALF + "x" * 3_900_000


@pytest_asyncio.fixture
async def activities(client: Client, config: GreenAgentConfig) -> AsyncIterator[ScriptedActivities]:
    scripted = ScriptedActivities(BlobStore(config.storage_url))
    async with scripted.worker(client, config.task_queue, Scrubbing("a secret", lambda _simulation: ())):
        yield scripted


@pytest.mark.parametrize(
    ("step", "kind", "state"),
    [
        ("admit", failures.REJECTED, "rejected"),
        ("purple_turn", failures.PARTICIPANT_FAILED, "failed"),
        ("judge_criterion", failures.EVALUATOR_FAILED, "failed"),
    ],
)
async def test_a_failure_is_blamed_on_whoever_caused_it(
    step: str, kind: str, state: str, caller: Caller, activities: ScriptedActivities
) -> None:
    activities.replacements[step] = fails(kind, MEGABYTES)
    over = await played(caller)
    assert (over.state, activities.calls.count(step)) == (state, 1)
    assert over.sentence.removeprefix("Criterion c1: ").startswith(SHOWN)
    assert len(over.sentence) < LONGEST_SENTENCE + 300
    assert over.results is None if state == "rejected" else over.results and over.results.failure_kind == kind


async def test_data_is_made_storable_too(caller: Caller, activities: ScriptedActivities) -> None:
    deep: Any = "x"
    for _ in range(220):  # Temporal takes it, and the workflow could not read it
        deep = [deep]

    async def report(_given: Any) -> TurnAnswer:
        done = ActionLogEntry(timestamp=MORNING, action="email.send", parameters={"deep": deep}, success=True)
        return TurnAnswer(checkpoint=NOWHERE, kind="early_completion", reported=[done])

    async def judge(given: Any) -> Any:
        return verdict(given.criterion_id).model_copy(update={"explanation": HALF})

    activities.replacements |= {"purple_turn": report, "judge_criterion": judge}
    over = await played(caller)
    assert over.state == "completed", over.sentence
    assert over.results is not None
    assert over.results.criteria_results[0].explanation == "half ?, none \0 "
    [reported] = over.results.action_report.reported
    assert "…" in str(reported.parameters["deep"])


async def test_names_that_temporal_does_not_search_for_stop_nothing(
    caller: Caller, client: Client, config: GreenAgentConfig
) -> None:
    long = {"participant_url": f"http://x/{'é' * 3_000}", "scenario_name": "n" * 300_000, "warnings": ["w" * 300_000]}
    scripted = ScriptedActivities(BlobStore(config.storage_url), **long)
    async with scripted.worker(client, config.task_queue):
        over = await played(caller)
    assert over.state == "completed", over.sentence
