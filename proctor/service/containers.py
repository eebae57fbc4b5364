"""The part of a worker that uses a Docker engine: it plays terminal trials, and removes what dead workers have left.

A worker without an engine looks for it periodically, so worker and engine may start in any order.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from importlib.metadata import version
from typing import Any

from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError
from temporalio.worker import Worker

from proctor.activities.admission.queueing import find_status
from proctor.activities.attempts.chain import chain
from proctor.activities.attempts.heartbeats import Heartbeats
from proctor.activities.participant import ParticipantClients
from proctor.service.live_terminals import find_recordings
from proctor.service.parts import Parts
from proctor.terminal.command_endpoint import CommandEndpoint
from proctor.terminal.engine import Engine
from proctor.terminal.failures import EngineUnavailableError, TerminalError
from proctor.terminal.sweeping import sweep
from proctor.terminal.trials import TrialActivities, host_queue
from purple_sdk.processes.announcing import announce

_LOOK_SECONDS = 5.0  # between two checks for a missing engine
_SWEEP_SECONDS = 30.0

_NOTES_REACH_TEMPORAL = timedelta(milliseconds=200)
_AT_ONCE = 200  # steps of trials at a time; campaigns limit the number of trials

log = logging.getLogger(__name__)


async def play_trials(client: Client, parts: Parts) -> None:
    """Play terminal trials on this machine's engine until cancelled; wait whenever the engine isn't available."""
    config = parts.config
    if config.containers == "off":
        return
    engine = Engine(config.docker_url)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(engine.aclose)
        engine_id = await _engine_id(engine, must_be=config.containers == "on")
        recordings = find_recordings(config.state)
        endpoint = CommandEndpoint(
            engine,
            config.secret.get_secret_value(),
            recordings,
            host=config.commands_host,
            port=config.commands_port,
            advertise=config.commands_url,
        )
        stack.push_async_callback(endpoint.aclose)
        if config.commands_port:
            await endpoint.listen()
        clients = ParticipantClients(config)
        stack.push_async_callback(clients.aclose)
        allowed = config.containers_allow.replace(",", " ").split()
        trials = TrialActivities(parts.store, allowed, engine, engine_id, endpoint, recordings, clients)
        stack.callback(trials.close)
        for worker in _workers(client, parts, trials, engine_id):
            await stack.enter_async_context(worker)
        announce(f"proctor worker polling {config.containers_task_queue} with the Docker engine {engine_id}")
        await _sweep_again_and_again(client, engine)


async def _engine_id(engine: Engine, *, must_be: bool) -> str:
    is_logged = False
    while True:
        try:
            return await engine.check()
        except EngineUnavailableError as error:
            if not is_logged:
                (log.warning if must_be else log.info)("no terminal trials are played here yet: %s", error)
                is_logged = True
        await asyncio.sleep(_LOOK_SECONDS)


def _workers(client: Client, parts: Parts, trials: TrialActivities, engine_id: str) -> list[Worker]:
    """Two workers: one for trials that may begin on any host, one for trials whose containers run on this host."""
    config, scrubbing = parts.config, parts.make_scrubbing()
    shared, here = config.containers_task_queue, host_queue(config.containers_task_queue, engine_id)
    steps_here: list[Callable[..., Any]] = [
        trials.start_environment,
        trials.hand_over,
        trials.run_trial_tests,
        trials.collect_logs,
        trials.take_down_trial,
        trials.remove_run,
    ]
    queues: list[tuple[str, list[Callable[..., Any]]]] = [(shared, [trials.prepare_image]), (here, steps_here)]
    workers = []
    for queue, steps in queues:
        beats = Heartbeats()
        worker = Worker(
            client,
            task_queue=queue,
            activities=steps,
            interceptors=chain(beats, scrubbing, None, None),
            max_concurrent_activities=_AT_ONCE,
            max_heartbeat_throttle_interval=_NOTES_REACH_TEMPORAL,
            default_heartbeat_throttle_interval=_NOTES_REACH_TEMPORAL,
            graceful_shutdown_timeout=timedelta(seconds=5),
            build_id=f"proctor-{version('proctor')}",  # without it, the SDK would read every module's code to make one
        )
        beats.beat_through(worker)
        workers.append(worker)
    return workers


async def _sweep_again_and_again(client: Client, engine: Engine) -> None:
    """Periodically remove what ended runs and trials have left on the engine."""

    async def is_over(run: str, trial: str | None) -> bool:
        # A workflow that Temporal doesn't know (any more) may belong to another deployment.
        status = await find_status(client, trial or run)
        return status not in (None, WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.CONTINUED_AS_NEW)

    while True:
        with suppress(TerminalError, RPCError):  # the engine or Temporal doesn't answer: next time
            if removed := await sweep(engine, is_over):
                log.info("removed %s things that trials had left", removed)
        await asyncio.sleep(_SWEEP_SECONDS)
