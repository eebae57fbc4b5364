"""The worker: every workflow and activity, on the task queues of this deployment."""

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any, Literal, TypedDict

from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.service import RPCError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker, WorkerDeploymentConfig

from proctor.activities.admission.activities import AdmissionActivities, ForkActivities
from proctor.activities.admission.queueing import QueueActivities, find_status
from proctor.activities.archive.assessments import ArchiveActivities
from proctor.activities.attempts.around import Around
from proctor.activities.attempts.chain import chain
from proctor.activities.attempts.heartbeats import Heartbeats
from proctor.activities.attempts.metrics import observing
from proctor.activities.attempts.resets import ResetActivities
from proctor.activities.campaign.activities import CampaignActivities, CampaignArchiving
from proctor.activities.campaign.assessments import AssessmentRuns
from proctor.activities.characters.activities import CharacterActivities
from proctor.activities.judging.verdicts import VerdictActivities
from proctor.activities.notifications.activities import NotificationActivities, NotificationSource
from proctor.activities.notifications.plan import Notification
from proctor.activities.participant.activities import ParticipantActivities
from proctor.activities.scenario_code.confinement import find_missing_protections, hide_from_neighbours
from proctor.activities.simulation.hosts import SimulationHost
from proctor.activities.simulation.lifecycle import LifecycleActivities
from proctor.activities.simulation.moving import Moving
from proctor.activities.simulation.turns import TurnActivities
from proctor.observing.address import observed
from proctor.observing.logs import set_up_logs
from proctor.observing.readiness import log_problems
from proctor.observing.tracing import start_tracing, stop_tracing
from proctor.protocol.roles import get_task_id
from proctor.protocol.task_ids import unique_part
from proctor.service.attempts import write_line
from proctor.service.engine_wait import until_there_may_be_an_engine
from proctor.service.handing_back import WritingDown
from proctor.service.namespace import ensure_retention, ensure_search_attributes
from proctor.service.parts import Parts, open_parts
from proctor.service.simulator_watch import SimulatorWatch, find_problem_of_public_address
from proctor.service.telemetry import make_telemetry
from proctor.service.watchdog import watched
from proctor.service.worker_needs import worker_needs
from proctor.settings.config import GreenAgentConfig
from proctor.storage.fleet import Fingerprint, find_stranger
from proctor.storage.temporal import TemporalUnreachableError, connect, refusal_by_temporal
from proctor.terminal.archiving import TrialArchiving
from proctor.terminal.runs import TerminalRuns
from proctor.workflows.assessment import Assessment
from proctor.workflows.assessment_cell import AssessmentCell
from proctor.workflows.campaign import Campaign
from proctor.workflows.context_queue import ContextQueue
from proctor.workflows.names import ASSESSMENT_WORKFLOW, JUDGING_QUEUE, NOTIFICATIONS_QUEUE, WAITING_QUEUE
from proctor.workflows.notifications import Notifications
from proctor.workflows.terminal_trial import TerminalTrial
from purple_sdk.processes.announcing import announce
from purple_sdk.ues import OvertakenError, UESError

_TIDY_SECONDS = 5.0
_NOTES_REACH_TEMPORAL = timedelta(milliseconds=200)
"""The longest delay until Temporal has an attempt's notes for the next attempt (the participant's task)."""
_POLLS, _WAITING_POLLS = 2, 1
"""How many requests for activities a worker has open. A stopped worker may lose one attempt for each open request.
``_WAITING_POLLS`` is for steps with the participant: they have only six attempts, and a lost one is noticed late.
"""
_QUICK_AT_ONCE = 12
"""How many quick steps a worker runs at a time. Other steps wait in Temporal, where tasks don't time out. If a fetched
step waits too long for the event loop, it counts as lost, as if its worker had died. A higher number would not be
faster, and would lose steps on an overloaded machine.
"""
_WORKFLOW_TASKS_AT_ONCE = 6
"""The same limit for steps of workflows."""
_WORKFLOW_THREADS = 2
"""Threads for workflows. Python runs one of them at a time; the second may run while the first waits for a lock."""
_JUDGED_AT_ONCE = 8
"""How many evaluators of scenarios run at a time, each in a separate process."""
_THINKING_AT_ONCE = 100
_WAITING_AT_ONCE = 3_000
_BEGUN_PER_SECOND = 25.0
"""The most waiting activities that a worker begins in a second, for the reasons of ``_QUICK_AT_ONCE``."""
_CACHED = 3_000
"""How many workflows a worker caches. An assessment has two: one for itself, one for its context. A workflow that drops
out of the cache is replayed from its beginning at its next step.
"""
_MISSED_AFTER = timedelta(seconds=5)
"""If a worker doesn't fetch a task of a cached workflow for this long, any other worker may take the task. That worker
must replay the workflow. This would be wasted time if the first worker was only busy.
"""


WORKFLOWS: list[type] = [Assessment, AssessmentCell, Campaign, ContextQueue, Notifications, TerminalTrial]


class MisfitError(Exception):
    """Another worker of the deployment has other settings than this one; the message has the remedy."""


@dataclass(frozen=True)
class Part:
    """One of several processes of a worker. The first process also does the tasks that a machine needs once.

    Attributes:
        number: the number of the process, from 0.
        parent: the id of the process that has started all of them.
        attempts: the descriptor of the pipe to the parent (``proctor.service.attempts``).
    """

    number: int
    parent: int
    attempts: int

    def identity(self) -> str:
        """The name of this process for Temporal. A worker of one process has the SDK's default, ``PID@HOST``."""
        return f"{self.parent}.{self.number}@{socket.gethostname()}"


async def run_worker(config: GreenAgentConfig, *, part: Part | None = None) -> None:
    """Work until SIGTERM or SIGINT, then finish the current steps.

    Args:
        part: this process's part in a worker of several processes; None if it is the only process.

    Raises:
        TemporalUnreachableError: no server answers at the Temporal address, or it can't be used.
        MisfitError: another worker of the deployment uses a different store, archive or secret, or other payload keys.
    """
    set_up_logs(config.log_format, config.log_level)
    start_tracing("proctor-worker")
    runtime, render = make_telemetry(config)
    client = await connect(config, runtime)
    try:
        await ensure_search_attributes(client, config)
        await ensure_retention(client, config)
    except RPCError as error:
        raise TemporalUnreachableError(refusal_by_temporal(config, error)) from None
    if stranger := await find_stranger(client, config):
        raise MisfitError(
            f"{stranger} This worker doesn't start beside it. If that one was just stopped, try again in two minutes."
        )
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    hide_from_neighbours()
    async with AsyncExitStack() as stack:
        stack.callback(stop_tracing)
        stack.enter_context(watched())
        parts = await stack.enter_async_context(open_parts(config))
        participants = ParticipantActivities(config, parts.scenarios, parts.simulations, parts.store)
        stack.push_async_callback(participants.aclose)
        identity = f"{part.identity() if part else client.identity} {await Fingerprint.of(config)}"
        workers = _workers(client, parts, participants, (identity, part))
        for worker in workers:
            await stack.enter_async_context(worker)
        if part is None or part.number == 0 or config.ues_command:  # each process has its own servers
            watch = SimulatorWatch(config, parts.simulations.host)
            tidying = asyncio.create_task(_tidy(client, parts.simulations.host, watch))
            stack.callback(tidying.cancel)
        trials = asyncio.create_task(_play_trials(client, parts))
        trials.add_done_callback(_say_if_failed)
        stack.push_async_callback(_end, trials)
        needs = worker_needs(config, client, workers)
        address = observed(config.observe_host, config.observe_port, "proctor worker", needs, render)
        await stack.enter_async_context(address)
        log = logging.getLogger(__name__)
        await log_problems(log, {name: needs[name] for name in ("store", "archive", "fleet")})
        if wrong := await find_problem_of_public_address(config, must_answer=True):
            log.warning(wrong)
        if (missing := await asyncio.to_thread(find_missing_protections)) and not config.trust_scenarios:
            log.warning("scenarios that did not come with proctor are refused here: %s", "; ".join(missing))
        if part is None:
            announce(f"proctor worker polling {config.task_queue} at {config.temporal_address}")
        else:
            write_line(part.attempts, ready=True)
        await stop.wait()


def _workers(
    client: Client,
    parts: Parts,
    participants: ParticipantActivities,
    whose: tuple[str, Part | None],
) -> list[Worker]:
    """One worker for each task queue; each queue is for a scarce resource. ``whose`` is (identity, part)."""
    identity, part = whose
    config, store, scenarios, simulations = parts.config, parts.store, parts.scenarios, parts.simulations
    outside = WritingDown(part.attempts) if part else None
    turns = TurnActivities(scenarios, simulations)
    verdicts = VerdictActivities(config, store, scenarios, simulations, parts.models)
    lifecycle = LifecycleActivities(store, scenarios, simulations)
    runs = AssessmentRuns(config, store, scenarios)
    forks = ForkActivities(config, store, scenarios, simulations)
    campaigns = CampaignActivities(store, [TerminalRuns(config, store), runs])
    scrubbing = parts.make_scrubbing()
    thinking: list[Callable[..., Any]] = [
        CharacterActivities(scenarios, parts.models).respond,
        verdicts.judge_criterion,
    ]
    waiting: list[Callable[..., Any]] = [
        participants.greet,
        participants.purple_turn,
        participants.farewell,
        campaigns.join_cell,
        runs.join_assessment,
        QueueActivities().wait_until_over,
    ]
    trials = TrialArchiving(config, store, scrubbing.make_scrubber)
    quick: list[Callable[..., Any]] = [
        AdmissionActivities(config, store, scenarios).admit,
        QueueActivities().join_queue,
        QueueActivities().is_running,
        ResetActivities().measure_pauses,
        campaigns.plan_campaign,
        campaigns.read_cells,
        campaigns.keep_outcomes,
        campaigns.sum_up_campaign,
        runs.keep_played,
        trials.keep_trial,
        forks.admit_fork,
        forks.set_up_fork,
        lifecycle.set_up,
        lifecycle.conclude,
        lifecycle.keep_results,
        lifecycle.take_down,
        ArchiveActivities(config, store, scrubbing.make_scrubber).archive,
        CampaignArchiving(config, store, scrubbing.make_scrubber).archive_campaign,
        trials.archive_trial,
        turns.apply,
        turns.advance,
    ]

    def make(queue: str, steps: list[Callable[..., Any]], at_once: int, polls: int = _POLLS, **more: Any) -> Worker:
        beats = Heartbeats()
        worker = Worker(
            client,
            task_queue=queue,
            identity=identity,
            activities=steps,
            interceptors=chain(beats, scrubbing, outside, Moving(simulations)),
            max_concurrent_activities=at_once,
            max_concurrent_activity_task_polls=polls,
            max_heartbeat_throttle_interval=_NOTES_REACH_TEMPORAL,
            default_heartbeat_throttle_interval=_NOTES_REACH_TEMPORAL,
            graceful_shutdown_timeout=timedelta(seconds=5),
            **_version(config),
            **more,
        )
        beats.beat_through(worker)
        return worker

    notifications_beats = Heartbeats()
    notifications = Worker(
        client,
        task_queue=config.task_queue + NOTIFICATIONS_QUEUE,
        identity=identity,
        activities=[NotificationActivities(config, _make_source(config, client)).notify],
        interceptors=[Around(observing), notifications_beats],
        max_concurrent_activities=1_000,
        max_heartbeat_throttle_interval=_NOTES_REACH_TEMPORAL,
        default_heartbeat_throttle_interval=_NOTES_REACH_TEMPORAL,
        **_version(config),
    )
    notifications_beats.beat_through(notifications)
    return [
        make(
            config.task_queue,
            [*quick, *thinking],  # offline, characters and judges are quick steps, too
            _QUICK_AT_ONCE,
            workflows=WORKFLOWS,
            workflow_runner=UnsandboxedWorkflowRunner(),
            workflow_task_executor=ThreadPoolExecutor(_WORKFLOW_THREADS, thread_name_prefix="proctor-workflow"),
            max_concurrent_workflow_tasks=_WORKFLOW_TASKS_AT_ONCE,
            max_cached_workflows=_CACHED,
            sticky_queue_schedule_to_start_timeout=_MISSED_AFTER,
        ),
        make(
            config.task_queue + WAITING_QUEUE,
            waiting,
            _WAITING_AT_ONCE,
            _WAITING_POLLS,
            max_activities_per_second=_BEGUN_PER_SECOND,
        ),
        make(config.task_queue + JUDGING_QUEUE, [verdicts.judge_criterion], _JUDGED_AT_ONCE),
        make(
            config.models_task_queue,
            thinking,
            _THINKING_AT_ONCE,
            max_task_queue_activities_per_second=config.models_per_second,
        ),
        notifications,
    ]


class _Version(TypedDict, total=False):
    """A worker's version for Temporal: exactly one of the fields is set."""

    build_id: str
    deployment_config: WorkerDeploymentConfig


def _version(config: GreenAgentConfig) -> _Version:
    """A worker's version. If the settings have a build id, Temporal keeps workflows on the version they began with.

    Otherwise the version is the release: without any, the SDK would read every module's code to make one.
    The versioning behavior is set here, not at the workflows: Temporal refuses an unversioned worker whose workflows
    name a behavior.
    """
    if not config.worker_build_id:
        return {"build_id": f"proctor-{version('proctor')}"}
    deployment = WorkerDeploymentConfig(
        version=WorkerDeploymentVersion(deployment_name=config.task_queue, build_id=config.worker_build_id),
        use_worker_versioning=True,
        default_versioning_behavior=VersioningBehavior.PINNED,
    )
    return {"deployment_config": deployment}


def _make_source(config: GreenAgentConfig, client: Client) -> NotificationSource:
    """The source of task updates. The gateway's texts are imported at the first update."""

    @cache
    def task_events() -> Any:
        from proctor.a2a_gateway.task_events import TaskEvents

        return TaskEvents.from_client(config, client)

    async def notifications(task_id: str, protocol: Literal["1.0", "0.3"]) -> AsyncGenerator[Notification]:
        async with aclosing(task_events().notifications(task_id, protocol)) as events:
            async for notification in events:
                yield notification

    return notifications


async def _play_trials(client: Client, parts: Parts) -> None:
    """Play terminal trials if the settings want it. The modules for trials are imported once an engine may exist."""
    if parts.config.containers == "off":
        return
    await until_there_may_be_an_engine(parts.config)
    containers = await asyncio.to_thread(import_module, "proctor.service.containers")
    await containers.play_trials(client, parts)


async def _end(work: asyncio.Task[None]) -> None:
    work.cancel()
    await asyncio.wait({work})


def _say_if_failed(work: asyncio.Task[None]) -> None:
    if not work.cancelled() and (problem := work.exception()) is not None:
        logging.getLogger(__name__).error("terminal trials are not played here any more", exc_info=problem)


async def _tidy(client: Client, simulation_host: SimulationHost, watch: SimulatorWatch) -> None:
    """End simulations whose assessments are over, by a check every ``_TIDY_SECONDS``.

    A simulation is left behind in these cases:

    * the assessment was terminated, which skips the clean-up
    * the assessment ended while the simulator didn't answer
    * the assessment ended on another worker than the one with its UES server

    If Temporal doesn't know the assessment, its simulation stays on a shared simulator, since it may belong to another
    Temporal. On a separate UES server, the simulation is ended if the next check doesn't find the assessment, either.
    """
    missing: frozenset[str] = frozenset()
    while True:
        with suppress(RPCError, UESError):  # Temporal or the simulator doesn't answer: next time
            fences = await watch.list_standing()
            ids = await _of_no_running_assessment(client, list(fences))
            statuses = {simulation_id: await _find_status(client, simulation_id) for simulation_id in ids}
            before, missing = missing, frozenset(name for name, status in statuses.items() if status is None)
            for simulation_id, status in statuses.items():
                # An unknown assessment may be another Temporal's, or have just begun: Temporal's list lags behind.
                is_unsure = status is None and (simulation_host.may_be_others or simulation_id not in before)
                if status != WorkflowExecutionStatus.RUNNING and not is_unsure:
                    # If a reset has restored the simulation since then, the fence is old, and nothing is ended.
                    with suppress(OvertakenError):
                        await simulation_host.end(simulation_id, fences[simulation_id])
        await asyncio.sleep(_TIDY_SECONDS)


async def _find_status(client: Client, simulation_id: str) -> WorkflowExecutionStatus | None:
    """Find the state of the assessment that a simulation belongs to; None if Temporal has no such assessment.

    The id of an assessment begins with the id of its simulation. Temporal's list, which lags behind, gives only the
    ids; each state is read by id.
    """
    begin = get_task_id(simulation_id)
    query = f"WorkflowType = '{ASSESSMENT_WORKFLOW}' AND WorkflowId STARTS_WITH '{begin}-'"
    named = [] if "'" in begin else [workflow.id async for workflow in client.list_workflows(query)]
    statuses = [await find_status(client, task_id) for task_id in (begin, *named)]
    return min((status for status in statuses if status is not None), default=None)  # RUNNING is the least


async def _of_no_running_assessment(client: Client, simulation_ids: list[str]) -> list[str]:
    if not simulation_ids:
        return []
    query = f"WorkflowType = '{ASSESSMENT_WORKFLOW}' AND ExecutionStatus = 'Running'"
    running = {unique_part(workflow.id) async for workflow in client.list_workflows(query, page_size=1000)}
    return [simulation_id for simulation_id in simulation_ids if get_task_id(simulation_id) not in running]
