"""What has ended is archived, on every way out that has results."""

from collections.abc import Iterable
from datetime import timedelta

from temporalio import workflow

from activities.archiving.assessments import ArchiveActivities
from activities.plan import ArchiveInput, NotedReply, Plan, PlannedReply
from proctor_protocol.results import AssessmentResults
from workflows import limits
from workflows.inputs import AssessmentInput
from workflows.progress import Progress
from workflows.steps import Steps
from workflows.telling import Telling

ARCHIVED = "archived"
"""The change since which an assessment is archived at its end."""

_WORDS = 80
"""Characters by which a message without subject is told."""


async def archive(
    steps: Steps,
    telling: Telling,
    given: AssessmentInput,
    plan: Plan,
    progress: Progress | None,
    results: AssessmentResults,
) -> None:
    """Archive an assessment; all that is told of it has to have been told."""
    if not workflow.patched(ARCHIVED):
        return
    await steps.do(
        ArchiveActivities.archive,
        ArchiveInput(
            context_id=given.context_id,
            owner=given.owner,
            message=given.message,
            plan=plan,
            results=results,
            updates=[item.data for item in telling.stream.get_state().log],
            turns=progress.notes() if progress else [],
            turn_notes=progress.turn_notes if progress else {},
            card=progress.card if progress else None,
        ),
        **limits.prepared("archive"),
    )


def noted(replies: Iterable[PlannedReply]) -> list[NotedReply]:
    """Characters' replies, as the archive tells them."""
    return [
        NotedReply(
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
