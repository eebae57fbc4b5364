"""Read this first: the whole assessment workflow, with scripted activities, on a Temporal server of the test's own.

The activities do nothing and answer at once (``scripted.py``), so this shows what the workflow decides: which step
follows which. ``replacements`` replace an activity. Here the participant is done after its first turn.
"""

from typing import Any

from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment

from proctor.activities.participant.payloads import TurnAnswer
from proctor.local.stack import find_temporal
from proctor.workflows.assessment import Assessment
from proctor.workflows.inputs import AssessmentInput
from proctor.workflows.names import SEARCH_ATTRIBUTES
from tests.workflows.scripted import NOWHERE, ScriptedActivities


async def test_an_assessment_ends_when_the_participant_says_so() -> None:
    async def purple_turn(_given: Any) -> TurnAnswer:
        return TurnAnswer(checkpoint=NOWHERE, kind="early_completion", notes="All is done.")

    activities = ScriptedActivities()
    activities.replacements["purple_turn"] = purple_turn
    async with (
        await WorkflowEnvironment.start_local(
            data_converter=pydantic_data_converter,
            search_attributes=SEARCH_ATTRIBUTES,
            dev_server_existing_path=find_temporal(),
        ) as environment,
        activities.worker(environment.client, "example"),
    ):
        given = AssessmentInput(task_id="t", context_id="t", request={})
        results = await environment.client.execute_workflow(Assessment.run, given, id="t", task_queue="example")

    assert (results.status, results.turns_taken, results.completion_reason) == ("completed", 1, "early_completion")
    assert activities.calls[:5] == ["admit", "set_up", "greet", "purple_turn", "apply"]
