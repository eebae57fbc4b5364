"""The real campaigns and terminal trials with scripted activities, which touch no engine and no participant."""

from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Any

from temporalio import activity
from temporalio.client import Client

from proctor.activities.admission.queueing import QueueActivities
from proctor.activities.attempts.scrubbing import Scrubber
from proctor.activities.campaign.activities import CampaignActivities, CampaignArchiving, keep_cells
from proctor.activities.campaign.plan import CampaignPlan, Cell, Lane
from proctor.service.worker import WORKFLOWS
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobStore
from proctor.terminal import plan as trial_plan
from proctor.terminal.archiving import TrialArchiving
from proctor.terminal.plan import (
    Collected,
    CollectInput,
    EnvironmentInput,
    PreparedTrial,
    StartedTrial,
    StepInput,
    TrialPlan,
    Worked,
)
from proctor.terminal.runs import TerminalRuns
from proctor.workflows.names import TRIAL_WORKFLOW
from purple_sdk.protocol.request import Raw
from purple_sdk.protocol.terminal import FailureMode, parse_terminal_request
from tests.workflows.workers import working

Replacement = Callable[[Any], Awaitable[Any]]


class ScriptedRuns(TerminalRuns):
    """Plans trials of tasks that there are no files of: every name in ``task_ids`` is one."""

    async def plan(self, campaign_id: str, request: Raw, owner: str = "") -> CampaignPlan:
        config = parse_terminal_request(request).config
        files = (await self._store.put(b"")).model_dump(mode="json")
        cells = [
            Cell(
                cell_id=f"{task_id}.{attempt}",
                label=f"{task_id} {attempt}",
                workflow=TRIAL_WORKFLOW,
                lanes=[Lane(kind="model" if task_id == "alone" else "participant", name=task_id)],
                given={
                    "task_id": task_id,
                    "trial_name": f"{task_id}.{attempt}",
                    "files": files,
                    "attempt": attempt,
                    "agent_seconds": 60,
                    "test_seconds": 60,
                },
            )
            for attempt in range(1, config.n_attempts + 1)
            for task_id in config.task_ids or []
        ]
        return CampaignPlan(
            campaign_id=campaign_id,
            kind=self.name,
            title="terminal-bench scripted",
            participant=config.agent,
            cells=await keep_cells(self._store, cells),
            at_once=config.n_concurrent_trials,
            lane_limits={"model": 1},
            tries=config.tries,
            shared={
                "agent": config.agent,
                "build_seconds": 60,
                "queue": activity.info().task_queue,
                "dataset_hash": "",
                "config": config.model_dump(mode="json"),
            },
            verbose_updates=config.verbose_updates,
            cleanup="remove_run",
        )


class ScriptedTrials:
    """What a trial does to the world, by name: nothing, unless a test wants otherwise.

    Attributes:
        replacements: what a step does instead, by the activity's name. calls: what ran, every attempt, in order: step
        and task. at_play: trials between their image and the end. most_at_once: the most that there were.
    """

    def __init__(self, config: GreenAgentConfig) -> None:
        self._config = config
        self.replacements: dict[str, Replacement] = {}
        self.calls: list[tuple[str, str]] = []
        self.at_play: defaultdict[str, int] = defaultdict(int)
        self.most_at_once = 0

    def of(self, task_id: str) -> list[str]:
        return [step for step, about in self.calls if about == task_id]

    def worker(
        self, client: Client, task_queue: str, runs: type[TerminalRuns] = ScriptedRuns
    ) -> AbstractAsyncContextManager[None]:
        config, store = self._config, BlobStore(self._config.storage_url)
        campaigns = CampaignActivities(store, [runs(config, store)])
        queues = QueueActivities()
        trials = TrialArchiving(config, store, lambda _: Scrubber(()))
        activities: list[Callable[..., Any]] = [
            campaigns.plan_campaign,
            campaigns.read_cells,
            campaigns.join_cell,
            campaigns.keep_outcomes,
            campaigns.sum_up_campaign,
            trials.keep_trial,
            trials.archive_trial,
            CampaignArchiving(config, store, lambda _: Scrubber(())).archive_campaign,
            queues.join_queue,
            queues.is_running,
            self.prepare_image,
            self.start_environment,
            self.hand_over,
            self.run_trial_tests,
            self.collect_logs,
            self.take_down_trial,
            self.remove_run,
        ]
        return working(client, task_queue, WORKFLOWS, activities)

    async def _does(self, given: Any, about: str, usually: Any = None) -> Any:
        name = activity.info().activity_type
        self.calls.append((name, about))
        done = await self.replacements[name](given) if name in self.replacements else None
        return usually if done is None else done

    @activity.defn
    async def prepare_image(self, plan: TrialPlan) -> PreparedTrial:
        self.at_play[plan.trial_id] = 1
        self.most_at_once = max(self.most_at_once, sum(self.at_play.values()))
        usual = PreparedTrial(host_queue=plan.queue, instruction="Do it.", seconds=0)
        return await self._does(plan, plan.task_id, usual)  # type: ignore[no-any-return]

    @activity.defn
    async def start_environment(self, given: EnvironmentInput) -> StartedTrial:
        usual = StartedTrial(environment={}, container="c", seconds=0)
        return await self._does(given, given.plan.task_id, usual)  # type: ignore[no-any-return]

    @activity.defn
    async def hand_over(self, given: StepInput) -> Worked:
        now = datetime.now(UTC)
        usual = Worked(failure_mode=FailureMode.NONE, started_at=now, ended_at=now)
        return await self._does(given, given.plan.task_id, usual)  # type: ignore[no-any-return]

    @activity.defn
    async def run_trial_tests(self, given: StepInput) -> trial_plan.Tested:
        now = datetime.now(UTC)
        usual = trial_plan.Tested(
            failure_mode=FailureMode.NONE,
            is_resolved=not given.plan.task_id.startswith("hard"),
            started_at=now,
            ended_at=now,
        )
        return await self._does(given, given.plan.task_id, usual)  # type: ignore[no-any-return]

    @activity.defn
    async def collect_logs(self, given: CollectInput) -> Collected:
        return await self._does(given, given.step.plan.task_id, Collected(files=[], seconds=0))  # type: ignore[no-any-return]

    @activity.defn
    async def take_down_trial(self, plan: TrialPlan) -> None:
        self.at_play[plan.trial_id] = 0
        await self._does(plan, plan.task_id)

    @activity.defn
    async def remove_run(self, run_id: str) -> None:
        await self._does(run_id, run_id)
