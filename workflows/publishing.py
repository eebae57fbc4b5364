"""Publish updates for the caller on a workflow's stream, each with its turn."""

from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.contrib.workflow_streams import WorkflowStream, WorkflowStreamState

from proctor.activities.attempts.markdown import escaped
from proctor.protocol import updates
from proctor.protocol.campaigns import CAMPAIGN_MILESTONES, CampaignUpdate
from proctor.workflows import names


class UpdatePublisher:
    """The updates of one workflow; made in its ``__init__``.

    Attributes:
        stream: the workflow's stream, which a run passes on to the next one.
        turn: the current turn, None outside of turns.
        only_milestones: whether the caller only wants milestones.
    """

    def __init__(self, prior: WorkflowStreamState | None = None) -> None:
        self.stream = WorkflowStream(prior_state=prior)
        self.turn: int | None = None
        self.only_milestones = False
        self._updates = self.stream.topic(names.UPDATES_TOPIC)
        self._reset_points: dict[str, int] = {}
        self._failed_step: tuple[str, int] | None = None

    def of_role(self, role: str) -> "UpdatePublisher":
        """Return the publisher of one of several participants; its updates name the participant."""
        return _RolePublisher(self, role)

    def show(self, state: str, begins: str | None = None) -> None:
        """Show the assessment's state in the Temporal UI under *User Metadata*. A list of the events to which *Reset*
        can go follows it.

        Args:
            state: a line of Markdown, in which text of others has to be ``escaped``.
            begins: the part that begins in this workflow task, such as ``turn 3``. A reset to the task repeats this
                part.
        """
        if begins is not None:
            self.note_beginning(begins)
        rows = "".join(f"| {what} | {event} |\n" for what, event in self._reset_points.items())
        table = f"\n\n| to repeat all from | *Reset* to event |\n| --- | --- |\n{rows}" if rows else ""
        workflow.set_current_details(state + table)

    def note_beginning(self, part: str) -> None:
        """Note that a part begins in this workflow task. If several participants begin it, the first one counts."""
        self._reset_points.setdefault(part, next_completion())

    def note_failed_step(self, summary: str, event: int) -> None:
        """Note the last failed step, and the event to reset to in order to repeat it."""
        self._failed_step = (summary, event)

    def show_failure(self, sentence: str) -> None:
        """Show that the assessment has failed; the table also names the failed step."""
        if self._failed_step is not None:
            summary, event = self._failed_step
            if event not in self._reset_points.values():
                self._reset_points[f"the failed step: {escaped(summary)}"] = event
        self.show(f"**Failed**: {escaped(sentence)}")

    def publish(self, update: updates.TaskUpdate | CampaignUpdate) -> None:
        if not self.only_milestones or update.message_type in updates.MILESTONES | CAMPAIGN_MILESTONES:
            self._updates.publish(record(update))

    def publish_failure(self, kind: str, sentence: str, is_final: bool = False) -> None:
        self.publish(
            updates.ErrorOccurredUpdate(
                error_type=kind, error_message=sentence, turn_number=self.turn, recoverable=not is_final
            )
        )

    async def end(self) -> None:
        """End the stream: release callers that wait for updates, and wait for every handler."""
        self.stream.detach_pollers()
        await workflow.wait_condition(workflow.all_handlers_finished)


class _RolePublisher(UpdatePublisher):
    """A role's publisher on the stream of the whole assessment. The Temporal UI shows the state of the whole
    assessment.
    """

    def __init__(self, whole: UpdatePublisher, role: str) -> None:
        self.turn = None
        self.only_milestones = False
        self._whole, self._role = whole, role

    def show(self, state: str, begins: str | None = None) -> None:
        if begins is not None:
            self._whole.note_beginning(begins)

    def note_failed_step(self, summary: str, event: int) -> None:
        self._whole.note_failed_step(summary, event)

    def publish(self, update: updates.TaskUpdate | CampaignUpdate) -> None:
        self._whole.publish(update.model_copy(update={"role": self._role}))


def next_completion() -> int:
    """Return the id of the event that will complete the present workflow task. A reset to that event repeats the task's
    commands.
    """
    return workflow.info().get_current_history_length() + 1  # the history so far ends with the task's start


def record(update: updates.TaskUpdate | CampaignUpdate) -> Payload:
    """Return the stream's item for an update that happens now. The item is the update's JSON; its metadata has the
    present time.
    """
    payload = workflow.payload_converter().to_payloads([update.model_dump(mode="json")])[0]
    payload.metadata[updates.RECORDED_AT] = workflow.now().isoformat().encode()
    return payload
