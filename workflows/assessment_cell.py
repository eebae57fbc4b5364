"""The workflow of a campaign's assessment: its result goes to the campaign by reference."""

import uuid
from datetime import datetime
from typing import Any

from pydantic import ValidationError
from temporalio import exceptions, workflow
from temporalio.common import SearchAttributePair, WorkflowIDReusePolicy

from proctor.activities.attempts import failures
from proctor.activities.campaign.assessments import CELL_WORKFLOW, AssessmentRuns, PlayedAssessment
from proctor.activities.campaign.plan import CellInput, CellOutcome
from proctor.protocol.runs import RunConfig
from proctor.protocol.task_ids import readable_id
from proctor.workflows import limits, names
from proctor.workflows.inputs import AssessmentInput
from proctor.workflows.publishing import UpdatePublisher
from proctor.workflows.steps import Steps
from purple_sdk.protocol.provenance import add_costs, count_tokens
from purple_sdk.protocol.results import AssessmentResults


@workflow.defn(name=CELL_WORKFLOW)
class AssessmentCell:
    """One cell of a campaign. The assessment's task id is derived from this workflow's id."""

    @workflow.init
    def __init__(self, payload: CellInput) -> None:
        self._payload = payload.cell.given
        self._config = RunConfig.model_validate(payload.shared["config"])
        self._campaign_id = payload.campaign_id
        self._owner = payload.owner
        self._task_id = str(uuid.uuid5(uuid.NAMESPACE_URL, workflow.info().workflow_id))
        if workflow.patched(names.READABLE_IDS):
            self._task_id = readable_id(self._task_id, self._request())
        self._steps = Steps(UpdatePublisher())

    @workflow.run
    async def run(self, payload: CellInput) -> CellOutcome:
        """Play the assessment. Return a failure as part of the outcome; raise only a cancellation."""
        began_at = workflow.now()
        workflow.upsert_memo({"task": self._task_id})
        try:
            played = await self._play()
        except exceptions.FailureError as error:
            if exceptions.is_cancelled_exception(error):
                raise
            played = self._failed(error)
        return await self._outcome(played, began_at)

    async def _play(self) -> PlayedAssessment:
        try:
            results = await workflow.execute_child_workflow(
                names.ASSESSMENT_WORKFLOW,
                AssessmentInput(
                    task_id=self._task_id, context_id=self._task_id, request=self._request(), owner=self._owner
                ),
                id=self._task_id,
                result_type=AssessmentResults,
                task_timeout=limits.WORKFLOW_TASK,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                cancellation_type=workflow.ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
                search_attributes=names.make_owner_attributes(
                    self._owner,
                    SearchAttributePair(names.PROCTOR_CONTEXT, self._task_id),
                    SearchAttributePair(names.PROCTOR_STATUS, names.Status.SUBMITTED),
                ),
                memo={names.MEMO_CAMPAIGN: self._campaign_id},
            )
        except exceptions.WorkflowAlreadyStartedError:
            results = await self._steps.do(
                AssessmentRuns.join_assessment, self._task_id, **limits.joined("the assessment was started before")
            )
        return self._assessment_played(results=results)

    def _request(self) -> dict[str, Any]:
        payload = self._payload
        participants = payload.get("participants") or {str(payload["agent"]): payload["url"]}  # the form before 0.3
        return {"participants": participants, "config": payload["assessment"]}

    def _assessment_played(self, **more: Any) -> PlayedAssessment:
        names = ("agent", "scenario_id", "difficulty", "from_turn", "seed", "repeat")
        about = {name: self._payload.get(name) for name in names}
        return PlayedAssessment.model_validate({**about, "task_id": self._task_id, **more})

    def _failed(self, problem: exceptions.FailureError) -> PlayedAssessment:
        cause = problem.cause if isinstance(problem, exceptions.ChildWorkflowError) and problem.cause else problem
        results = None
        if isinstance(cause, exceptions.ApplicationError) and cause.details:
            try:
                results = AssessmentResults.model_validate(cause.details[0])
            except ValidationError:
                workflow.logger.warning("the results of %s can't be read", self._task_id)
        kind = results.failure_kind if results else None
        if kind is None and isinstance(cause, exceptions.ApplicationError):
            kind = cause.type
        sentence = cause.message if isinstance(cause, exceptions.ApplicationError) else str(cause)
        return self._assessment_played(results=results, failure_kind=kind or failures.UNKNOWN, failure=sentence)

    async def _outcome(self, played: PlayedAssessment, began_at: datetime) -> CellOutcome:
        kept = await self._steps.do_here(
            AssessmentRuns.keep_played, played, **limits.quick("keep the assessment's result")
        )
        overall = played.results.scores.overall if played.results and played.failure_kind is None else None
        share = overall.score / overall.max_score if overall and overall.max_score else None
        if played.failed_by_participant:
            share = 0.0
        return CellOutcome(
            status="completed" if played.failure_kind is None else "failed",
            succeeded=played.failure_kind is None and share is not None and 100 * share >= self._config.passing_percent,
            score=share,
            failure_kind=played.failure_kind,
            failure=played.failure,
            may_be_played_again=played.failure_kind is not None
            and (self._config.play_again == "failed" or not played.failed_by_participant)
            and played.failure_kind != failures.REJECTED,
            result=kept,
            seconds=(workflow.now() - began_at).total_seconds(),
            cost=add_costs(played.uses),
            tokens=count_tokens(played.uses),
            unpriced=bool(played.uses) and add_costs(played.uses) is None,
            uncounted=bool(played.uses) and count_tokens(played.uses) is None,
        )
