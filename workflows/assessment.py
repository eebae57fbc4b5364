"""The story of one assessment: admitted, queued, prepared, played turn by turn, judged, ended."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.contrib.workflow_streams import WorkflowStream
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    FailureError,
    TimeoutType,
    is_cancelled_exception,
)
from temporalio.exceptions import TimeoutError as ActivityTimeoutError

with workflow.unsafe.imports_passed_through():
    from activities import failures
    from activities.actions.report import compare
    from activities.admission import AdmissionActivities
    from activities.lifecycle import LifecycleActivities
    from activities.participants import ParticipantActivities
    from activities.plan import (
        Addressed,
        AdmitInput,
        AdvanceInput,
        ApplyInput,
        ConcludeInput,
        CriterionBrief,
        Evidence,
        FarewellInput,
        Greeted,
        GreetInput,
        JudgeInput,
        ParticipantKey,
        PausesInput,
        Plan,
        PlannedReply,
        Prepared,
        QueueInput,
        Responded,
        RespondInput,
        TurnAnswer,
        TurnApplied,
        TurnInput,
    )
    from activities.queueing import QueueActivities
    from activities.resets import ResetActivities
    from activities.troubles import TROUBLE_SIGNAL, Trouble
    from activities.turns import TurnActivities
    from activities.verdicts import VerdictActivities
    from proctor_protocol import updates
    from proctor_protocol.durations import format_iso8601_duration, parse_iso8601_duration
    from proctor_protocol.messages import CompletionReason
    from proctor_protocol.provenance import ModelUse, Provenance, added_up, evaluators_used
    from proctor_protocol.results import (
        ActionLogEntryWithTurn,
        AssessmentResults,
        CriterionResult,
        ReportedAction,
        ResultStatus,
        assessment_results,
        unscored,
    )
    from workflows import limits, names
    from workflows.context_queue import GRANT_SIGNAL, LEAVE_SIGNAL, queue_id
    from workflows.inputs import AssessmentInput
    from workflows.progress import Carried, Progress
    from workflows.recording import record
    from workflows.trimming import trimmed
    from workflows.under_way import UnderWay
    from workflows.what_failed import WhatFailed, what_failed

Given = TypeVar("Given")
Done = TypeVar("Done")

LOCAL_FAILURES_TOO = "local-failures-too"
"""The change since which an assessment that a local activity fails for good takes the way out that all others take."""

TIME_PLAYED = "time-played"
"""The change since which deadline and duration count the time played, without the pause before a reset."""

CANCELED_WITH_RESULTS = "canceled-with-results"
"""The change since which an assessment that is cancelled keeps what was done so far."""

EVIDENCE_READ_ONCE = "evidence-read-once"
"""The change since which one of the criteria that models judge goes before the others."""


REMOTE_STEPS = "remote-steps"
"""The change since which steps that change a simulation are no local activities: each attempt has a fence."""

LOST_WITH_WORKERS = "lost-with-workers"
"""The change since which a greeting or turn whose workers are lost again and again is not the participant's failure."""

_LOST_SENTENCE = "The evaluator's workers were lost at {}: it begins anew."

_SENTENCES_TOLD = 5
"""How many failed judgements are told one by one."""


@workflow.defn(name=names.ASSESSMENT_WORKFLOW)
class Assessment:
    """One assessment; its id is the A2A task's id, its result the A2A artifact."""

    @workflow.init
    def __init__(self, given: AssessmentInput) -> None:
        self._given = given
        carried = None if given.carried is None else Carried.model_validate(given.carried)
        self._stream = WorkflowStream(prior_state=carried.stream if carried else None)
        self._updates = self._stream.topic(names.UPDATES_TOPIC)
        self._may_begin = carried is not None
        self._plan: Plan | None = carried.plan if carried else None
        self._progress: Progress | None = carried.progress if carried else None
        self._is_reset = False
        workflow.register_random_seed_callback(self._be_reset)
        self._paused_before = carried.progress.paused if carried else 0.0
        self._turn_at_play: int | None = None
        self._verdicts: dict[str, CriterionResult] = {}
        self._under_way = UnderWay()

    @workflow.run
    async def run(self, given: AssessmentInput) -> AssessmentResults:
        """Play the whole assessment.

        Returns:
            The scored result.

        Raises:
            ApplicationError: ``Rejected`` for a request that can't be carried out; ``AssessmentFailed``, with the
                results so far as its first detail, where the assessment came to no good end.
        """
        try:
            plan = self._plan or await self._admit()
            progress = self._progress or await self._open(plan)
            results = await self._assess_in_time(plan, progress)
        except asyncio.CancelledError:
            await self._call_off()
            raise
        except Exception as problem:
            if isinstance(problem, ApplicationError) and not workflow.patched(LOCAL_FAILURES_TOO):
                raise
            if is_cancelled_exception(problem):
                await self._call_off()
                raise
            raise await self._fail(problem) from None
        await self._close(_reason(results), names.Status.COMPLETED)
        return results

    @workflow.signal(name=GRANT_SIGNAL)
    async def begin(self) -> None:
        """The context's queue says that no other assessment of the context is at work."""
        self._may_begin = True

    @workflow.signal(name=TROUBLE_SIGNAL)
    async def hear_of(self, trouble: Trouble) -> None:
        """A step that is under way has not succeeded for a while, and is still being tried: the caller is told."""
        if self._under_way.is_news(trouble):
            self._publish(
                updates.ErrorOccurredUpdate(
                    error_type=trouble.kind,
                    error_message=trouble.sentence(),
                    turn_number=self._turn_at_play,
                    recoverable=True,
                    step=trouble.step,
                    attempt=trouble.attempt,
                    attempts=trouble.attempts,
                )
            )

    # The story, chapter by chapter

    async def _admit(self) -> Plan:
        """Check the request, and wait until no other assessment of this context is at work."""
        waiting = asyncio.create_task(self._wait_in_context())
        try:
            plan: Plan = await self._do_here(
                AdmissionActivities.admit,
                AdmitInput(task_id=self._given.task_id, request=self._given.request),
                **limits.quick("check the request"),
            )
            self._plan = plan
        except BaseException:
            waiting.cancel()
            raise
        workflow.upsert_memo({"scenario": plan.scenario_id, "participant": plan.participant_url, "seed": plan.seed})
        await waiting
        return plan

    async def _wait_in_context(self) -> None:
        await self._do_here(
            QueueActivities.join_queue,
            QueueInput(queue_id=queue_id(self._given.context_id), task_id=self._given.task_id),
            **limits.quick("wait for earlier assessments of the context"),
        )
        await workflow.wait_condition(lambda: self._may_begin)

    async def _open(self, plan: Plan) -> Progress:
        """Prepare the simulation and greet the participant."""
        workflow.upsert_search_attributes(
            [
                names.PROCTOR_STATUS.value_set(names.Status.WORKING),
                names.PROCTOR_SCENARIO.value_set(plan.scenario_id),
                names.PROCTOR_PARTICIPANT.value_set(plan.participant_url),
            ]
        )
        started_at = workflow.now()
        self._publish(
            updates.AssessmentStartedUpdate(
                assessment_id=plan.assessment_id,
                scenario_id=plan.scenario_id,
                participant_url=plan.participant_url,
                start_time=started_at,
            )
        )
        prepared = await self._do(LifecycleActivities.set_up, plan, **limits.prepared(f"prepare {plan.scenario_id}"))
        self._progress = progress = Progress(
            started_at=started_at, prepared=prepared, checkpoint=prepared.checkpoint, current_time=prepared.current_time
        )
        self._publish(
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
        greeted = await self._greet(plan, prepared)
        progress.checkpoint, progress.key, progress.card = greeted.checkpoint, greeted.key, greeted.card
        return progress

    async def _greet(self, plan: Plan, prepared: Prepared) -> Greeted:
        """Greet the participant, again where workers were lost at it."""
        lost = 0
        while True:
            try:
                return await self._do(
                    ParticipantActivities.greet,
                    GreetInput(plan=plan, prepared=prepared),
                    **limits.turn("start message", plan.turn_timeout),
                )
            except ActivityError as problem:
                lost += 1
                if lost > limits.TURN_LOSSES or not _was_lost_with_workers(problem):
                    raise
                self._publish(
                    updates.ErrorOccurredUpdate(
                        error_type=failures.WORKERS_LOST,
                        error_message=_LOST_SENTENCE.format("the start message"),
                        recoverable=True,
                    )
                )

    async def _assess_in_time(self, plan: Plan, progress: Progress) -> AssessmentResults:
        """Play and judge, but no longer than the assessment may take.

        Raises:
            TimeoutError: the deadline has passed.
        """
        loop = asyncio.get_running_loop()
        is_up: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(max(plan.assessment_timeout - _seconds_played(progress), 0.0), is_up.set_result, None)
        limit = asyncio.timeout(None)
        try:
            async with limit:
                keeping = asyncio.create_task(self._keep_to(limit, is_up, plan, progress))
                try:
                    return await self._assess(plan, progress)
                finally:
                    timer.cancel()
                    keeping.cancel()
        except FailureError as problem:
            # At the deadline the activity at work is canceled, and fails by that before the timeout can say why.
            if is_cancelled_exception(problem) and limit.expired():
                raise TimeoutError from None
            raise

    async def _keep_to(
        self, limit: asyncio.Timeout, is_up: asyncio.Future[None], plan: Plan, progress: Progress
    ) -> None:
        """Let a limit expire at the deadline; in a run that is a reset that is later, as pauses don't count."""
        await is_up
        while self._is_reset and workflow.patched(TIME_PLAYED):
            await self._learn_of_pauses(progress)
            seconds_left = plan.assessment_timeout - _seconds_played(progress)
            if seconds_left <= 0:
                break
            await asyncio.sleep(seconds_left)
        limit.reschedule(asyncio.get_running_loop().time())

    async def _learn_of_pauses(self, progress: Progress | None) -> None:
        """Before time played is told: a run that is a reset finds out how much of its time was not played."""
        if progress is None or not self._is_reset or not workflow.patched(TIME_PLAYED):
            return
        try:
            found = await self._do_here(
                ResetActivities.measure_pauses,
                PausesInput(since=progress.started_at),
                **limits.quick("time not played"),
            )
        except FailureError as problem:
            if is_cancelled_exception(problem):
                raise
            workflow.logger.warning("it is not known for how long the assessment was not played: %s", problem)
            return
        progress.paused = self._paused_before + found

    async def _assess(self, plan: Plan, progress: Progress) -> AssessmentResults:
        """Play the turns that the scenario's time allows, then judge."""
        while self._is_another_turn_due(plan, progress):
            await self._play_turn(plan, progress)
            self._turn_at_play = None
            run = workflow.info()
            if run.is_continue_as_new_suggested() or run.get_current_history_length() > limits.HISTORY_EVENTS:
                await self._learn_of_pauses(progress)
                await self._stream.continue_as_new(
                    lambda stream: [self._carry_on(Carried(plan=plan, progress=progress, stream=stream))]
                )
        evidence = await self._do_quickly(
            LifecycleActivities.conclude,
            ConcludeInput(
                plan=plan,
                checkpoint=progress.checkpoint,
                initial_state=progress.prepared.initial_state,
                action_log=progress.action_log,
                turn_notes=progress.turn_notes,
            ),
            "close the simulation",
        )
        await self._judge(plan, evidence)
        reason: CompletionReason = "early_completion" if progress.early_completion else "scenario_complete"
        await self._learn_of_pauses(progress)
        results = self._sum_up(plan, progress, "completed", reason)
        self._publish(_ending(results, reason))
        return results

    async def _play_turn(self, plan: Plan, progress: Progress) -> None:
        """One turn: the participant acts, characters answer, time passes."""
        turn, began_at = progress.turn + 1, progress.current_time
        self._turn_at_play = turn
        workflow.set_current_details(f"**Turn {turn}** of about {plan.expected_turns}, {began_at:%Y-%m-%d %H:%M}")
        self._publish(
            updates.TurnStartedUpdate(
                turn_number=turn, current_time=began_at, events_processed=progress.events_processed
            )
        )
        answer = await self._let_participant_play(plan, progress, turn)
        applied = await self._do_quickly(
            TurnActivities.apply,
            ApplyInput(plan=plan, turn=turn, checkpoint=answer.checkpoint, turn_start=began_at),
            f"turn {turn}",
        )
        step = parse_iso8601_duration(answer.time_step or plan.default_time_step)
        self._note_turn(progress, turn, answer, applied, step)
        progress.checkpoint = applied.checkpoint
        if progress.early_completion:
            return
        replies = await self._let_characters_reply(plan, progress, turn, applied)
        target = min(began_at + step, plan.end_time)
        advanced = await self._do_quickly(
            TurnActivities.advance,
            AdvanceInput(plan=plan, turn=turn, checkpoint=applied.checkpoint, replies=replies, to=target),
            f"turn {turn} · to {target:%H:%M}",
        )
        progress.checkpoint = advanced.checkpoint
        progress.current_time = advanced.current_time
        progress.events_processed = advanced.events_processed
        self._publish(
            updates.SimulationAdvancedUpdate(
                turn_number=turn,
                previous_time=began_at,
                new_time=advanced.current_time,
                duration=format_iso8601_duration(advanced.current_time - began_at),
                events_processed=advanced.events_processed,
            )
        )

    async def _let_participant_play(self, plan: Plan, progress: Progress, turn: int) -> TurnAnswer:
        """Let the participant play, again where it truly failed and the request allows another try."""
        failed = lost = 0
        needs_new_key = _was_reset_since(progress.key)
        while True:
            attempt = failed + lost + 1
            again = f" · try {attempt}" if attempt > 1 else ""
            try:
                answer: TurnAnswer = await self._do(
                    ParticipantActivities.purple_turn,
                    TurnInput(
                        plan=plan,
                        turn=turn,
                        attempt=attempt,
                        checkpoint=progress.checkpoint,
                        current_time=progress.current_time,
                        events_processed=progress.events_processed,
                        key=progress.key,
                        needs_new_key=needs_new_key,
                    ),
                    **limits.turn(f"turn {turn}{again}", plan.turn_timeout),
                )
                progress.key = answer.key
                return answer
            except ActivityError as problem:
                kind, sentence, _ = what_failed(problem)
                if _was_lost_with_workers(problem):
                    kind, sentence = failures.WORKERS_LOST, _LOST_SENTENCE.format(f"turn {turn}")
                needs_new_key = needs_new_key or not _has_stopped(problem)
                lost += kind in limits.LOST
                failed += kind in limits.TRIED_AGAIN
                is_hopeless = kind not in limits.LOST | limits.TRIED_AGAIN
                if is_hopeless or failed >= plan.turn_tries or lost > limits.TURN_LOSSES:
                    raise
                progress.turn_tries[str(turn)] = attempt + 1
                self._publish(
                    updates.ErrorOccurredUpdate(
                        error_type=kind, error_message=sentence, turn_number=turn, recoverable=True
                    )
                )

    async def _let_characters_reply(
        self, plan: Plan, progress: Progress, turn: int, applied: TurnApplied
    ) -> list[PlannedReply]:
        """Every character whom a message reached decides for itself, all at the same time."""

        async def reply(addressed: Addressed) -> PlannedReply | None:
            message = applied.messages[addressed.message]
            # Until 0.1 silence was no answer at all.
            responded: Responded | None = await self._do(
                TurnActivities.respond,
                RespondInput(
                    scenario=plan.scenario,
                    seed=plan.seed,
                    turn=turn,
                    offline=plan.offline,
                    character_id=addressed.character_id,
                    message=message,
                ),
                **self._thinking(plan, f"turn {turn} · {addressed.character_id}"),
            )
            if responded is None:
                return None
            usage.extend(responded.usage)
            return None if responded.reply is None else PlannedReply(reply=responded.reply, message=message)

        usage: list[ModelUse] = []
        replies = [r for r in await asyncio.gather(*map(reply, applied.addressed)) if r is not None]
        progress.characters_usage = added_up([*progress.characters_usage, *usage])
        self._publish(
            updates.ResponsesGeneratedUpdate(
                turn_number=turn,
                responses_count=len(replies),
                characters_involved=sorted({r.reply.character_id for r in replies}),
            )
        )
        return replies

    async def _judge(self, plan: Plan, evidence: Evidence) -> None:
        """Every criterion by an activity of its own, all at the same time but for the first that a model judges."""
        self._publish(
            updates.EvaluationStartedUpdate(
                criteria_count=len(plan.criteria), dimensions=sorted({c.dimension for c in plan.criteria})
            )
        )
        workflow.set_current_details("**Judging**")

        async def judge(criterion: CriterionBrief) -> None:
            verdict = await self._do(
                VerdictActivities.judge_criterion,
                JudgeInput(plan=plan, criterion_id=criterion.criterion_id, evidence=evidence, is_reset=self._is_reset),
                **self._judging(plan, criterion),
            )
            self._verdicts[criterion.criterion_id] = verdict
            self._publish(
                updates.CriterionEvaluatedUpdate(
                    criterion_id=verdict.criterion_id,
                    criterion_name=verdict.name,
                    dimension=verdict.dimension,
                    score=verdict.score,
                    max_score=verdict.max_score,
                    evaluation_method=verdict.judged_by,
                    unscored_reason=verdict.unscored_reason,
                )
            )

        async def judge_all(criteria: Sequence[CriterionBrief]) -> list[BaseException | None]:
            return await asyncio.gather(*map(judge, criteria), return_exceptions=True)

        async def judge_one_first(criteria: Sequence[CriterionBrief]) -> list[BaseException | None]:
            """All models' criteria share the evidence: what has read it for one has it in its cache for the others."""
            return [*await judge_all(criteria[:1]), *await judge_all(criteria[1:])]

        by_model = [] if plan.offline else [criterion for criterion in plan.criteria if criterion.by_model]
        if len(by_model) > 1 and workflow.patched(EVIDENCE_READ_ONCE):
            rest = [criterion for criterion in plan.criteria if not criterion.by_model]
            outcomes = [o for each in await asyncio.gather(judge_all(rest), judge_one_first(by_model)) for o in each]
        else:
            outcomes = await judge_all(plan.criteria)
        problems = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if problems:
            raise _failed_in_judging(plan, problems)

    async def _fail(self, problem: Exception) -> ApplicationError:
        """End an assessment that came to no good end; the error says why and carries what was done so far."""
        failure = what_failed(problem)
        if failure.is_defect:
            workflow.logger.error("%s", failure.sentence, exc_info=problem)
        if failure.kind == failures.REJECTED:
            await self._close("error", names.Status.REJECTED)
            return ApplicationError(failure.sentence, type=names.REJECTED_FAILURE, non_retryable=True)
        is_timeout = failure.kind in (failures.TURN_TIMEOUT, failures.DEADLINE)
        reason: CompletionReason = "timeout" if is_timeout else "error"
        await _undisturbed(self._learn_of_pauses(self._progress))
        details = [self._tell_of(failure, reason)] if self._plan is not None else []
        await self._close(reason, names.Status.FAILED)
        return ApplicationError(failure.sentence, *details, type=names.ASSESSMENT_FAILURE, non_retryable=True)

    def _tell_of(self, failure: WhatFailed, reason: CompletionReason) -> dict[str, Any] | None:
        """Publish a failure; returns the results so far as JSON data, None where they can't be made."""
        assert self._plan is not None
        self._publish(
            updates.ErrorOccurredUpdate(
                error_type=failure.kind,
                error_message=failure.sentence,
                turn_number=self._turn_at_play,
                recoverable=False,
            )
        )
        try:
            results = self._sum_up(
                self._plan,
                self._progress,
                "timeout" if reason == "timeout" else "failed",
                reason,
                failure=failure.sentence,
            )
        except Exception:
            workflow.logger.exception("the results of an assessment that has failed can't be made")
            return None
        self._publish(_ending(results, reason))
        return results.model_dump(mode="json")

    async def _call_off(self) -> None:
        """End a cancelled assessment. A canceled workflow has no result: the memo names what was done so far."""
        so_far = None
        if self._plan is not None and workflow.patched(CANCELED_WITH_RESULTS):
            try:
                await _undisturbed(self._learn_of_pauses(self._progress))
                so_far = self._results(
                    self._plan, self._progress, "canceled", "canceled", "the assessment was cancelled"
                )
            except Exception:
                workflow.logger.exception("the results of an assessment that is cancelled can't be made")
        await self._close("error", names.Status.CANCELED, so_far)

    async def _close(
        self, reason: CompletionReason, status: names.Status, results: AssessmentResults | None = None
    ) -> None:
        """On every way out: the participant is told, the simulation and its keys are gone, the next one may begin.

        A cancellation that comes only now comes too late: what is being ended ends as it would have.
        """
        await _undisturbed(self._part(reason, status, results))

    async def _part(self, reason: CompletionReason, status: names.Status, results: AssessmentResults | None) -> None:
        partings: list[Awaitable[Any]] = [self._keep(results)]
        if self._plan is not None and self._may_begin:
            partings += [
                workflow.execute_activity_method(
                    ParticipantActivities.farewell,
                    FarewellInput(plan=self._plan, reason=reason),
                    **limits.parting("tell the participant"),
                ),
                workflow.execute_activity_method(
                    LifecycleActivities.take_down, self._plan.simulation_id, **limits.parting("end the simulation")
                ),
            ]
        kept, *_ = await asyncio.gather(*partings, return_exceptions=True)
        queue = workflow.get_external_workflow_handle(queue_id(self._given.context_id))
        try:
            await queue.signal(LEAVE_SIGNAL, self._given.task_id)
        except ApplicationError:
            pass  # the queue is gone, and nobody waits in it
        workflow.upsert_search_attributes([names.PROCTOR_STATUS.value_set(status)])
        workflow.upsert_memo({"status": status, **(kept if isinstance(kept, dict) else {})})
        self._stream.detach_pollers()
        await workflow.wait_condition(workflow.all_handlers_finished)

    async def _keep(self, results: AssessmentResults | None) -> dict[str, Any]:
        """Put results away, and name them for the memo; they are too large for it."""
        if results is None:
            return {}
        ref = await workflow.execute_local_activity_method(
            LifecycleActivities.keep_results, results, **limits.kept("keep the results so far")
        )
        return {names.MEMO_RESULTS: ref.model_dump(mode="json")}

    # Small steps

    def _be_reset(self, _seed: int) -> None:
        """A run that is a reset gets a new seed at the point from which on it is no repetition."""
        self._is_reset = True

    async def _do(self, step: Callable[[Any, Given], Awaitable[Done]], given: Given, **options: Any) -> Done:
        """An activity that some worker takes from a task queue."""
        with self._under_way.step(step.__name__):
            return await workflow.execute_activity_method(step, given, **options)

    async def _do_here(self, step: Callable[[Any, Given], Awaitable[Done]], given: Given, **options: Any) -> Done:
        """A local activity: quick work of the worker that has this workflow task (``limits.quick``)."""
        with self._under_way.step(step.__name__):
            return await workflow.execute_local_activity_method(step, given, **options)

    async def _do_quickly(self, step: Callable[[Any, Given], Awaitable[Done]], given: Given, summary: str) -> Done:
        """A step that changes the simulation, some milliseconds' work."""
        if workflow.patched(REMOTE_STEPS):
            return await self._do(step, given, **limits.prepared(summary))
        return await self._do_here(step, given, **limits.quick(summary))

    def _is_another_turn_due(self, plan: Plan, progress: Progress) -> bool:
        return (
            not progress.early_completion and progress.turn < plan.max_turns and progress.current_time < plan.end_time
        )

    def _note_turn(
        self, progress: Progress, turn: int, answer: TurnAnswer, applied: TurnApplied, step: timedelta
    ) -> None:
        """Write down what the participant did and what it says that it did."""
        progress.turn = turn
        progress.early_completion = answer.kind == "early_completion"
        progress.action_log.extend(applied.actions)
        progress.reported.extend(ReportedAction(turn=turn, **reported.model_dump()) for reported in answer.reported)
        if answer.notes:
            progress.turn_notes[turn] = answer.notes
        for action in applied.actions:
            self._publish(
                updates.ActionObservedUpdate(
                    turn_number=turn,
                    timestamp=action.timestamp,
                    action=action.action,
                    parameters=trimmed(action.parameters),
                    success=action.success,
                    error_message=action.error_message,
                )
            )
        self._publish(
            updates.TurnCompletedUpdate(
                turn_number=turn,
                actions_taken=len(applied.actions),
                time_advanced=format_iso8601_duration(timedelta(0) if progress.early_completion else step),
                early_completion_requested=progress.early_completion,
            )
        )

    def _sum_up(
        self,
        plan: Plan,
        progress: Progress | None,
        status: ResultStatus,
        reason: CompletionReason,
        failure: str | None = None,
    ) -> AssessmentResults:
        """The results, with the score where workflows are listed."""
        results = self._results(plan, progress, status, reason, failure)
        overall = results.scores.overall
        workflow.upsert_memo({"score": f"{overall.score}/{overall.max_score}", "coverage": results.coverage})
        if overall.max_score:
            workflow.upsert_search_attributes([names.PROCTOR_SCORE.value_set(overall.score / overall.max_score)])
        return results

    def _results(
        self, plan: Plan, progress: Progress | None, status: ResultStatus, reason: str, failure: str | None
    ) -> AssessmentResults:
        action_log = progress.action_log if progress else []
        return assessment_results(
            assessment_id=plan.assessment_id,
            scenario_id=plan.scenario_id,
            participant=plan.participant,
            status=status,
            duration_seconds=_seconds_played(progress) if progress else 0.0,
            turns_taken=progress.turn if progress else 0,
            criteria_results=[
                # Verdicts that stand without the others would be a score on other points than everybody's.
                unscored(c, failure) if failure else self._verdicts[c.criterion_id]
                for c in plan.criteria
            ],
            action_log=action_log,
            action_report=compare(progress.reported if progress else [], _reportable(action_log, progress)),
            seed=plan.seed,
            offline=plan.offline,
            completion_reason=reason,
            failure=failure,
            turn_tries=progress.turn_tries if progress else {},
            provenance=self._provenance(plan, progress),
        )

    def _provenance(self, plan: Plan, progress: Progress | None) -> Provenance:
        """What was assessed, by what, and when; of judgements those that there are, even where they don't count."""
        verdicts = [self._verdicts[c.criterion_id] for c in plan.criteria if c.criterion_id in self._verdicts]
        frozen = plan.package.sha256 if plan.package else None
        hashes = list(dict.fromkeys(verdict.evaluator_hash for verdict in verdicts if verdict.evaluator_hash))
        return Provenance(
            proctor_version=plan.proctor_version,
            scenario_version=plan.scenario_version,
            scenario_hash=frozen,
            canary=plan.canary,
            evaluators=evaluators_used(frozen, hashes),
            evaluators_hashes=hashes,
            judges=added_up(use for verdict in verdicts for use in verdict.usage),
            characters=progress.characters_usage if progress else [],
            participant_url=plan.participant_url,
            participant_card=progress.card if progress else None,
            started_at=progress.started_at if progress else None,
            ended_at=workflow.now(),
            seconds_played=_seconds_played(progress) if progress else None,
        )

    def _thinking(self, plan: Plan, summary: str) -> dict[str, Any]:
        """Options of an activity that may think with a model; offline it is quick work."""
        options = limits.model(summary, plan.judge_timeout)
        if not plan.offline:
            options["task_queue"] = plan.models_task_queue
        return options

    def _judging(self, plan: Plan, criterion: CriterionBrief) -> dict[str, Any]:
        """Options of a judgement: a model's, or that of an evaluator, whose time is measured where it runs."""
        if criterion.by_model:
            return self._thinking(plan, criterion.criterion_id)
        return limits.model(criterion.criterion_id, max(plan.judge_timeout, limits.EVALUATORS_SECONDS))

    def _carry_on(self, carried: Carried) -> AssessmentInput:
        return self._given.model_copy(update={"carried": carried.model_dump(mode="json")})

    def _publish(self, update: updates.TaskUpdate) -> None:
        is_wanted = self._plan is None or self._plan.verbose_updates
        if is_wanted or update.message_type in updates.MILESTONES:
            self._updates.publish(record(update))


def _reportable(action_log: list[ActionLogEntryWithTurn], progress: Progress | None) -> list[ActionLogEntryWithTurn]:
    """What the participant had a chance to report: ``early_completion`` has no room for its turn's actions."""
    if progress is None or not progress.early_completion:
        return action_log
    return [entry for entry in action_log if entry.turn != progress.turn]


def _failed_in_judging(plan: Plan, problems: list[BaseException]) -> BaseException:
    """What to raise for criteria that could not be judged: all sentences of those that evaluators of the scenario
    failed.

    A cancellation, and any other failure, goes before them as it is.
    """
    failed = [what_failed(problem) for problem in problems]
    for problem, failure in zip(problems, failed, strict=True):
        if failure.kind != failures.EVALUATOR_FAILED:
            return problem
    sentences = [failure.sentence for failure in failed]
    if len(sentences) > _SENTENCES_TOLD:
        sentences[_SENTENCES_TOLD:] = [f"And {len(sentences) - _SENTENCES_TOLD} more criteria."]
    sentences.append(
        "The turns are kept: mend the scenario, then judge again with "
        f"`proctor replay {plan.assessment_id} --from-judging --with-current-evaluators`."
    )
    return ApplicationError(" ".join(sentences), type=failures.EVALUATOR_FAILED, non_retryable=True)


def _was_reset_since(key: ParticipantKey) -> bool:
    """Whether the participant may still act for an abandoned run: this one is a reset, and the key is of before."""
    run = workflow.info()
    return run.run_id not in (run.original_execution_run_id, key.run)


def _was_lost_with_workers(problem: ActivityError) -> bool:
    """Whether no worker lived, or had the network, to say how the last attempt went."""
    cause = problem.cause
    is_silence = isinstance(cause, ActivityTimeoutError) and cause.type == TimeoutType.HEARTBEAT
    return is_silence and workflow.patched(LOST_WITH_WORKERS)


def _has_stopped(problem: ActivityError) -> bool:
    """Whether the participant is known to be at this try of the turn no more."""
    return isinstance(problem.cause, ApplicationError) and failures.OVER in problem.cause.details


def _reason(results: AssessmentResults) -> CompletionReason:
    return "early_completion" if results.completion_reason == "early_completion" else "scenario_complete"


def _seconds_played(progress: Progress) -> float:
    return (workflow.now() - progress.started_at).total_seconds() - progress.paused


async def _undisturbed(ending: Coroutine[Any, Any, None]) -> None:
    """Do something of an assessment's end to its own end, whatever is cancelled meanwhile."""
    doing = asyncio.create_task(ending)
    while not doing.done():
        try:
            await asyncio.shield(doing)
        except asyncio.CancelledError:
            continue


def _ending(results: AssessmentResults, reason: CompletionReason) -> updates.AssessmentCompletedUpdate:
    return updates.AssessmentCompletedUpdate(
        reason=reason,
        total_turns=results.turns_taken,
        total_actions=results.actions_taken,
        duration_seconds=results.duration_seconds,
        overall_score=results.scores.overall.score,
        max_score=results.scores.overall.max_score,
    )
