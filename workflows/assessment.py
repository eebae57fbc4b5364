"""The workflow of one assessment: admitted, queued, prepared, played turn by turn, judged, ended."""

import asyncio
from collections.abc import Awaitable, Iterable
from datetime import datetime
from typing import Any

from temporalio import workflow
from temporalio.contrib.workflow_streams import WorkflowStreamState
from temporalio.exceptions import ApplicationError, is_cancelled_exception

from proctor.activities.admission.activities import AdmissionActivities, ForkActivities
from proctor.activities.admission.payloads import SO_FAR_QUERY, AdmitInput, SoFar
from proctor.activities.attempts import failures
from proctor.activities.attempts.troubles import TROUBLE_SIGNAL, Trouble
from proctor.activities.plan import Plan
from proctor.protocol import updates
from proctor.workflows import limits, names
from proctor.workflows.archiving import archive
from proctor.workflows.context_queue import GRANT_SIGNAL, PlaceInContext
from proctor.workflows.ending import end, notify_participant, run_undisturbed, take_down
from proctor.workflows.inputs import AssessmentInput
from proctor.workflows.judging import Judging
from proctor.workflows.participant import greet, note_reset, set_up
from proctor.workflows.progress import Carried, Progress, Together
from proctor.workflows.publishing import UpdatePublisher
from proctor.workflows.several import Several
from proctor.workflows.steps import Failure, Steps, describe_failure
from proctor.workflows.summing_up import Ending, last_update, note_score, sum_up
from proctor.workflows.time_played import Timed, TimePlayed
from proctor.workflows.turns import Turns
from purple_sdk.protocol.messages import CompletionReason
from purple_sdk.protocol.request import is_fork_request
from purple_sdk.protocol.results import AssessmentResults, ResultStatus

_RESET_TOO_LATE = (
    "The reset was to a point after the failure, so no turn or judging was repeated. Run: proctor replay {}. Or reset "
    "to the Workflow Task Completed event before the turn's purple_turn, or before conclude. The failure was:"
)
"""The beginning of the failure's message if a run was reset while it was ending."""


@workflow.defn(name=names.ASSESSMENT_WORKFLOW)
class Assessment:
    """One assessment of one or several participants. Its id is the A2A task's id; its result is the A2A artifact."""

    @workflow.init
    def __init__(self, payload: AssessmentInput) -> None:
        carried = None if payload.carried is None else Carried.model_validate(payload.carried)
        self._payload = payload
        self._plan: Plan | None = None
        self._progress = carried.progress if carried else None
        self._publisher = UpdatePublisher(carried.stream if carried else None)
        self._steps = Steps(self._publisher)
        self._place = PlaceInContext(self._steps, payload, is_taken=carried is not None)
        timed = (carried.together or carried.progress) if carried else None
        self._time = TimePlayed(self._steps, timed.paused if timed else 0.0)
        self._judging = Judging(self._steps, self._publisher, self._time)
        self._several: Several | None = None
        if carried:
            self._steps.simulator = carried.plan.simulator
            self._follow(carried.plan)
            if carried.together:
                self._several = self._make_several(carried.plan, carried.together)

    @workflow.run
    async def run(self, payload: AssessmentInput) -> AssessmentResults:
        """Play the whole assessment; return the scored result.

        Fails as ``Rejected`` for a request that can't be carried out. Fails as ``AssessmentFailed`` if the assessment
        failed; the error's first detail has the results so far.
        """
        try:
            plan = self._plan or await self._admit()
            if plan.roles:
                reason: CompletionReason = "scenario_complete"
                results = await self._assess_several(plan)
            else:
                progress = self._progress or await self._open(plan)
                results = await self._time.run_within(
                    plan.assessment_timeout, progress, lambda: self._assess(plan, progress)
                )
                reason = _reason(progress)
        except (Exception, asyncio.CancelledError) as error:
            if is_cancelled_exception(error):
                await self._call_off()
                raise
            raise await self._fail(error) from None
        self._publisher.show("**Completed**")
        await self._end(reason, names.Status.COMPLETED, results)
        return results

    @workflow.signal(name=GRANT_SIGNAL)
    async def begin(self) -> None:
        """Signal of the context's queue: no other assessment of the context is running."""
        self._place.take()

    @workflow.signal(name=TROUBLE_SIGNAL)
    async def hear_trouble(self, trouble: Trouble) -> None:
        """Signal: a running step fails repeatedly and is still retried. The caller gets an update."""
        self._steps.publish_trouble(trouble)

    @workflow.query(name=SO_FAR_QUERY)
    def tell_so_far(self) -> SoFar:
        """Return the plan and the turns until now, for forks. The query fails until the first turn can begin."""
        reached = [role.progress for role in self._several.roles] if self._several else [self._progress]
        played = [progress.played() for progress in reached if progress]
        if self._plan is None or len(played) < len(reached):
            raise ApplicationError("it has not begun")
        return SoFar(plan=self._plan, played=played)

    # The parts, in order

    async def _admit(self) -> Plan:
        self._publisher.show("**Checking the request**", begins="the start")
        waiting = asyncio.create_task(self._place.wait())
        try:
            plan = await self._check(AdmitInput(task_id=self._payload.task_id, request=self._payload.request))
            self._follow(plan)
        except BaseException:
            waiting.cancel()
            raise
        workflow.upsert_memo({"scenario": plan.scenario_id, "participant": plan.participant_url, "seed": plan.seed})
        await waiting
        return plan

    async def _check(self, asked: AdmitInput) -> Plan:
        if is_fork_request(asked.request):
            fork: Plan = await self._steps.do(ForkActivities.admit_fork, asked, **limits.prepared("check the request"))
            return fork
        plan: Plan = await self._steps.do_here(AdmissionActivities.admit, asked, **limits.quick("check the request"))
        return plan

    def _follow(self, plan: Plan) -> None:
        self._plan = plan
        self._publisher.only_milestones = not plan.verbose_updates

    async def _open(self, plan: Plan) -> Progress:
        started_at = self._begin(plan)
        progress, prepared = await set_up(self._steps, plan, started_at)
        self._progress = progress
        self._tell_of_scenario(plan)
        await greet(self._steps, self._publisher, plan, prepared, progress)
        return progress

    def _begin(self, plan: Plan) -> datetime:
        workflow.upsert_search_attributes(names.make_search_attributes(plan.scenario_id, plan.participant_url))
        started_at = workflow.now()
        self._publisher.publish(
            updates.AssessmentStartedUpdate(
                assessment_id=plan.assessment_id,
                scenario_id=plan.scenario_id,
                participant_url=plan.participant_url,
                start_time=started_at,
                forked_from=plan.fork.origin if plan.fork else None,
            )
        )
        return started_at

    def _tell_of_scenario(self, plan: Plan) -> None:
        self._publisher.publish(
            updates.ScenarioLoadedUpdate(
                scenario_id=plan.scenario_id,
                scenario_name=plan.scenario_name,
                start_time=plan.start_time,
                end_time=plan.end_time,
                character_count=plan.character_count,
                criteria_count=len(plan.criteria),
                expected_turns=plan.expected_turns,
                warnings=plan.warnings,
            )
        )

    async def _assess(self, plan: Plan, progress: Progress) -> AssessmentResults:
        turns = Turns(self._steps, self._publisher, plan, progress)
        while turns.is_another_due():
            await turns.play_next()
            await self._carry_on_if_long(plan, progress)
        self._publisher.show("**Closing the simulation**", begins="the judging")
        await self._judging.conclude(plan, progress)
        await self._time.measure_pauses(progress)
        return self._tell_results(self._sum_up(plan, Ending("completed", _reason(progress))), _reason(progress))

    def _tell_results(self, results: AssessmentResults, reason: CompletionReason) -> AssessmentResults:
        note_score(results)
        self._publisher.publish(last_update(results, reason))
        return results

    def _make_several(self, plan: Plan, together: Together) -> Several:
        return Several(plan, together, self._steps, self._publisher, self._time)

    async def _assess_several(self, plan: Plan) -> AssessmentResults:
        is_new = self._several is None
        several = self._several = self._several or self._make_several(plan, Together(started_at=self._begin(plan)))

        async def play() -> AssessmentResults:
            if is_new:
                await several.open()
                self._tell_of_scenario(plan)
            while await several.play_turn():
                await self._carry_on_if_long(plan, several.together)
            await several.judge()
            await self._time.measure_pauses(several.together)
            results = self._sum_up(plan, Ending("completed", "scenario_complete"))
            return self._tell_results(results, "scenario_complete")

        return await self._time.run_within(plan.assessment_timeout, several.together, play)

    async def _carry_on_if_long(self, plan: Plan, timed: Progress | Together) -> None:
        run = workflow.info()
        if not run.is_continue_as_new_suggested() and run.get_current_history_length() <= limits.HISTORY_EVENTS:
            return
        await self._time.measure_pauses(timed)
        for progress in timed.roles.values() if isinstance(timed, Together) else [timed]:
            note_reset(progress)

        def next_run(stream: WorkflowStreamState) -> list[AssessmentInput]:
            if isinstance(timed, Together):
                placed = self._several.placed() if self._several else plan
                carried = Carried(plan=placed, together=timed, stream=stream)
            else:
                carried = Carried(plan=self._steps.placed(plan), progress=timed, stream=stream)
            return [self._payload.model_copy(update={"carried": carried.model_dump(mode="json")})]

        await self._publisher.stream.continue_as_new(next_run)

    # The ways out

    async def _fail(self, problem: BaseException) -> ApplicationError:
        """End a failed assessment. Return an error with the reason and the results so far."""
        resets_before = self._time.resets
        failure = describe_failure(problem)
        if failure.is_defect:
            workflow.logger.error("%s", failure.sentence, exc_info=problem)
        if failure.kind == failures.REJECTED:
            await self._end("error", names.Status.REJECTED)
            return ApplicationError(failure.sentence, type=names.REJECTED_FAILURE, non_retryable=True)
        is_timeout = failure.kind in (failures.TURN_TIMEOUT, failures.DEADLINE)
        reason: CompletionReason = "timeout" if is_timeout else "error"
        await run_undisturbed(self._time.measure_pauses(self._timed))
        results = self._publish_failure(failure, reason, self._plan) if self._plan is not None else None
        await self._end(reason, names.Status.FAILED, results)
        details = [] if self._plan is None else [results and results.model_dump(mode="json")]
        sentence = failure.sentence
        if self._time.resets > resets_before:  # as with LastWorkflowTask
            sentence = f"{_RESET_TOO_LATE.format(self._payload.task_id)} {sentence}"
        return ApplicationError(sentence, *details, type=names.ASSESSMENT_FAILURE, non_retryable=True)

    def _publish_failure(self, failure: Failure, reason: CompletionReason, plan: Plan) -> AssessmentResults | None:
        """Publish a failure. Return the results so far, or None if they can't be made."""
        self._publisher.publish_failure(failure.kind, failure.sentence, is_final=True)
        self._publisher.show_failure(failure.sentence)
        try:
            status: ResultStatus = "timeout" if reason == "timeout" else "failed"
            results = self._sum_up(plan, Ending(status, reason, failure.sentence, failure.kind))
            note_score(results)
        except Exception:
            workflow.logger.exception("the results of an assessment that has failed can't be made")
            return None
        self._publisher.publish(last_update(results, reason))
        return results

    async def _call_off(self) -> None:
        """End a cancelled assessment. A canceled workflow has no result: its memo names the results so far."""
        so_far = None
        if self._plan is not None:
            try:
                await run_undisturbed(self._time.measure_pauses(self._timed))
                so_far = self._sum_up(self._plan, Ending("canceled", "canceled", "the assessment was cancelled"))
            except Exception:
                workflow.logger.exception("the results of an assessment that is cancelled can't be made")
        await self._end("error", names.Status.CANCELED, so_far)

    @property
    def _timed(self) -> Timed | None:
        return self._several.together if self._several else self._progress

    def _sum_up(self, plan: Plan, ending: Ending) -> AssessmentResults:
        if self._several:
            return self._several.sum_up(ending)
        return sum_up(plan, self._progress, self._judging, ending)

    async def _end(
        self, reason: CompletionReason, status: names.Status, results: AssessmentResults | None = None
    ) -> None:
        """Carry out the steps of every end: inform the participant, remove the simulation and its keys, let the next
        assessment begin, and archive the results.
        """

        def part() -> Iterable[Awaitable[Any]]:
            if self._plan is None:
                return []
            partings: list[Awaitable[Any]] = []
            if results is not None:
                partings.append(
                    archive(self._steps, self._publisher, self._payload, self._plan, self._progress, results)
                )
            if self._several:
                partings += self._several.partings(self._payload, reason, results)
            elif self._place.is_taken:
                unfinished = self._progress.tasks_left if self._progress else []
                notice = notify_participant(self._steps.placed(self._plan), reason, unfinished)
                partings += [notice, take_down(self._plan.simulation_id)]
            return partings

        so_far = results if status == names.Status.CANCELED else None
        await end(self._place, self._publisher, status, part, so_far)


def _reason(progress: Progress) -> CompletionReason:
    return "early_completion" if progress.early_completion else "scenario_complete"
