"""An assessment too long for one history goes on as a new run, and nobody who follows it notices."""

from collections.abc import Iterator
from datetime import datetime

import pytest

from proctor.client.caller import AssessmentCall, Ended, Progress
from proctor.client.replay import choose, reset, reset_points
from proctor.storage.temporal import connect
from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.ues import AsyncUESClient
from tests.assessments.normalising import normalised
from tests.assessments.packages import write_package
from tests.assessments.scripts import ask_ben
from tests.histories.reading import runs_of
from tests.sizes.following import follow, size_of, turns_in
from tests.stack import Stack, running_stack, serving
from tests.work import only_nightly

TURNS = 12
SUGGESTED_AT = 60
"""Events after which Temporal suggests to continue as new; ten thousand or so by default."""


@pytest.fixture(scope="module")
def forgetful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """An evaluator whose Temporal wants short histories."""
    directory = tmp_path_factory.mktemp("scenarios")
    write_package(directory, "tiny")
    with running_stack(directory, dev_server={"limit.historyCount.suggestContinueAsNew": str(SUGGESTED_AT)}) as stack:
        yield stack


async def writes_each_turn(turn: int, ues: AsyncUESClient, now: datetime) -> None:
    """Asks Ben in every turn; Ben answers."""
    await ask_ben(ues)


@only_nightly
async def test_a_long_assessment_goes_on_as_a_new_run(forgetful: Stack) -> None:
    async with serving(writes_each_turn) as url:
        followed = await follow(forgetful, url, "tiny")
        assert followed.state == "completed", followed.sentence
        results = followed.results
        assert results is not None
        client = await connect(forgetful.config)
        runs = await runs_of(client, followed.task_id)
        assert len(runs) >= 3
        assert max(size_of(run).events for run in runs) < SUGGESTED_AT + 60
        assert turns_in(runs) == results.turns_taken == TURNS

        # Every update once and in order; the action log whole.
        assert followed.sequences == list(range(len(followed.sequences)))
        assert followed.kinds.count("update_turn_started") == followed.kinds.count("update_turn_completed") == TURNS
        assert [entry.turn for entry in results.action_log] == list(range(1, TURNS + 1))
        report = results.action_report
        assert (report.unreported, report.never_happened) == ([], [])

        # Reset to a turn of its first run, it tells the whole story again and comes to the same end.
        point = choose(await reset_points(client, followed.task_id), 2, from_judging=False)
        assert point.run_id != runs[-1].events[0].workflow_execution_started_event_attributes.original_execution_run_id
        await reset(client, followed.task_id, point)
        updates, again = await from_its_start(forgetful, followed.task_id)
    assert updates == len(followed.sequences)
    assert normalised(again) == normalised(results)


async def from_its_start(stack: Stack, task_id: str) -> tuple[int, AssessmentResults]:
    """How many updates a task has, and how it ended."""
    updates = 0
    async with AssessmentCall.of_task(stack.gateway_url, task_id) as call:
        async for event in call.events():
            updates += isinstance(event, Progress)
            if isinstance(event, Ended):
                assert event.state == "completed", event.sentence
                assert event.results is not None
                return updates, AssessmentResults.model_validate_json(event.results)
    raise AssertionError("the stream ended without an end")
