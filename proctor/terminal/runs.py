"""Terminal-Bench as a kind of campaign: the trials of a request, and the sum of their results."""

import asyncio
import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from itertools import combinations, product
from pathlib import Path

from pydantic import JsonValue
from temporalio import activity
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest

import proctor.terminal as terminal
from proctor.activities.archive.payloads import as_lines
from proctor.activities.campaign.activities import keep_cells, taken_over
from proctor.activities.campaign.plan import CampaignPlan, Cell, EndedCell, Lane, Summed, SumUpInput, count_groups
from proctor.activities.plan import TRIAL_WORKFLOW
from proctor.protocol.archived_runs import run_of_trial
from proctor.settings.config import ALLOWANCES, GreenAgentConfig
from proctor.storage.blobs import BlobDamagedError, BlobNotFoundError, BlobRef, BlobStore
from proctor.terminal.datasets import KnownDatasets, dataset_hash, datasets_home
from proctor.terminal.failures import TaskError
from proctor.terminal.results import folder_of_run, write_results
from proctor.terminal.task_files import packed
from proctor.terminal.trials import TrialActivities
from purple_sdk.processes.together import do_all
from purple_sdk.protocol.problems import show_value
from purple_sdk.protocol.provenance import add_costs, count_tokens
from purple_sdk.protocol.request import BadRequestError, Raw
from purple_sdk.protocol.terminal import (
    BENCHMARK,
    AgentResult,
    Blob,
    Share,
    TerminalAgent,
    TerminalConfig,
    TerminalRequest,
    TerminalResults,
    TrialResult,
    is_terminal_request,
    parse_terminal_request,
    unknown_terminal_settings,
)

log = logging.getLogger(__name__)

_MOST_TRIALS = 100_000
_AGENT_SECONDS, _TEST_SECONDS = 900.0, 180.0
"""Time limits for a task whose files can't be read; its trial will report the problem."""

_INSTRUCTION = 2_000
"""Characters of an instruction in a run's result; the trial's result has all of it."""

_READ_AT_ONCE = 32
_KS = (1, 2, 4, 5, 8, 10, 16, 32, 64)


class TerminalRuns:
    """Plans runs of trials, and sums them up."""

    name = BENCHMARK

    def __init__(self, config: GreenAgentConfig, store: BlobStore) -> None:
        self._store = store
        self._config = config
        self._defaults = json.loads(config.terminal_defaults) if config.terminal_defaults else None

    def accepts(self, request: Raw) -> bool:
        return is_terminal_request(request)

    async def plan(self, campaign_id: str, request: Raw, owner: str = "") -> CampaignPlan:
        """Find the tasks, store their current files, and plan every attempt at each task."""
        asked = parse_terminal_request(request, self._defaults)
        config = asked.config
        wanted = config.dataset
        config, folders, pinned = await asyncio.to_thread(self._find, config)
        agents = asked.agents
        if len(folders) * config.n_attempts * len(agents) > _MOST_TRIALS:
            raise BadRequestError(
                f"{len(folders)} tasks with {config.n_attempts} attempts of {len(agents)} agents are more "
                f"than {_MOST_TRIALS:,} trials: "
                "ask for fewer."
            )
        warnings = [f"config.{name} is not a setting of this evaluator" for name in unknown_terminal_settings(request)]
        if wanted.partition("@")[2] and "@" not in config.dataset:
            warnings.append(
                f"config.dataset is {wanted}, and the folder {config.dataset} that is played has no version"
            )
        if not await self._has_hosts():
            warnings.append(
                "no worker beside a Docker engine runs just now: the trials wait until one does (`proctor worker` "
                "where an engine is)"
            )
        tasks, hashes = [], {}
        for folder in folders:
            task = await self._task(folder, config)
            if pinned.get(folder.name, task.files.sha256) != task.files.sha256:
                raise BadRequestError(
                    f"The files of {folder.name} in {config.dataset} were changed on the evaluator's machine: their "
                    f"sha256 is {task.files.sha256}, and was {pinned[folder.name]} when the dataset was pulled. Pull "
                    f"it again: proctor terminal-bench datasets pull {config.dataset}"
                )
            hashes[folder.name] = task.files.sha256
            tasks.append(task)
        # All tasks once, then all of them again: so an interrupted run has attempted as many tasks as possible.
        rounds = product(range(1, config.n_attempts + 1), tasks, agents)
        cells = [_cell(campaign_id, task, attempt, agent, agents, config) for attempt, task, agent in rounds]
        taken = None
        if config.grows:
            taken, cells, remarks = await taken_over(self._store, config.grows, cells, owner, "a run of terminal tasks")
            warnings += remarks
        return CampaignPlan(
            campaign_id=campaign_id,
            kind=self.name,
            title=f"{BENCHMARK} {config.dataset}",
            participant=", ".join(agent.name for agent in agents)[:500],
            participant_url=agents[0].url if len(agents) == 1 else "",
            cells=await keep_cells(self._store, cells),
            groups=count_groups(cells),
            at_once=config.n_concurrent_trials,
            tries=config.tries,
            shared=_shared(
                asked.model_copy(update={"config": config}), self._config.containers_task_queue, dataset_hash(hashes)
            ),
            verbose_updates=config.verbose_updates and self._config.verbose_updates,
            warnings=warnings,
            max_cost=config.max_cost,
            max_tokens=config.max_tokens,
            max_seconds=None if config.max_hours is None else config.max_hours * 3600,
            taken_over=taken,
            cleanup=None if config.keep_images else TrialActivities.remove_run.__name__,
            proctor_version=version("proctor"),
        )

    async def sum_up(self, payload: SumUpInput, ended: Sequence[EndedCell]) -> Summed:
        slots = asyncio.Semaphore(_READ_AT_ONCE)

        taken = set(payload.plan.taken_over.cell_ids) if payload.plan.taken_over else set()

        async def read(each: EndedCell, ref: BlobRef) -> TrialResult:
            async with slots:
                trial = TrialResult.model_validate_json(await self._store.get(ref))
            # Trials of version 0.9 and before have no agent name: their run had one agent.
            whose = trial.participant or payload.plan.participant
            return trial.model_copy(update={"participant": whose, "taken_over": each.cell_id in taken})

        stored = [(cell, cell.outcome.result) for cell in ended if cell.outcome.result is not None]
        trials = await do_all(*(read(cell, ref) for cell, ref in stored))
        results = await asyncio.to_thread(partial(summed_up, payload, trials))
        whose = [
            (result.agent, result.n_resolved, result.n_trials, result.accuracy.value) for result in results.by_agent
        ]
        if len(whose) < 2:
            whose = [(results.participant, results.n_resolved, results.n_trials, results.accuracy)]
        shares = [
            f"{name} resolved {n} of {of} trials of {results.dataset} (accuracy {a:.1%})" for name, n, of, a in whose
        ]
        sentences = [*shares, *([results.doubts_in_words()] if results.n_doubtful else [])]
        sentence = " ".join([*(f"{sentence}." for sentence in sentences), *filter(None, [results.stopped])])
        await self._write(results)
        return Summed(
            results=await self._store.put(results.model_dump_json().encode()),
            sentence=sentence,
            score=results.accuracy if results.n_trials else None,
            runs=await self._store.put(as_lines(run_of_trial(trial) for trial in results.results)),
        )

    async def _write(self, results: TerminalResults) -> None:
        """Write the folder of a run. An error there doesn't fail the run: its results are stored."""
        if self._config.terminal_results_dir is None:
            return

        async def read(file: Blob) -> bytes | None:
            try:
                return await self._store.get(BlobRef(sha256=file.sha256, size=file.size))
            except (BlobNotFoundError, BlobDamagedError):
                return None

        began_at = (results.started_at or datetime.now(UTC)).astimezone()
        name = f"green_agent_eval_{began_at:%Y%m%d_%H%M%S}"
        try:
            folder = await asyncio.to_thread(folder_of_run, Path(self._config.terminal_results_dir), name, results)
            for problem in await write_results(folder, results, read):
                log.warning("%s", problem)
            log.info("%s: the results are in %s", results.run_id, folder)
        except OSError as error:
            log.error("%s: the results can't be written to %s: %s", results.run_id, name, error)

    def _find(self, config: TerminalConfig) -> tuple[TerminalConfig, list[Path], Mapping[str, str]]:
        """Return the settings with the dataset's version, the folders of its tasks, and the required hashes."""
        home = Path(self._config.datasets_dir).resolve()
        dataset = (home / config.dataset).resolve()
        unversioned = (home / config.dataset.partition("@")[0]).resolve()
        pinned: Mapping[str, str] = {}
        if not dataset.is_relative_to(home) or not dataset.is_dir():
            known = KnownDatasets(datasets_home(self._config.state))
            try:
                pulled = known.find(config.dataset)
                dataset, pinned, label = known.folder(pulled), pulled.tasks, pulled.label
            except TaskError as error:
                if unversioned.is_relative_to(home) and unversioned.is_dir() and unversioned != home:
                    config = config.model_copy(update={"dataset": config.dataset.partition("@")[0]})
                    return self._find(config)
                folders = [folder.name for folder in home.iterdir() if folder.is_dir()] if home.is_dir() else []
                there_are = ", ".join(sorted(folders)[:20])
                raise BadRequestError(
                    f"config.dataset is {show_value(config.dataset)}, and the evaluator has no such folder of tasks "
                    f"below its datasets_dir ({there_are or 'which is empty'}). {error}."
                ) from None
            config = config.model_copy(update={"dataset": label})
        try:
            tasks = terminal.tasks.find_tasks(dataset, config.task_ids, config.exclude_task_ids)
        except TaskError as error:
            raise BadRequestError(f"The dataset {config.dataset} can't be played: {error}") from None
        if not tasks:
            raise BadRequestError(f"No task of {config.dataset} is left: see config.task_ids and exclude_task_ids.")
        return config, sorted(tasks, key=lambda folder: folder.name)[: config.n_tasks], pinned

    async def _task(self, folder: Path, config: TerminalConfig) -> "_Task":
        try:
            task = await asyncio.to_thread(terminal.tasks.load_task, folder, None, ALLOWANCES)
            agent_seconds, test_seconds = task.agent_timeout, task.test_timeout
        except TaskError:
            agent_seconds, test_seconds = _AGENT_SECONDS, _TEST_SECONDS
        try:
            files = await self._store.put(await asyncio.to_thread(packed, folder))
        except TaskError as error:
            raise BadRequestError(str(error)) from None
        return _Task(folder.name, files, config.agent_seconds(agent_seconds), config.test_seconds(test_seconds))

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


@dataclass(frozen=True)
class _Task:
    """A task's files in the store, and the time limits of agent and tests."""

    name: str
    files: BlobRef
    agent_seconds: float
    test_seconds: float


def _cell(
    campaign_id: str,
    task: _Task,
    attempt: int,
    agent: TerminalAgent,
    agents: Sequence[TerminalAgent],
    config: TerminalConfig,
) -> Cell:
    """Make one trial's cell. Its id covers everything that the result depends on, so two runs can share a result."""
    payload: dict[str, JsonValue] = {
        "task_id": task.name,
        "files": task.files.model_dump(mode="json"),
        "attempt": attempt,
        "agent": agent.kind,
        "participant": agent.name,
        "participant_url": agent.url,
        "agent_seconds": task.agent_seconds,
        "test_seconds": task.test_seconds,
    }
    settings = config.model_dump(mode="json", include={"access", "leave_running", "verifier", "build_timeout_sec"})
    digest = sha256(json.dumps([payload, settings], sort_keys=True).encode()).hexdigest()[:12]
    who = f"{agent.name} · " if len(agents) > 1 else ""
    return Cell(
        cell_id=".".join([_as_id(agent.name)[:40], _as_id(task.name)[:100], str(attempt), digest]),
        label=f"{who}{task.name} · attempt {attempt} of {config.n_attempts}",
        group=f"{who}{task.name}",
        workflow=TRIAL_WORKFLOW,
        lanes=[Lane(kind="participant", name=agent.url or agent.kind)],
        given={**payload, "trial_name": f"{task.name}.{attempt}-of-{config.n_attempts}.{campaign_id}"},
    )


def summed_up(payload: SumUpInput, trials: Sequence[TrialResult]) -> TerminalResults:
    """Sum up a run's trials as its result.

    Attempts at one task resemble each other, so the accuracy's interval is computed for the effective number of trials.
    pass@k is a mean over tasks, with the interval of ``estimated``.
    """
    from proctor.statistics import compared

    plan = payload.plan
    trials = sorted(trials, key=lambda trial: (trial.task_id, trial.attempt, trial.participant))
    modes: dict[str, int] = {}
    for trial in trials:
        modes[trial.failure_mode] = modes.get(trial.failure_mode, 0) + 1
    resolved = [trial.task_id for trial in trials if trial.is_resolved]
    config = plan.shared["config"]
    assert isinstance(config, dict)
    agents = _read_agents(plan, trials)
    runs = [run_of_trial(trial) for trial in trials]
    of_all = _of_agent("", trials)
    return TerminalResults(
        run_id=plan.campaign_id,
        dataset=str(config["dataset"]),
        dataset_hash=str(plan.shared["dataset_hash"]),
        participant=plan.participant,
        participant_url=plan.participant_url,
        agents=agents,
        status=payload.status,
        failure=payload.failure,
        stopped=payload.stopped,
        n_tasks=len({trial.task_id for trial in trials}),
        n_attempts=int(str(config["n_attempts"])),
        n_trials=len(trials),
        n_resolved=of_all.n_resolved,
        n_unresolved=len(trials) - of_all.n_resolved,
        n_failed=of_all.n_failed,
        n_missing=payload.tally.total - len(trials),
        n_doubtful=of_all.n_doubtful,
        accuracy=of_all.accuracy.value,
        accuracy_interval=of_all.accuracy if trials else None,
        accuracy_without_doubtful=_without_doubtful(trials),
        accuracy_if_settled=_settled(trials),
        mean_reward=of_all.mean_reward if trials else None,
        pass_at_k=of_all.pass_at_k,
        resolved_ids=resolved,
        unresolved_ids=[trial.task_id for trial in trials if not trial.is_resolved],
        failure_modes=dict(sorted(modes.items())),
        by_agent=[_of_agent(name, [trial for trial in trials if trial.participant == name]) for name in agents],
        comparisons=[compared(one, other, runs) for one, other in combinations(agents, 2)],
        tokens=payload.tally.tokens,
        cost=payload.tally.cost,
        results=[trial.model_copy(update={"instruction": trial.instruction[:_INSTRUCTION]}) for trial in trials],
        started_at=payload.started_at,
        ended_at=payload.ended_at,
        duration_seconds=(payload.ended_at - payload.started_at).total_seconds(),
        config=config,
        proctor_version=plan.proctor_version,
    )


def _reward(trial: TrialResult) -> float:
    return trial.reward if trial.reward is not None else float(bool(trial.is_resolved))


def _of_agent(name: str, trials: Sequence[TrialResult]) -> AgentResult:
    from proctor.statistics import Unit, effective_runs, estimated, pass_at_k, share_interval

    by_task: dict[tuple[str, str], list[bool]] = {}
    for trial in trials:
        by_task.setdefault((trial.participant, trial.task_id), []).append(bool(trial.is_resolved))

    def share(value: float, low: float | None, high: float | None) -> Share:
        rounded = (None if bound is None else round(bound, 6) for bound in (low, high))
        return Share(value=round(value, 6), low=next(rounded), high=next(rounded), tasks=len(by_task))

    def mean_share(values: Sequence[float]) -> Share:
        estimate = estimated([Unit((value,)) for value in values], bounds=(0.0, 1.0))
        return share(estimate.mean, estimate.low, estimate.high)

    n_resolved = sum(bool(trial.is_resolved) for trial in trials)
    resolved = n_resolved / len(trials) if trials else 0.0
    interval = share_interval(resolved, effective_runs(list(by_task.values()))) if trials else (None, None)
    fewest = min(map(len, by_task.values()), default=0)
    uses = [use for trial in trials for use in trial.usage]
    costs = [cost for trial in trials if (cost := add_costs(trial.usage)) is not None]
    return AgentResult(
        agent=name,
        n_trials=len(trials),
        n_resolved=n_resolved,
        n_failed=sum(trial.failure is not None for trial in trials),
        n_doubtful=sum(bool(trial.doubts) for trial in trials),
        accuracy=share(resolved, *interval),
        mean_reward=round(sum(map(_reward, trials)) / len(trials), 6) if trials else 0.0,
        pass_at_k={
            k: mean_share([pass_at_k(len(runs), sum(runs), k) for runs in by_task.values()])
            for k in sorted({*_KS, fewest})
            if 1 <= k <= fewest
        },
        tokens=count_tokens(uses),
        cost=sum(costs) if costs else None,
        cost_known=len(costs),
    )


def _read_agents(plan: CampaignPlan, trials: Sequence[TrialResult]) -> dict[str, str]:
    agents = plan.shared.get("agents")
    if isinstance(agents, dict):
        return {name: str(url) for name, url in agents.items()}
    return dict.fromkeys([trial.participant for trial in trials] or [plan.participant], plan.participant_url)


def _without_doubtful(trials: Sequence[TrialResult]) -> float | None:
    """Return the accuracy of the trials without a doubtful verdict; None if all or none are doubtful."""
    certain = [bool(trial.is_resolved) for trial in trials if not trial.doubts]
    return round(sum(certain) / len(certain), 6) if 0 < len(certain) < len(trials) else None


def _settled(trials: Sequence[TrialResult]) -> tuple[float, float] | None:
    """Return the lowest and highest accuracy after doubtful verdicts are settled; None if no verdict is doubtful."""
    doubtful = sum(bool(trial.doubts) for trial in trials)
    if not doubtful:
        return None
    certain = sum(bool(trial.is_resolved) for trial in trials if not trial.doubts)
    return round(certain / len(trials), 6), round((certain + doubtful) / len(trials), 6)


def _shared(asked: TerminalRequest, queue: str, dataset_hash: str) -> dict[str, JsonValue]:
    config = asked.config
    return {
        "agents": {agent.name: agent.url or agent.kind for agent in asked.agents},
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
    """Return a task's name as part of a workflow's id; different names stay different."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "-", name)[:100]
    return plain if plain == name else f"{plain}-{sha256(name.encode()).hexdigest()[:8]}"
