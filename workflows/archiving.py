"""Archive ended work with its results, after any kind of end."""

from collections.abc import Iterable
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import FailureError, is_cancelled_exception

from proctor.activities.archive.assessments import ArchiveActivities
from proctor.activities.archive.payloads import ArchiveInput
from proctor.activities.campaign.activities import CampaignArchiving
from proctor.activities.campaign.plan import CampaignArchiveInput
from proctor.activities.plan import Plan
from proctor.activities.simulation.payloads import PlannedReply
from proctor.protocol.archive import ReplyRecord
from proctor.terminal.archiving import TrialArchiving
from proctor.terminal.plan import TrialArchiveInput
from proctor.workflows import limits
from proctor.workflows.inputs import AssessmentInput
from proctor.workflows.names import MEMO_CAMPAIGN
from proctor.workflows.progress import Progress
from proctor.workflows.publishing import UpdatePublisher
from proctor.workflows.steps import Steps
from purple_sdk.protocol.results import AssessmentResults

_WORDS = 80
"""The number of characters that identify a message without subject."""


async def archive(
    steps: Steps,
    publisher: UpdatePublisher,
    payload: AssessmentInput,
    plan: Plan,
    progress: Progress | None,
    results: AssessmentResults,
) -> None:
    await steps.do(
        ArchiveActivities.archive,
        ArchiveInput(
            context_id=payload.context_id,
            owner=payload.owner,
            message=payload.message,
            plan=plan,
            results=results,
            updates=_updates(publisher),
            turns=progress.notes() if progress else [],
            turn_notes=progress.turn_notes if progress else {},
            trajectories=progress.trajectories if progress else {},
            card=progress.card if progress else None,
            campaign=workflow.memo_value(MEMO_CAMPAIGN, None, type_hint=str),
        ),
        **limits.prepared("archive"),
    )


async def archive_trial(steps: Steps, publisher: UpdatePublisher, payload: TrialArchiveInput) -> None:
    """Archive a trial. A failure to archive it doesn't change the trial's end."""
    try:
        await steps.do(
            TrialArchiving.archive_trial,
            payload.model_copy(update={"updates": _updates(publisher)}),
            **limits.prepared("archive"),
        )
    except FailureError as error:
        if is_cancelled_exception(error):
            raise
        workflow.logger.warning("%s was not archived: %s", payload.plan.trial_id, error)


async def archive_campaign(steps: Steps, payload: CampaignArchiveInput, publisher: UpdatePublisher) -> None:
    await steps.do(
        CampaignArchiving.archive_campaign,
        payload.model_copy(update={"updates": _updates(publisher)}),
        **limits.prepared("archive"),
    )


def _updates(publisher: UpdatePublisher) -> list[str]:
    return [item.data for item in publisher.stream.get_state().log]


def reply_records(replies: Iterable[PlannedReply]) -> list[ReplyRecord]:
    return [
        ReplyRecord(
            character_id=planned.reply.character_id,
            modality=planned.reply.modality,
            at=planned.message.sent_at + timedelta(seconds=planned.reply.delay_seconds),
            text=planned.reply.text,
            subject=planned.reply.subject,
            response=planned.reply.response,
            to=planned.message.subject or planned.message.title or planned.message.body[:_WORDS],
        )
        for planned in replies
    ]
