"""Terminal-Bench as a kind of campaign: which trials a request asks for, and what they come to."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from pydantic import JsonValue
from temporalio import activity
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest

from activities import terminal
from activities.archiving.lines import as_lines
from activities.campaign_plan import CampaignPlan, Cell, EndedCell, Raw, Summed, SumUpInput, groups_of
from activities.campaigns import keep_cells
from activities.deployment import Deployment
from activities.task_files import packed
from activities.terminal.datasets import KnownDatasets, dataset_hash, datasets_home
from activities.terminal.failures import TaskError
from activities.terminal_trials import TrialActivities
from activities.trial_plan import TRIAL_WORKFLOW
from proctor_protocol.config import ALLOWANCES
from proctor_protocol.problems import show_value
from proctor_protocol.request import BadRequestError
from proctor_protocol.statistics import Points, Run
from proctor_protocol.terminal import (
    BENCHMARK,
    Share,
    TerminalConfig,
    TerminalRequest,
    TerminalResults,
    TrialResult,
    is_terminal_request,
    parse_terminal_request,
    unknown_terminal_settings,
)
from proctor_storage.blobs import BlobRef

_MOST_TRIALS = 100_000
_AGENT_SECONDS, _TEST_SECONDS = 900.0, 180.0
"""For a task whose files can't be read, which its trial will say."""

_INSTRUCTION = 2_000
"""Characters of an instruction in a run's result; the trial's own has all of it."""

_READ_AT_ONCE = 32
_KS = (1, 2, 4, 5, 8, 10, 16, 32, 64)


class TerminalRuns:
    """Plans runs of trials, and sums them up."""

    name = BENCHMARK

    def __init__(self, deployment: Deployment) -> None:
        self._store = deployment.store
        self._config = deployment.config

    def is_asked_for(self, request: Raw) -> bool:
        """See ``activities.campaigns.Kind``."""
        return is_terminal_request(request)

    async def plan(self, campaign_id: str, request: Raw, owner: str = "") -> CampaignPlan:
        """Find the tasks, keep their files as they are now, and lay out every attempt at each of them."""
        asked = parse_terminal_request(request)
        config = asked.config
        config, folders, pinned = await asyncio.to_thread(self._find, config)
        if len(folders) * config.n_attempts > _MOST_TRIALS:
            raise BadRequestError(
                f"{len(folders)} tasks with {config.n_attempts} attempts each are more than {_MOST_TRIALS:,} trials: "
                "ask for fewer."
            )
        warnings = [f"config.{name} is not a setting of this evaluator" for name in unknown_terminal_settings(request)]
        if not await self._has_hosts():
            warnings.append(
                "no worker beside a Docker engine runs just now: the trials wait until one does (`proctor worker` "
                "where an engine is)"
            )
        cells, hashes = [], {}
        for folder in folders:
            ref, of_task = await self._cells(campaign_id, folder, config)
            if pinned.get(folder.name, ref.sha256) != ref.sha256:
                raise BadRequestError(
                    f"The files of {folder.name} in {config.dataset} were changed on the evaluator's machine: their "
                    f"sha256 is {ref.sha256}, and was {pinned[folder.name]} when the dataset was pulled. Pull it "
                    f"again: proctor terminal-bench datasets pull {config.dataset}"
                )
            hashes[folder.name] = ref.sha256
            cells.append(of_task)
        role, url = asked.participant
        return CampaignPlan(
            campaign_id=campaign_id,
            kind=self.name,
            title=f"{BENCHMARK} {config.dataset}",
            participant=role,
            participant_url=url,
            # All tasks once, then all of them again: a run that is broken off has attempted as many as it could.
            cells=await keep_cells(self._store, [cell for round_ in zip(*cells, strict=True) for cell in round_]),
            groups=groups_of(cell for of_task in cells for cell in of_task),
            at_once=config.n_concurrent_trials,
            tries=config.tries,
            shared=_shared(
                asked.model_copy(update={"config": config}), self._config.containers_task_queue, dataset_hash(hashes)
            ),
            verbose_updates=config.verbose_updates and self._config.verbose_updates,
            warnings=warnings,
            cleanup=None if config.keep_images else TrialActivities.remove_run.__name__,
            proctor_version=version("proctor"),
        )

    async def sum_up(self, given: SumUpInput, ended: Sequence[EndedCell]) -> Summed:
        """All trials' results as one."""
        slots = asyncio.Semaphore(_READ_AT_ONCE)

        async def read(ref: BlobRef) -> TrialResult:
            async with slots:
                return TrialResult.model_validate_json(await self._store.get(ref))

        refs = [each.outcome.result for each in ended if each.outcome.result is not None]
        trials = await asyncio.gather(*map(read, refs))
        results = await asyncio.to_thread(partial(summed_up, given, trials))
        sentence = (
            f"{results.participant} resolved {results.n_resolved} of {results.n_trials} trials of {results.dataset} "
            f"(accuracy {results.accuracy:.1%})." + (f" {results.doubts_in_words()}." if results.n_doubtful else "")
        )
        return Summed(
            results=await self._store.put(results.model_dump_json().encode()),
            sentence=sentence,
            score=results.accuracy if results.n_trials else None,
            runs=await self._store.put(as_lines(run_of(trial, results.participant) for trial in results.results)),
        )

    def _find(self, config: TerminalConfig) -> tuple[TerminalConfig, list[Path], Mapping[str, str]]:
        """The settings with the dataset's version, the folders of its tasks, and the hashes that these must have."""
        home = Path(self._config.datasets_dir).resolve()
        dataset = (home / config.dataset).resolve()
        pinned: Mapping[str, str] = {}
        if not dataset.is_relative_to(home) or not dataset.is_dir():
            known = KnownDatasets(datasets_home(self._config.state))
            try:
                pulled = known.find(config.dataset)
                dataset, pinned = known.folder(pulled), pulled.tasks
            except TaskError as problem:
                folders = [each.name for each in home.iterdir() if each.is_dir()] if home.is_dir() else []
                there_are = ", ".join(sorted(folders)[:20])
                raise BadRequestError(
                    f"config.dataset is {show_value(config.dataset)}, and the evaluator has no such folder of tasks "
                    f"below its datasets_dir ({there_are or 'which is empty'}). {problem}."
                ) from None
            config = config.model_copy(update={"dataset": pulled.label})
        try:
            found = terminal.tasks.find_tasks(dataset, config.task_ids, config.exclude_task_ids)
        except TaskError as problem:
            raise BadRequestError(f"The dataset {config.dataset} can't be played: {problem}") from None
        if not found:
            raise BadRequestError(f"No task of {config.dataset} is left: see config.task_ids and exclude_task_ids.")
        return config, sorted(found, key=lambda folder: folder.name)[: config.n_tasks], pinned

    async def _cells(self, campaign_id: str, folder: Path, config: TerminalConfig) -> tuple[BlobRef, list[Cell]]:
        try:
            task = await asyncio.to_thread(terminal.tasks.load_task, folder, None, ALLOWANCES)
            agent_seconds, test_seconds = task.agent_timeout, task.test_timeout
        except TaskError:
            agent_seconds, test_seconds = _AGENT_SECONDS, _TEST_SECONDS
        try:
            files = await self._store.put(await asyncio.to_thread(packed, folder))
        except TaskError as problem:
            raise BadRequestError(str(problem)) from None
        cells = []
        for attempt in range(1, config.n_attempts + 1):
            given: dict[str, JsonValue] = {
                "task_id": folder.name,
                "trial_name": f"{folder.name}.{attempt}-of-{config.n_attempts}.{campaign_id}",
                "files": files.model_dump(mode="json"),
                "attempt": attempt,
                "agent_seconds": config.agent_seconds(agent_seconds),
                "test_seconds": config.test_seconds(test_seconds),
            }
            cells.append(
                Cell(
                    cell_id=f"{_as_id(folder.name)}.{attempt}",
                    label=f"{folder.name} · attempt {attempt} of {config.n_attempts}",
                    group=folder.name,
                    workflow=TRIAL_WORKFLOW,
                    given=given,
                )
            )
        return files, cells

    async def _has_hosts(self) -> bool:
        client = activity.client()
        described = await client.workflow_service.describe_task_queue(
            DescribeTaskQueueRequest(
                namespace=client.namespace,
                task_queue=TaskQueue(name=self._config.containers_task_queue),
                task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
            )
        )
        return bool(described.pollers)


def run_of(trial: TrialResult, participant: str) -> Run:
    """A trial as statistics see it: its reward is its score."""
    costs = [use.cost for use in trial.usage]
    reward = trial.reward if trial.reward is not None else float(bool(trial.is_resolved))
    return Run(
        run_id=trial.trial_id,
        agent=participant,
        scenario=trial.task_id,
        repeat=trial.attempt - 1,
        status="failed" if trial.is_resolved is None else "completed",
        failed_by_participant=trial.blame == "participant",
        is_doubtful=bool(trial.doubts),
        overall=None if trial.is_resolved is None else Points(score=reward, max_score=1),
        tokens=None
        if trial.total_input_tokens is None or trial.total_output_tokens is None
        else trial.total_input_tokens + trial.total_output_tokens,
        cost=None if not costs or any(cost is None for cost in costs) else sum(cost or 0.0 for cost in costs),
    )


def summed_up(given: SumUpInput, trials: Sequence[TrialResult]) -> TerminalResults:
    """The result of a run, whose sums follow from its trials.

    Attempts at one task resemble each other: the accuracy's interval is that of ``pass_rates``. pass@k is a mean over
    tasks, with the interval of ``estimated``.
    """
    from proctor_statistics import Unit, estimated, pass_at_k, pass_rates

    def share(value: float, low: float | None, high: float | None) -> Share:
        rounded = (None if each is None else round(each, 6) for each in (low, high))
        return Share(value=round(value, 6), low=next(rounded), high=next(rounded), tasks=len(by_task))

    def mean_share(values: Sequence[float]) -> Share:
        found = estimated([Unit((each,)) for each in values], bounds=(0.0, 1.0))
        return share(found.mean, found.low, found.high)

    plan, trials = given.plan, sorted(trials, key=lambda trial: (trial.task_id, trial.attempt))
    by_task: dict[str, list[bool]] = {}
    modes: dict[str, int] = {}
    for trial in trials:
        by_task.setdefault(trial.task_id, []).append(bool(trial.is_resolved))
        modes[trial.failure_mode] = modes.get(trial.failure_mode, 0) + 1
    passes = pass_rates(by_task, 100)
    fewest = min(map(len, by_task.values()), default=0)
    resolved = [trial.task_id for trial in trials if trial.is_resolved]
    rewards = [trial.reward if trial.reward is not None else float(bool(trial.is_resolved)) for trial in trials]
    config = plan.shared["config"]
    assert isinstance(config, dict)
    return TerminalResults(
        run_id=plan.campaign_id,
        dataset=str(config["dataset"]),
        dataset_hash=str(plan.shared["dataset_hash"]),
        participant=plan.participant,
        participant_url=plan.participant_url,
        status=given.status,
        failure=given.failure,
        n_tasks=len(by_task),
        n_attempts=int(str(config["n_attempts"])),
        n_trials=len(trials),
        n_resolved=len(resolved),
        n_unresolved=len(trials) - len(resolved),
        n_failed=sum(trial.failure is not None for trial in trials),
        n_missing=given.tally.total - len(trials),
        n_doubtful=sum(bool(trial.doubts) for trial in trials),
        accuracy=round(len(resolved) / len(trials), 6) if trials else 0.0,
        accuracy_interval=share(passes.passed / passes.runs, passes.low, passes.high) if passes else None,
        accuracy_without_doubtful=_without_doubtful(trials),
        accuracy_if_settled=_settled(trials),
        mean_reward=round(sum(rewards) / len(rewards), 6) if rewards else None,
        pass_at_k={
            k: mean_share([pass_at_k(len(runs), sum(runs), k) for runs in by_task.values()])
            for k in sorted({*_KS, fewest})
            if 1 <= k <= fewest
        },
        resolved_ids=resolved,
        unresolved_ids=[trial.task_id for trial in trials if not trial.is_resolved],
        failure_modes=dict(sorted(modes.items())),
        results=[trial.model_copy(update={"instruction": trial.instruction[:_INSTRUCTION]}) for trial in trials],
        started_at=given.started_at,
        ended_at=given.ended_at,
        duration_seconds=(given.ended_at - given.started_at).total_seconds(),
        config=config,
        proctor_version=plan.proctor_version,
    )


def _without_doubtful(trials: Sequence[TrialResult]) -> float | None:
    """The accuracy of the trials whose verdict is not doubtful; None where that is all of them or none."""
    certain = [bool(trial.is_resolved) for trial in trials if not trial.doubts]
    return round(sum(certain) / len(certain), 6) if 0 < len(certain) < len(trials) else None


def _settled(trials: Sequence[TrialResult]) -> tuple[float, float] | None:
    """The least and the most that the accuracy would be if each doubtful verdict were settled."""
    doubtful = sum(bool(trial.doubts) for trial in trials)
    if not doubtful:
        return None
    certain = sum(bool(trial.is_resolved) for trial in trials if not trial.doubts)
    return round(certain / len(trials), 6), round((certain + doubtful) / len(trials), 6)


def _shared(asked: TerminalRequest, queue: str, dataset_hash: str) -> dict[str, JsonValue]:
    config = asked.config
    return {
        "agent": config.agent,
        "participant": asked.participant[0],
        "participant_url": asked.participant[1],
        "access": config.access,
        "leave_running": config.leave_running,
        "verifier": config.verifier,
        "build_seconds": config.build_timeout_sec,
        "record": config.record,
        "keep_images": config.keep_images,
        "queue": queue,
        "dataset_hash": dataset_hash,
        "config": config.model_dump(mode="json"),
    }


def _as_id(name: str) -> str:
    """A task's name as part of a workflow's id; names that differ stay different."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "-", name)[:100]
    return plain if plain == name else f"{plain}-{sha256(name.encode()).hexdigest()[:8]}"
