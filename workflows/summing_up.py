"""The results of an assessment, their updates and search attributes."""

from typing import NamedTuple

from temporalio import workflow

from proctor.activities.participant.action_report import compare
from proctor.activities.plan import Plan
from proctor.protocol import updates
from proctor.workflows import names
from proctor.workflows.judging import Judging
from proctor.workflows.progress import Progress
from proctor.workflows.time_played import seconds_played
from purple_sdk.protocol.messages import CompletionReason
from purple_sdk.protocol.provenance import Provenance, evaluators_used
from purple_sdk.protocol.results import (
    ActionLogEntryWithTurn,
    AssessmentResults,
    ResultStatus,
    sums_of,
    unscored,
)


def note_score(results: AssessmentResults) -> None:
    overall = results.scores.overall
    workflow.upsert_memo({"score": f"{overall.score_text}/{overall.max_score}", "coverage": results.coverage})
    if overall.max_score:
        workflow.upsert_search_attributes([names.PROCTOR_SCORE.value_set(overall.score / overall.max_score)])


class Ending(NamedTuple):
    """The end of an assessment.

    Attributes:
        status: the status of the results.
        reason: a word of ``completion_reason``.
        failure: a sentence. If there is one, every criterion is unscored.
        failure_kind: the failure's type (``proctor.activities.attempts.failures``).
    """

    status: ResultStatus
    reason: str
    failure: str | None = None
    failure_kind: str | None = None


def sum_up(plan: Plan, progress: Progress | None, judging: Judging, ending: Ending) -> AssessmentResults:
    """Return the results until now; ``progress`` is None before the first turn can begin."""
    action_log = progress.action_log if progress else []
    criteria_results = [
        # A score from some of the verdicts couldn't be compared with other participants' scores.
        unscored(criterion, ending.failure) if ending.failure else judging.verdicts[criterion.criterion_id]
        for criterion in plan.criteria
    ]
    return AssessmentResults(
        assessment_id=plan.assessment_id,
        scenario_id=plan.scenario_id,
        participant=plan.participant,
        status=ending.status,
        duration_seconds=seconds_played(progress),
        turns_taken=progress.turn if progress else 0,
        criteria_results=criteria_results,
        action_log=action_log,
        action_report=compare(progress.reported if progress else [], _reportable(action_log, progress)),
        seed=plan.seed,
        offline=plan.offline,
        completion_reason=ending.reason,
        failure=ending.failure,
        failure_kind=ending.failure_kind,
        turn_tries=progress.turn_tries if progress else {},
        is_partial=ending.status == "completed"
        and progress is not None
        and not progress.early_completion
        and progress.current_time < plan.end_time,
        scenario_turns=plan.scenario_turns,
        family=plan.instance.family if plan.instance else None,
        difficulty=plan.instance.difficulty if plan.instance else None,
        instance_seed=plan.instance.seed if plan.instance else None,
        clock=plan.clock,
        noise=plan.noise,
        provenance=_provenance(plan, progress, judging),
        participant_usage=progress.participant_usage if progress else [],
        clarifications=progress.clarifications if progress else [],
        forked_from=plan.fork.origin if plan.fork else None,
        **sums_of(criteria_results, action_log),
    )


def _provenance(plan: Plan, progress: Progress | None, judging: Judging) -> Provenance:
    """Return the versions, hashes, models and times of an assessment. Models' usage includes judgements that don't
    count.
    """
    verdicts = judging.verdicts
    reached = [verdicts[c.criterion_id] for c in plan.criteria if c.criterion_id in verdicts]
    frozen = plan.package.sha256 if plan.package else None
    hashes = list(dict.fromkeys(verdict.evaluator_hash for verdict in reached if verdict.evaluator_hash))
    return Provenance(
        proctor_version=plan.proctor_version,
        scenario_version=plan.scenario_version,
        reader=plan.reader,
        scenario_hash=frozen,
        family=plan.instance.family if plan.instance else None,
        difficulty=plan.instance.difficulty if plan.instance else None,
        canary=plan.canary,
        evaluators=evaluators_used(frozen, hashes),
        evaluators_hashes=hashes,
        judges=judging.usage(plan),
        characters=progress.characters_usage if progress else [],
        drafts=progress.drafts if progress and progress.drafts.written else None,
        participant_url=plan.participant_url,
        participant_card=progress.card if progress else None,
        started_at=progress.started_at if progress else None,
        ended_at=workflow.now(),
        seconds_played=seconds_played(progress) if progress else None,
    )


def _reportable(action_log: list[ActionLogEntryWithTurn], progress: Progress | None) -> list[ActionLogEntryWithTurn]:
    """Return the actions that the participant was expected to report. An ``early_completion`` may lack its turn's
    actions.
    """
    if progress is None or not progress.early_completion or progress.has_reported_all:
        return action_log
    return [entry for entry in action_log if entry.turn != progress.turn]


def last_update(results: AssessmentResults, reason: CompletionReason) -> updates.AssessmentCompletedUpdate:
    return updates.AssessmentCompletedUpdate(
        reason=reason,
        total_turns=results.turns_taken,
        total_actions=results.actions_taken,
        duration_seconds=results.duration_seconds,
        overall_score=results.scores.overall.score,
        max_score=results.scores.overall.max_score,
        doubtful_points=results.scores.overall.doubtful_points,
    )
