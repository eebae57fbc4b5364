"""``python -m tests.chaos.instant_cells 1000``: a campaign whose assessments take no time at all, to see what it costs.

Campaign, dev server, store and gateway are real; an assessment is a workflow that keeps a recorded result and ends.
Prints time, histories, payloads, memory, and how long summing up takes.
"""

import asyncio
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from temporalio import workflow
from temporalio.client import WorkflowHistory
from temporalio.worker import UnsandboxedWorkflowRunner

from proctor.activities.admission.queueing import QueueActivities
from proctor.activities.attempts.scrubbing import Scrubber
from proctor.activities.campaign.activities import CampaignActivities, CampaignArchiving
from proctor.activities.campaign.assessments import CELL_WORKFLOW, AssessmentRuns, PlayedAssessment
from proctor.activities.campaign.plan import CellInput, CellOutcome
from proctor.activities.scenario_code.scenarios import Scenarios
from proctor.client.caller import AssessmentCall, Ended, Progress
from proctor.protocol.campaigns import CellEndedUpdate
from proctor.protocol.runs import RunResults
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobStore
from proctor.storage.temporal import connect
from proctor.workflows import limits
from proctor.workflows.campaign import Campaign
from proctor.workflows.context_queue import ContextQueue
from purple_sdk.protocol.results import AssessmentResults
from tests.a2a_gateway.conftest import running_gateway, start_temporal, stop_temporal
from tests.chaos.campaigns import largest
from tests.histories.reading import runs_of
from tests.workflows.scripted_runs import ScriptedRuns
from tests.workflows.workers import working

_RECORDED = AssessmentResults.model_validate_json(
    (Path(__file__).parent.parent / "cli" / "recorded" / "results.json").read_bytes()
)


@workflow.defn(name=CELL_WORKFLOW)
class InstantCell:
    """Has been played before it began."""

    @workflow.run
    async def run(self, given: CellInput) -> CellOutcome:
        about = {name: given.cell.given[name] for name in ("agent", "scenario_id", "seed", "repeat")}
        played = PlayedAssessment.model_validate(
            {**about, "task_id": workflow.info().workflow_id, "results": _RECORDED}
        )
        kept = await workflow.execute_local_activity_method(
            AssessmentRuns.keep_played, played, **limits.quick("keep the assessment's result")
        )
        return CellOutcome(status="completed", succeeded=True, score=0.5 + played.seed % 50 / 100, result=kept)


async def play(gateway_url: str, count: int, at_once: int) -> tuple[RunResults, int]:
    """Play so many; the results, and the size of the artifact."""
    config = {"scenarios": ["day", "night"], "seeds": list(range(count // 4)), "at_once": at_once, "offline": True}
    agents = {"mine": "http://mine.example", "theirs": "http://theirs.example"}
    began = time.monotonic()
    async with AssessmentCall(gateway_url, json.dumps({"participants": agents, "config": config})) as call:
        async for event in call.events():
            if isinstance(event, Progress) and isinstance(event.update, CellEndedUpdate):
                if event.update.tally.done % max(count // 10, 1) == 0:
                    seconds = time.monotonic() - began
                    print(f"{event.update.tally.done} of {count} after {seconds:.0f} s", flush=True)
            elif isinstance(event, Ended):
                assert event.results is not None, event.sentence
                return RunResults.model_validate_json(event.results), len(event.results)
    raise AssertionError("the stream ended without an end")


def seconds_of(history: WorkflowHistory, activity: str) -> float:
    """How long an activity of that name took, by the history."""
    scheduled: dict[int, Any] = {}
    for event in history.events:
        if event.HasField("activity_task_scheduled_event_attributes"):
            scheduled[event.event_id] = (
                event.activity_task_scheduled_event_attributes.activity_type.name,
                event.event_time,
            )
        elif event.HasField("activity_task_completed_event_attributes"):
            name, at = scheduled[event.activity_task_completed_event_attributes.scheduled_event_id]
            if name == activity:
                return float((event.event_time.ToDatetime() - at.ToDatetime()).total_seconds())
    return 0.0


async def main(count: int, at_once: int, temporal: str, server: psutil.Process) -> int:
    """Play, and print what it came to."""
    with tempfile.TemporaryDirectory(prefix="proctor-campaigns-") as folder:
        config = GreenAgentConfig(
            host="127.0.0.1", port=0, temporal_address=temporal, state=folder, storage_url=folder, task_queue="instant"
        )
        client, store = await connect(config), BlobStore(config.storage_url)
        runs = ScriptedRuns(config, store, Scenarios(config, store))
        campaigns = CampaignActivities(store, [runs])
        activities: list[Callable[..., Any]] = [
            campaigns.plan_campaign,
            campaigns.read_cells,
            campaigns.join_cell,
            campaigns.keep_outcomes,
            campaigns.sum_up_campaign,
            CampaignArchiving(config, store, lambda _: Scrubber(())).archive_campaign,
            runs.keep_played,
            QueueActivities().join_queue,
            QueueActivities().is_running,
        ]
        worker = working(
            client,
            config.task_queue,
            [Campaign, InstantCell, ContextQueue],
            activities,
            workflow_runner=UnsandboxedWorkflowRunner(),
        )
        async with worker, running_gateway(config) as gateway:
            began = time.monotonic()
            results, size = await play(gateway.url, count, at_once)
            took = time.monotonic() - began
        histories = await runs_of(client, results.campaign_id)
        print(
            f"{len(results.cells)} cells in {took:.0f} s, an artifact of {size / 1e6:.2f} MB; "
            f"the campaign: {largest(histories)}"
        )
        print(f"summed up in {seconds_of(histories[-1], 'sum_up_campaign'):.1f} s")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        print(
            f"memory: worker, gateway and caller together at most {peak:.0f} MB, "
            f"Temporal {server.memory_info().rss / 1e6:.0f} MB"
        )
    return 0 if {cell.status for cell in results.cells} == {"completed"} and len(results.cells) == count else 1


if __name__ == "__main__":
    address, process = start_temporal()
    try:
        chosen = [int(word) for word in sys.argv[1:]]
        count, at_once = [*chosen, *[1000, 16][len(chosen) :]]
        code = asyncio.run(main(count, at_once, address, psutil.Process(process.pid)))
    finally:
        stop_temporal(process)
    sys.exit(code)
