"""Judge criteria, each in a separate activity. Offline, the activity is local, with an ordinary activity as the
fallback.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception

from proctor.activities.attempts import failures
from proctor.activities.judging.payloads import JudgeInput
from proctor.activities.judging.verdicts import VerdictActivities
from proctor.activities.plan import CriterionBrief, Plan
from proctor.activities.simulation.lifecycle import LifecycleActivities
from proctor.activities.simulation.payloads import ConcludeInput, Evidence
from proctor.protocol import updates
from proctor.workflows import limits, names
from proctor.workflows.progress import Progress
from proctor.workflows.publishing import UpdatePublisher
from proctor.workflows.steps import Steps, describe_failure, named
from proctor.workflows.time_played import TimePlayed
from purple_sdk.protocol.provenance import ModelUse, added_up
from purple_sdk.protocol.results import CriterionResult

_MODEL_AWAY = ("ModelUnavailableError", failures.MODEL_SETTING)
"""Types of a judgement's failure if its model could not be called."""

_SENTENCES_TOLD = 5
"""The number of failed judgements that are published, each in its own update."""


class Judging:
    """The verdicts of one assessment, by criterion, as they arrive."""

    def __init__(self, steps: Steps, publisher: UpdatePublisher, time: TimePlayed) -> None:
        self._steps = steps
        self._publisher = publisher
        self._time = time
        self.verdicts: dict[str, CriterionResult] = {}

    async def conclude(self, plan: Plan, progress: Progress) -> None:
        """Close the simulation, then judge; raises as ``judge`` does."""
        evidence: Evidence = await self._steps.do(
            LifecycleActivities.conclude,
            ConcludeInput(
                plan=plan.for_step(),
                checkpoint=progress.checkpoint,
                initial_state=progress.prepared.initial_state,
                action_log=progress.action_log,
                turn_notes=progress.turn_notes,
            ),
            **limits.prepared("close the simulation"),
        )
        await self.judge(plan, evidence)

    async def judge(self, plan: Plan, evidence: Evidence) -> None:
        """Judge all criteria at the same time. Of those that a model judges, the first one is judged before the others.

        An offline judgement takes milliseconds and changes nothing, so a local activity makes it. If the local activity
        fails, an ordinary activity judges the criterion again. The ordinary activity can restore the simulation, and
        says why it fails.

        Raises:
            ApplicationError: ``EvaluatorFailed``, with the sentences of all evaluators that failed.
            FailureError: a judgement failed otherwise, or was cancelled. The first such failure is raised.
        """
        self._publisher.publish(
            updates.EvaluationStartedUpdate(
                criteria_count=len(plan.criteria), dimensions=sorted({c.dimension for c in plan.criteria})
            )
        )
        self._publisher.show("**Judging**")

        def asked(criterion: CriterionBrief) -> JudgeInput:
            return JudgeInput(
                plan=plan.for_step(),
                criterion_id=criterion.criterion_id,
                evidence=evidence,
                is_reset=self._time.is_reset,
            )

        async def judge_here(criterion: CriterionBrief) -> None:
            try:
                verdict = await self._steps.do_here(
                    VerdictActivities.judge_criterion, asked(criterion), **limits.judged_here(_summary(criterion))
                )
            except FailureError as error:  # temporalio doesn't wrap a local activity's failure in an ActivityError
                if is_cancelled_exception(error):
                    raise
                self._steps.has_moved(error)
            else:
                self._note(plan, verdict)

        async def judge_one(criterion: CriterionBrief) -> None:
            with named(f"Criterion {criterion.criterion_id}"):
                verdict = await self._steps.do(
                    VerdictActivities.judge_criterion, asked(criterion), **_options(plan, criterion)
                )
            self._note(plan, verdict)

        async def judge_all(criteria: Sequence[CriterionBrief]) -> list[BaseException | None]:
            return await asyncio.gather(*map(judge_one, criteria), return_exceptions=True)

        async def judge_one_first(criteria: Sequence[CriterionBrief]) -> list[BaseException | None]:
            """Judge the first criterion alone, then the others. All criteria for models share the evidence, and the
            first judgement puts the evidence into the model's cache. If that judgement couldn't call the model, the
            others aren't tried.
            """
            first = await judge_all(criteria[:1])
            is_away = any(describe_failure(problem).kind in _MODEL_AWAY for problem in first if problem is not None)
            if is_away and workflow.patched(names.ONE_WAIT_FOR_A_MODEL):
                return first
            return [*first, *await judge_all(criteria[1:])]

        if plan.offline:
            by_code_first = sorted(plan.criteria, key=lambda criterion: criterion.by_model)
            for some in (by_code_first[:1], by_code_first[1:]):  # the first one starts the process for all evaluators
                await asyncio.gather(*map(judge_here, some))
        unjudged = [criterion for criterion in plan.criteria if criterion.criterion_id not in self.verdicts]
        by_model = [] if plan.offline else [criterion for criterion in unjudged if criterion.by_model]
        rest = [criterion for criterion in unjudged if criterion not in by_model]
        # Wait for both, even if one is cancelled: the other one may still report its models' usage.
        both = await asyncio.gather(judge_all(rest), judge_one_first(by_model), return_exceptions=True)
        outcomes = [one for result in both for one in (result if isinstance(result, list) else [result])]
        problems = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if problems:
            raise _failed_in_judging(plan, problems)

    def usage(self, plan: Plan) -> list[ModelUse]:
        """Return the models' usage for all verdicts, and for judgements that gave none."""
        reached = [self.verdicts[c.criterion_id] for c in plan.criteria if c.criterion_id in self.verdicts]
        failed = self._steps.usage_of_failures[VerdictActivities.judge_criterion.__name__]
        return added_up([*(use for verdict in reached for use in verdict.usage), *failed])

    def _note(self, plan: Plan, verdict: CriterionResult) -> None:
        self.verdicts[verdict.criterion_id] = verdict
        judged = sum(criterion.items for criterion in plan.criteria if criterion.criterion_id in self.verdicts)
        count = sum(criterion.items for criterion in plan.criteria)
        self._publisher.show(f"**Judging**: {judged} of {count} items are judged")
        self._publisher.publish(
            updates.CriterionEvaluatedUpdate(
                criterion_id=verdict.criterion_id,
                criterion_name=verdict.name,
                dimension=verdict.dimension,
                score=verdict.score,
                max_score=verdict.max_score,
                evaluation_method=verdict.judged_by,
                unscored_reason=verdict.unscored_reason,
                doubtful_points=verdict.doubtful_points,
                items_judged=judged,
                items_count=count,
            )
        )


def _summary(criterion: CriterionBrief) -> str:
    return limits.summary("judge", criterion.name)


def _options(plan: Plan, criterion: CriterionBrief) -> dict[str, Any]:
    """Return the options of an activity that judges by a model or an evaluator. An evaluator's time is measured in its
    process.
    """
    if criterion.by_model:
        return limits.thinking(plan, _summary(criterion))
    return limits.judged(plan, _summary(criterion))


def _failed_in_judging(plan: Plan, problems: list[BaseException]) -> BaseException:
    """Return the error for criteria that could not be judged; it has the sentences of all evaluators that failed.

    A cancellation, or another failure, takes precedence and is returned unchanged.
    """
    failed = [describe_failure(problem) for problem in problems]
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
