"""A terminal trial's activities, which call the library of ``proctor.terminal`` and the participant's client."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pydantic import ValidationError
from temporalio import activity
from temporalio.exceptions import ApplicationError

import proctor.terminal as terminal
from proctor.activities.attempts import failures, notes
from proctor.activities.attempts.fencing import own_fence
from proctor.activities.attempts.patience import patiently
from proctor.activities.participant import Answer, ParticipantClient, ParticipantClients, PlainParticipant, message_id
from proctor.storage.blobs import BlobRef, BlobStore
from proctor.terminal.failures import (
    ContainerEndedError,
    EngineUnavailableError,
    EnvironmentLostError,
    ImageFailedError,
    LimitExceededError,
    TerminalError,
)
from proctor.terminal.plan import (
    Collected,
    CollectInput,
    EnvironmentInput,
    PreparedTrial,
    StartedTrial,
    StepInput,
    Tested,
    TrialPlan,
    Worked,
)
from proctor.terminal.recording import Recordings
from proctor.terminal.references import EnvironmentRef, ImageRef
from proctor.terminal.task_files import TaskFolders
from purple_sdk.protocol.json_safe import json_safe_text
from purple_sdk.protocol.provenance import ModelUse
from purple_sdk.protocol.terminal import Blame, Blob, FailureMode, TerminalTaskMessage

if TYPE_CHECKING:
    from proctor.terminal.command_endpoint import CommandEndpoint
    from proctor.terminal.engine import Engine
    from proctor.terminal.tasks import TerminalTask
    from proctor.terminal.testing import TestsOutcome

log = logging.getLogger(__name__)

_LONGEST_REPLY = 4_000
_LONGEST_LOG = 8_000
_MOST_NAMED = 50
"""Maximum of rewards, and of processes left running, in a result."""

_CANCEL_SECONDS = 1.0
"""Time for the participant to stop."""

_KEPT_IMAGES = "kept"
"""The run of images that are kept."""

INTERACTION_LOG = "agent_interaction.log"


def host_queue(queue: str, engine_id: str) -> str:
    """Return the task queue of the workers beside one engine."""
    return f"{queue}-{engine_id}"


class TrialActivities:
    """The activities of a trial; for workers beside a Docker engine.

    Args:
        allowed: the access to the host that the operator allows tasks.
        engine_id: the engine's id, by which a trial finds the engine of its environment again.
        endpoint: the server for commands of agents without a Docker socket.
    """

    def __init__(
        self,
        store: BlobStore,
        allowed: Sequence[str],
        engine: "Engine",
        engine_id: str,
        endpoint: "CommandEndpoint",
        recordings: Recordings,
        clients: ParticipantClients,
    ) -> None:
        self._store = store
        self._allowed = allowed
        self._engine = engine
        self._engine_id = engine_id
        self._endpoint = endpoint
        self._recordings = recordings
        self._clients = clients
        self._folders = TaskFolders(store)

    def close(self) -> None:
        self._folders.close()

    @activity.defn
    async def prepare_image(self, plan: TrialPlan) -> PreparedTrial:
        began_at = datetime.now(UTC)
        async with _failing():
            task = await self._task(plan)
            run = _KEPT_IMAGES if plan.keep_images else plan.run_id
            image = await terminal.images.prepare_image(self._engine, task, run, plan.build_seconds)
        return PreparedTrial(
            host_queue=host_queue(plan.queue, self._engine_id),
            image=image.model_dump(mode="json"),
            instruction=json_safe_text(task.instruction),
            seconds=_seconds_since(began_at),
        )

    @activity.defn
    async def start_environment(self, payload: EnvironmentInput) -> StartedTrial:
        """Start the trial's containers, or find existing ones."""
        began_at = datetime.now(UTC)
        plan = payload.plan
        async with _failing():
            image = ImageRef.model_validate(payload.prepared.image)
            task = await self._task(plan)
            environment = await terminal.environments.start(self._engine, task, image, plan.run_id, plan.trial_id)
        return StartedTrial(
            environment=environment.model_dump(mode="json"),
            container=environment.container,
            seconds=_seconds_since(began_at),
        )

    @activity.defn
    async def hand_over(self, payload: StepInput) -> Worked:
        """Let the agent work within its time limit; its failure is a result."""
        async with _failing():
            task, environment = await self._task(payload.plan), _read_environment(payload)
            match payload.plan.agent:
                case "null":
                    now = datetime.now(UTC)
                    return Worked(failure_mode=FailureMode.NONE, started_at=now, ended_at=now)
                case "oracle":
                    return await self._play_solution(payload, task, environment)
                case _:
                    return await self._let_participant_work(payload, task, environment)

    @activity.defn
    async def run_trial_tests(self, payload: StepInput) -> Tested:
        """Close the environment to the agent, then copy the tests in, run them and read their output."""
        began_at = datetime.now(UTC)
        async with _failing():
            await self._endpoint.close(payload.plan.trial_id, leave_commands=payload.plan.leave_running != "nothing")
            await self._folders.checked_folder(payload.plan.task_id, payload.plan.files)
            task, environment = await self._task(payload.plan), _read_environment(payload)
            show = self._recorded_tests(payload, task)
            try:
                outcome = await terminal.testing.run_tests(
                    self._engine,
                    task,
                    environment,
                    payload.plan.test_seconds,
                    payload.plan.leave_running,
                    payload.plan.verifier,
                    on_output=show,
                )
            except EnvironmentLostError:
                for place in (environment, await terminal.fresh.find(self._engine, environment)):
                    if place and (ended := await terminal.environments.ended_by_itself(self._engine, place)):
                        raise ContainerEndedError(f"{ended}, while the tests ran.") from None
                if await terminal.fresh.is_kept(self._engine, environment):
                    raise self._engine.failed("it lost the container of the tests", "they begin again") from None
                raise
        return Tested(
            failure_mode=outcome.failure_mode,
            failure=outcome.failure,
            blame=_decide_blame(outcome, payload.plan) if outcome.failure_mode != FailureMode.NONE else None,
            is_resolved=outcome.is_resolved,
            reward=outcome.reward,
            parser_results=None if outcome.tests is None else dict(outcome.tests),
            rewards={json_safe_text(name): reward for name, reward in list(outcome.rewards.items())[:_MOST_NAMED]},
            left_running=[json_safe_text(process.command) for process in outcome.left_running[:_MOST_NAMED]],
            limits_reached=outcome.quotas.in_words(),
            verifier=outcome.verifier,
            verifier_reason=outcome.verifier_reason and json_safe_text(outcome.verifier_reason),
            doubts=[
                doubt.model_copy(
                    update={"item": json_safe_text(doubt.item), "statement": json_safe_text(doubt.statement)}
                )
                for doubt in outcome.doubts
            ],
            output=await self._keep(json_safe_text(outcome.log).encode()),
            started_at=began_at,
            ended_at=datetime.now(UTC),
        )

    @activity.defn
    async def collect_logs(self, payload: CollectInput) -> Collected:
        """Store all files of the environment that are kept."""
        began_at = datetime.now(UTC)
        trial_id = payload.step.plan.trial_id
        async with _failing():
            task, environment = await self._task(payload.step.plan), _read_environment(payload.step)
            collected = await terminal.collecting.collect(self._engine, task, environment)
        collected += [
            terminal.collecting.CollectedFile(name=f"sessions/{name}", content=await asyncio.to_thread(path.read_bytes))
            for name, path in sorted(self._recordings.find_files(trial_id).items())
        ]
        files = [
            Blob(name=file.name, sha256=ref.sha256, size=ref.size, is_cut=file.is_cut)
            for file, ref in zip(collected, [await self._keep(file.content) for file in collected], strict=True)
        ]
        files += [Blob(name=name, sha256=ref.sha256, size=ref.size) for name, ref in payload.more.items()]
        return Collected(files=files, seconds=_seconds_since(began_at))

    @activity.defn
    async def take_down_trial(self, plan: TrialPlan) -> None:
        async with _failing():
            await self._endpoint.close(plan.trial_id)
            await terminal.environments.remove(self._engine, plan.run_id, plan.trial_id)
        self._recordings.forget(plan.trial_id)

    @activity.defn
    async def remove_run(self, run_id: str) -> None:
        """Remove the images that a run has built on this host."""
        async with _failing():
            await terminal.images.remove_images(self._engine, run_id)

    # Agents

    async def _play_solution(self, payload: StepInput, task: "TerminalTask", environment: EnvironmentRef) -> Worked:
        if activity.info().attempt > 1:
            # Half a solution can't be continued, and a whole run on top of it may have another effect.
            raise failures.ENVIRONMENT_LOST.final(
                "The worker was lost while the task's solution was played: it begins again."
            )
        began_at = datetime.now(UTC)
        recorder = self._recordings.of_agent(payload.plan.trial_id, is_recording=payload.plan.record)
        recorder.remarked("(the task's own solution)")
        played = await terminal.solutions.play_solution(
            self._engine, task, environment, payload.plan.agent_seconds, on_output=recorder.printed
        )
        ending = f"exit code {played.exit_code}" if played.exit_code is not None else "ended at its time limit"
        return Worked(
            failure_mode=FailureMode.AGENT_TIMEOUT if played.is_timed_out else FailureMode.NONE,
            failure="The task's solution took longer than it may." if played.is_timed_out else None,
            said=f"The task's solution was played: {ending}.",
            interaction=await self._keep(json_safe_text(played.output).encode()),
            started_at=began_at,
            ended_at=datetime.now(UTC),
        )

    async def _let_participant_work(
        self, payload: StepInput, task: "TerminalTask", environment: EnvironmentRef
    ) -> Worked:
        plan = payload.plan
        began_at = _find_begin()
        message = await self._message(payload, environment)
        remaining = plan.agent_seconds - _seconds_since(began_at)
        failure_mode, failure, answer, is_over = FailureMode.NONE, None, None, False
        context_id = f"{plan.trial_id}-{payload.number}"
        async with (
            self._clients.talk_in_any_way(plan.participant_url, context_id) as participant,
            self._commands_recorded(plan, environment, began_at),
        ):
            working = asyncio.create_task(self._converse(participant, plan, environment, message))
            watching = asyncio.create_task(terminal.environments.watch(self._engine, environment, task))
            try:
                await asyncio.wait(
                    {working, watching}, timeout=max(remaining, 1.0), return_when=asyncio.FIRST_COMPLETED
                )
                if watching.done():
                    watching.result()  # raises, since watching never ends otherwise
                if working.done():
                    # An agent whose container was just stopped may have noticed it before us.
                    await terminal.environments.look(self._engine, environment, task)
                    answer = working.result()
                    failure_mode, failure = _read_failure(answer)
                else:
                    failure_mode = FailureMode.AGENT_TIMEOUT
                    failure = f"The agent did not finish within {plan.agent_seconds:g} s."
                    await _abandon(participant)
            except LimitExceededError as error:
                failure_mode, failure, is_over = FailureMode.UNKNOWN_AGENT_ERROR, str(error), True
                await _abandon(participant)
            except EnvironmentLostError:
                await _abandon(participant)
                if await terminal.environments.ended_by_itself(self._engine, environment) is None:
                    raise
            except asyncio.CancelledError:
                if _is_unwanted():
                    await asyncio.shield(_abandon(participant))
                raise
            finally:
                for job in (working, watching):
                    job.cancel()
                await asyncio.gather(working, watching, return_exceptions=True)
        if not is_over and (ended := await terminal.environments.ended_by_itself(self._engine, environment)):
            # An agent that ends its own container gets no second start: otherwise it could have another try at will.
            failure_mode, failure, is_over = FailureMode.UNKNOWN_AGENT_ERROR, f"{ended}, while the agent worked.", True
        reply = json_safe_text(answer.find_text(_LONGEST_REPLY)) if answer is not None else ""
        return Worked(
            failure_mode=failure_mode,
            failure=failure,
            said=reply or None,
            usage=_read_usage(answer) if answer is not None else [],
            interaction=await self._keep(_as_log(message, reply, failure, began_at)),
            is_over=is_over,
            started_at=began_at,
            ended_at=datetime.now(UTC),
        )

    async def _converse(
        self,
        participant: ParticipantClient | PlainParticipant,
        plan: TrialPlan,
        environment: EnvironmentRef,
        message: TerminalTaskMessage,
    ) -> Answer:
        """Send the participant the task, or wait for the task of an earlier attempt."""
        if tasks := notes.noted_tasks():
            known = await participant.rejoin(tasks[-1])
            if known is not None:
                return known
            lost = Answer()
            lost.fail("it lost its task: it was restarted while it worked")
            return lost
        return await participant.send(
            message,
            message_id(plan.trial_id, environment.container_id),
            _note_task,
            fence=own_fence(),
            text=message.as_text(),
        )

    async def _message(self, payload: StepInput, environment: EnvironmentRef) -> TerminalTaskMessage:
        plan = payload.plan
        access = None
        if plan.access != "docker":
            access = await self._endpoint.open(environment, record=plan.record)
        return TerminalTaskMessage(
            task_id=plan.task_id,
            instruction=payload.prepared.instruction,
            container=None if plan.access == "endpoint" else environment.container,
            endpoint=access.url if access else None,
            token=access.token if access else None,
            workdir=environment.workdir,
            timeout_seconds=plan.agent_seconds,
        )

    # Records

    @asynccontextmanager
    async def _commands_recorded(
        self, plan: TrialPlan, environment: EnvironmentRef, since: datetime
    ) -> AsyncIterator[None]:
        """Record the commands that the agent runs by ``docker exec``. An error in this doesn't fail the trial."""
        recorder = self._recordings.of_agent(plan.trial_id, is_recording=plan.record)
        is_done = asyncio.Event()
        watching = asyncio.create_task(
            terminal.exec_watch.record_commands(self._engine, environment, recorder, since, is_done)
        )
        try:
            yield
            is_done.set()
            await asyncio.wait({watching})
        finally:
            watching.cancel()
            (problem,) = await asyncio.gather(watching, return_exceptions=True)
            if isinstance(problem, Exception):
                log.warning("%s: what ran by docker exec was not recorded to the end: %s", plan.trial_id, problem)

    def _recorded_tests(self, payload: StepInput, task: "TerminalTask") -> Callable[[bytes], None] | None:
        if not payload.plan.record:
            return None
        recording = self._recordings.of_tests(payload.plan.trial_id)
        recording.typed(f"/tests/{task.test_script.name}")
        return recording.printed

    # Small steps

    async def _task(self, plan: TrialPlan) -> "TerminalTask":
        folder = await self._folders.folder(plan.task_id, plan.files)
        return await asyncio.to_thread(terminal.tasks.load_task, folder, None, self._allowed)

    async def _keep(self, content: bytes) -> BlobRef:
        return await patiently(lambda: self._store.put(content))


@asynccontextmanager
async def _failing() -> AsyncIterator[None]:
    """Convert errors of the library to errors of an activity, retryable or not."""
    try:
        yield
    except EngineUnavailableError as error:
        raise failures.ENGINE_UNAVAILABLE.passing(str(error)) from None
    except EnvironmentLostError as error:
        raise failures.ENVIRONMENT_LOST.final(str(error)) from None
    except TerminalError as error:
        details = {
            "blame": error.blame,
            "failure_mode": str(error.failure_mode),
            "log": json_safe_text(error.log[-_LONGEST_LOG:]),
            "build_failed": isinstance(error, ImageFailedError),
        }
        raise ApplicationError(
            json_safe_text(str(error)), details, type=failures.TRIAL_FAILED, non_retryable=True
        ) from None


def _decide_blame(outcome: "TestsOutcome", plan: TrialPlan) -> Blame:
    """Return the party to blame for failing tests: that of the outcome if a participant played, else the task."""
    return outcome.blame if outcome.blame is not None and plan.agent == "a2a" else "task"


def _read_environment(payload: StepInput) -> EnvironmentRef:
    return EnvironmentRef.model_validate(payload.started.environment)


def _find_begin() -> datetime:
    """Return the start of the agent's time, which the first attempt notes."""
    if noted := notes.noted(notes.BeginNote):
        return noted[0].at
    began = notes.BeginNote(at=datetime.now(UTC))
    notes.note(began)
    return began.at


async def _note_task(answer: Answer) -> None:
    await notes.note_task(answer.task_id)


async def _abandon(participant: ParticipantClient | PlainParticipant) -> None:
    if tasks := notes.noted_tasks():
        with suppress(TimeoutError):
            async with asyncio.timeout(_CANCEL_SECONDS):
                await participant.cancel(tasks[-1])


def _is_unwanted() -> bool:
    """Whether this attempt is canceled because the trial no longer wants an answer."""
    details = activity.cancellation_details()
    return details is not None and details.cancel_requested


def _read_failure(answer: Answer) -> tuple[FailureMode, str | None]:
    """Return the agent's failure. If the agent names one of Terminal-Bench's modes, that mode is returned."""
    mode = next((document["failure_mode"] for document in answer.find_documents() if "failure_mode" in document), None)
    if mode in set(FailureMode) - {FailureMode.NONE, FailureMode.UNSET}:
        return FailureMode(mode), f"The agent says that it failed: {mode}."
    try:
        answer.require_success()
    except ApplicationError as error:
        return FailureMode.UNKNOWN_AGENT_ERROR, json_safe_text(error.message)
    return FailureMode.NONE, None


def _read_usage(answer: Answer) -> list[ModelUse]:
    """Read tokens and cost from the agent's answer. ``usage`` is an object or a list of them, each with a ``model``."""
    for document in answer.find_documents():
        usage = document.get("usage")
        uses = usage if isinstance(usage, list) else [usage]
        with suppress(ValidationError):
            return [ModelUse.model_validate(use) for use in uses if isinstance(use, dict)][:100]
    return []


def _as_log(message: TerminalTaskMessage, reply: str, failure: str | None, began_at: datetime) -> bytes:
    """Return the conversation of evaluator and agent, without the token."""
    shown = message.model_copy(update={"token": "…" if message.token else None}).as_text()
    lines = [
        f"[{began_at.isoformat()}] to the agent:",
        shown,
        "",
        f"[{datetime.now(UTC).isoformat()}] from the agent:",
        reply or "(nothing)",
        *(["", f"failure: {failure}"] if failure else []),
    ]
    return json_safe_text("\n".join(lines)).encode()


def _seconds_since(then: datetime) -> float:
    return round((datetime.now(UTC) - then) / timedelta(seconds=1), 3)
