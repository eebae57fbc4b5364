"""Every criterion is judged: what is quickly judged in one go, everything else by an activity of its own."""

import asyncio
from collections.abc import Sequence
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

from activities import failures
from activities.plan import CriterionBrief, Evidence, JudgedSeveral, JudgeInput, JudgeSeveralInput, Plan
from activities.verdicts import VerdictActivities
from proctor_protocol import updates
from proctor_protocol.results import CriterionResult
from workflows import limits
from workflows.steps import Steps
from workflows.telling import Telling
from workflows.time_played import TimePlayed
from workflows.what_failed import what_failed

EVIDENCE_READ_ONCE = "evidence-read-once"
"""The change since which one of the criteria that models judge goes before the others."""

QUICK_ONES_FIRST = "quick-ones-first"
"""The change since which criteria for which no model is asked are first judged in one go."""

_SENTENCES_TOLD = 5
"""How many failed judgements are told one by one."""


class Judging:
    """The verdicts of one assessment, by their criteria, as they are reached."""

    def __init__(self, steps: Steps, telling: Telling, time: TimePlayed) -> None:
        self._steps = steps
        self._telling = telling
        self._time = time
        self.verdicts: dict[str, CriterionResult] = {}

    async def judge(self, plan: Plan, evidence: Evidence) -> None:
        """All criteria: in one go those for which no model can be asked; then by an activity of its own each one that
        has no verdict yet, all at the same time but for the first that a model judges.

        Raises:
            ApplicationError: ``EvaluatorFailed``, with all that evaluators of the scenario failed of.
            FailureError: what else kept a criterion from being judged, a cancellation before all.
        """
        self._telling.publish(
            updates.EvaluationStartedUpdate(
                criteria_count=len(plan.criteria), dimensions=sorted({c.dimension for c in plan.criteria})
            )
        )
        workflow.set_current_details("**Judging**")

        async def judge_one(criterion: CriterionBrief) -> None:
            verdict = await self._steps.do(
                VerdictActivities.judge_criterion,
                JudgeInput(
                    plan=plan.for_step(),
                    criterion_id=criterion.criterion_id,
                    evidence=evidence,
                    is_reset=self._time.is_reset,
                ),
                **_options(plan, criterion),
            )
            self._note(verdict)

        async def judge_all(criteria: Sequence[CriterionBrief]) -> list[BaseException | None]:
            return await asyncio.gather(*map(judge_one, criteria), return_exceptions=True)

        async def judge_one_first(criteria: Sequence[CriterionBrief]) -> list[BaseException | None]:
            """All models' criteria share the evidence: what has read it for one has it in its cache for the others."""
            return [*await judge_all(criteria[:1]), *await judge_all(criteria[1:])]

        if plan.offline and len(plan.criteria) > 1 and workflow.patched(QUICK_ONES_FIRST):
            await self._judge_quick_ones(plan, plan.criteria, evidence)
        left = [criterion for criterion in plan.criteria if criterion.criterion_id not in self.verdicts]
        by_model = [] if plan.offline else [criterion for criterion in left if criterion.by_model]
        if len(by_model) > 1 and workflow.patched(EVIDENCE_READ_ONCE):
            rest = [criterion for criterion in left if not criterion.by_model]
            outcomes = [o for each in await asyncio.gather(judge_all(rest), judge_one_first(by_model)) for o in each]
        else:
            outcomes = await judge_all(left)
        problems = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if problems:
            raise _failed_in_judging(plan, problems)

    async def _judge_quick_ones(self, plan: Plan, criteria: Sequence[CriterionBrief], evidence: Evidence) -> None:
        """Have criteria judged in one go, as far as that gets; only a cancellation fails it."""
        try:
            judged: JudgedSeveral = await self._steps.do_once(
                VerdictActivities.judge_criteria,
                JudgeSeveralInput(
                    plan=plan.for_step(),
                    criterion_ids=[criterion.criterion_id for criterion in criteria],
                    evidence=evidence,
                    is_reset=self._time.is_reset,
                ),
                **limits.judged_at_once(f"{len(criteria)} criteria"),
            )
        except ActivityError as problem:
            if is_cancelled_exception(problem):
                raise
            self._steps.has_moved(problem)
            return
        for verdict in judged.verdicts:
            self._note(verdict)

    def _note(self, verdict: CriterionResult) -> None:
        """A verdict is reached, and told."""
        self.verdicts[verdict.criterion_id] = verdict
        self._telling.publish(
            updates.CriterionEvaluatedUpdate(
                criterion_id=verdict.criterion_id,
                criterion_name=verdict.name,
                dimension=verdict.dimension,
                score=verdict.score,
                max_score=verdict.max_score,
                evaluation_method=verdict.judged_by,
                unscored_reason=verdict.unscored_reason,
                doubtful_points=verdict.doubtful_points,
            )
        )


def _options(plan: Plan, criterion: CriterionBrief) -> dict[str, Any]:
    """Options of a judgement: a model's, or that of an evaluator, whose time is measured where it runs."""
    if criterion.by_model:
        return limits.thinking(plan, criterion.criterion_id)
    return limits.judged(criterion.criterion_id, plan.judge_timeout)


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
