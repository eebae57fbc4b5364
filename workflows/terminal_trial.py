"""The workflow of a terminal trial: image, environment, agent, tests, logs.

Every step after the image goes to the task queue of the environment's host. If the environment is lost, the trial
begins again. The environment is removed whenever the trial ends.
"""

import asyncio
from datetime import datetime
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, FailureError, TimeoutType, is_cancelled_exception
from temporalio.exceptions import TimeoutError as ActivityTimeoutError

from proctor.activities.attempts import failures
from proctor.activities.attempts.troubles import TROUBLE_SIGNAL, Trouble
from proctor.activities.campaign.plan import CellInput, CellOutcome
from proctor.storage.blobs import BlobRef
from proctor.terminal import plan as plans
from proctor.terminal.archiving import TrialArchiving
from proctor.terminal.trials import INTERACTION_LOG, TrialActivities
from proctor.workflows import limits, names
from proctor.workflows.archiving import archive_trial
from proctor.workflows.ending import run_undisturbed
from proctor.workflows.publishing import UpdatePublisher
from proctor.workflows.steps import Steps, describe_failure
from purple_sdk.protocol.provenance import added_up, count_tokens
from purple_sdk.protocol.results import ResultStatus
from purple_sdk.protocol.terminal import Blame, FailureMode, TrialResult

_LOST = {failures.ENVIRONMENT_LOST, failures.WORKERS_LOST}
"""Failures that neither side caused. After them, the trial begins again."""


@workflow.defn(name=names.TRIAL_WORKFLOW)
class TerminalTrial:
    @workflow.init
    def __init__(self, payload: CellInput) -> None:
        self._campaign_id = payload.campaign_id
        self._owner = payload.owner
        self._label = payload.cell.label
        self._plan = plans.TrialPlan.model_validate(
            {
                **payload.shared,
                **payload.cell.given,
                "trial_id": workflow.info().workflow_id,
                "run_id": payload.campaign_id,
                "play": payload.play,
            }
        )
        self._publisher = UpdatePublisher()
        self._steps = Steps(self._publisher)
        self._places: list[str] = []
        self._phases: dict[str, float] = {}
        self._instruction = ""

    @workflow.run
    async def run(self, payload: CellInput) -> CellOutcome:
        """Play the trial. Return a failure as part of the outcome; raise only a cancellation."""
        began_at = workflow.now()
        try:
            result = await self._play(began_at)
        except (FailureError, asyncio.CancelledError) as error:
            if is_cancelled_exception(error):
                await self._call_off(began_at)
                raise
            result = self._failed(began_at, error)
        result = result.model_copy(update={"trial_ended_at": workflow.now(), "phases": self._seconds()})
        kept: BlobRef = await self._steps.do_here(
            TrialArchiving.keep_trial, result, **limits.quick("keep the trial's result")
        )
        is_played = result.is_resolved is not None
        await self._archive(result, "completed" if is_played else "failed")
        await self._publisher.end()
        has_failed = result.failure_mode != FailureMode.NONE
        return CellOutcome(
            status="failed" if result.is_resolved is None else "completed",
            succeeded=bool(result.is_resolved),
            score=result.reward if result.reward is not None else float(bool(result.is_resolved)),
            failure_kind=result.failure_mode if has_failed else None,
            failure=result.failure if has_failed else None,
            may_be_played_again=result.blame == "evaluator",
            result=kept,
            seconds=(workflow.now() - began_at).total_seconds(),
            cost=_cost(result),
            tokens=count_tokens(result.usage),
            unpriced=self._plan.agent == "a2a" and (not result.usage or any(u.cost is None for u in result.usage)),
            uncounted=self._plan.agent == "a2a" and count_tokens(result.usage) is None,
            places=self._places,
        )

    @workflow.signal(name=TROUBLE_SIGNAL)
    async def hear_trouble(self, trouble: Trouble) -> None:
        """Signal: a step fails repeatedly and is still retried. The campaign's caller gets an update."""
        self._steps.publish_trouble(trouble)
        about = trouble.model_copy(update={"about": self._label})
        try:
            await workflow.get_external_workflow_handle(self._campaign_id).signal(names.CELL_TROUBLE_SIGNAL, about)
        except ApplicationError:
            pass  # the campaign is gone, and nothing listens

    # The parts, in order

    async def _play(self, began_at: datetime) -> TrialResult:
        number = 1
        while True:
            try:
                return await self._play_in_environment(began_at, number)
            except FailureError as error:
                kind, sentence = _describe_failure(error)
                if kind not in _LOST or number > limits.ENVIRONMENT_LOSSES:
                    raise
                self._publisher.publish_failure(kind, sentence)
                number += 1

    async def _play_in_environment(self, began_at: datetime, number: int) -> TrialResult:
        plan = self._plan
        prepared: plans.PreparedTrial = await self._steps.do(
            TrialActivities.prepare_image,
            plan,
            task_queue=plan.queue,
            **limits.on_any_engine("prepare the image", plan.build_seconds + 120),
        )
        self._phases["build"] = prepared.seconds
        self._instruction = prepared.instruction
        if prepared.host_queue not in self._places:
            self._places.append(prepared.host_queue)
        try:
            return await self._work(began_at, number, prepared)
        finally:
            await run_undisturbed(self._take_down(prepared))

    async def _work(self, began_at: datetime, number: int, prepared: plans.PreparedTrial) -> TrialResult:
        plan, host = self._plan, prepared.host_queue
        started: plans.StartedTrial = await self._steps.do(
            TrialActivities.start_environment,
            plans.EnvironmentInput(plan=plan, prepared=prepared, number=number),
            task_queue=host,
            **limits.on_engine("start the environment", 600),
        )
        self._phases["start"] = started.seconds
        step = plans.StepInput(plan=plan, prepared=prepared, started=started, number=number)
        worked = await self._hand_over(step)
        self._phases["agent"] = (worked.ended_at - worked.started_at).total_seconds()
        if worked.is_over:
            tested = plans.Tested(failure_mode=FailureMode.NONE, started_at=worked.ended_at, ended_at=worked.ended_at)
        else:
            tested = await self._steps.do(
                TrialActivities.run_trial_tests,
                step,
                task_queue=host,
                **limits.on_engine("run the tests", 3 * plan.test_seconds + 600),
            )
        self._phases["tests"] = (tested.ended_at - tested.started_at).total_seconds()
        logs = {INTERACTION_LOG: worked.interaction, "sessions/tests.log": tested.output}
        collected: plans.Collected = await self._steps.do(
            TrialActivities.collect_logs,
            plans.CollectInput(step=step, more={name: ref for name, ref in logs.items() if ref is not None}),
            task_queue=host,
            **limits.on_engine("collect the logs", 300),
        )
        self._phases["logs"] = collected.seconds
        return self._result(began_at, worked, tested, collected)

    async def _hand_over(self, step: plans.StepInput) -> plans.Worked:
        """Let the agent work. If the agent fails, the failure is a result, and the tests still run."""
        began_at = workflow.now()
        plan = step.plan
        try:
            worked: plans.Worked = await self._steps.do(
                TrialActivities.hand_over,
                step,
                task_queue=step.prepared.host_queue,
                **limits.terminal_agent(f"{plan.agent} at work", plan.agent_seconds),
            )
        except ActivityError as error:
            kind, sentence = _describe_failure(error)
            if is_cancelled_exception(error) or kind in _LOST or _read_details(error) is not None:
                raise
            return plans.Worked(
                failure_mode=FailureMode.UNKNOWN_AGENT_ERROR,
                failure=sentence,
                started_at=began_at,
                ended_at=workflow.now(),
            )
        return worked

    async def _take_down(self, prepared: plans.PreparedTrial) -> None:
        """Remove the environment at the trial's end. If that fails, the next sweep removes the leftovers."""
        began_at = workflow.now()
        try:
            await workflow.execute_activity_method(
                TrialActivities.take_down_trial,
                self._plan,
                task_queue=prepared.host_queue,
                **limits.swept("take the environment down"),
            )
        except FailureError as error:
            workflow.logger.warning("%s was not taken down: %s", self._plan.trial_id, error)
        self._phases["stop"] = (workflow.now() - began_at).total_seconds()

    async def _call_off(self, began_at: datetime) -> None:
        result = TrialResult(**self._about(began_at), failure="The trial was cancelled.")
        await run_undisturbed(self._archive(result, "canceled"))

    async def _archive(self, result: TrialResult, status: ResultStatus) -> None:
        payload = plans.TrialArchiveInput(plan=self._plan, owner=self._owner, result=result, status=status, updates=[])
        await archive_trial(self._steps, self._publisher, payload)

    # The outcome

    def _result(
        self, began_at: datetime, worked: plans.Worked, tested: plans.Tested, collected: plans.Collected
    ) -> TrialResult:
        is_agents = worked.failure_mode != FailureMode.NONE
        failed = worked if is_agents else tested
        blame: Blame | None = "participant" if is_agents and self._plan.agent == "a2a" else tested.blame
        recording = next((file.name for file in collected.files if file.name.endswith(".cast")), None)
        observed: dict[str, Any] = {
            "rewards": tested.rewards if len(tested.rewards) > 1 else None,
            "left_running": tested.left_running,
            "limits_reached": tested.limits_reached,
        }
        return TrialResult(
            **self._about(began_at),
            is_resolved=tested.is_resolved,
            reward=tested.reward,
            failure_mode=failed.failure_mode,
            failure=failed.failure,
            blame=blame if failed.failure_mode != FailureMode.NONE else None,
            parser_results=tested.parser_results,
            verifier=tested.verifier,
            verifier_reason=tested.verifier_reason,
            doubts=tested.doubts,
            recording_path=recording,
            total_input_tokens=_total(use.input_tokens for use in worked.usage),
            total_output_tokens=_total(use.output_tokens for use in worked.usage),
            usage=added_up(worked.usage),
            agent_started_at=worked.started_at,
            agent_ended_at=worked.ended_at,
            test_started_at=tested.started_at,
            test_ended_at=tested.ended_at,
            agent_message=worked.said,
            files=collected.files,
            details={name: value for name, value in observed.items() if value},
        )

    def _failed(self, began_at: datetime, problem: BaseException) -> TrialResult:
        details = _read_details(problem) or {}
        _, sentence = _describe_failure(problem)
        return TrialResult(
            **self._about(began_at),
            failure_mode=FailureMode(details.get("failure_mode", FailureMode.UNKNOWN)),
            failure=sentence,
            blame=details.get("blame", "evaluator"),
            details={name: details[name] for name in ("log", "build_failed") if details.get(name)},
        )

    def _about(self, began_at: datetime) -> dict[str, Any]:
        plan = self._plan
        return {
            "trial_id": plan.trial_id,
            "trial_name": plan.trial_name,
            "participant": plan.participant or plan.agent,
            "task_id": plan.task_id,
            "attempt": plan.attempt,
            "instruction": self._instruction,
            "trial_started_at": began_at,
            "tries": plan.play,
        }

    def _seconds(self) -> dict[str, float]:
        return {name: round(seconds, 3) for name, seconds in self._phases.items()}


def _describe_failure(problem: BaseException) -> tuple[str, str]:
    """Return a failure's type and a sentence. A lost worker or host counts as a lost environment."""
    cause = problem.cause if isinstance(problem, ActivityError) else None
    silence = (TimeoutType.HEARTBEAT, TimeoutType.SCHEDULE_TO_START)
    if isinstance(problem, ActivityError) and isinstance(cause, ActivityTimeoutError) and cause.type in silence:
        step = problem.activity_type
        return failures.WORKERS_LOST, f"The evaluator's workers were lost at {step}: the trial begins again."
    failure = describe_failure(problem)
    return failure.kind, failure.sentence


def _read_details(problem: BaseException) -> dict[str, Any] | None:
    cause = problem.cause if isinstance(problem, ActivityError) else problem
    if isinstance(cause, ApplicationError) and cause.type == failures.TRIAL_FAILED and cause.details:
        details: dict[str, Any] = cause.details[0]
        return details
    return None


def _total(numbers: Any) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def _cost(result: TrialResult) -> float | None:
    costs = [use.cost for use in result.usage if use.cost is not None]
    return sum(costs) if costs else None
