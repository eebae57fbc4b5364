"""The caller's updates on the stream of a workflow, with the turn that they belong to."""

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
        stream: the workflow's stream, which a run hands on to the next one. turn: the turn at play, None outside of
        turns. only_milestones: the caller wants no more than the milestones.
    """

    def __init__(self, prior: WorkflowStreamState | None = None) -> None:
        self.stream = WorkflowStream(prior_state=prior)
        self.turn: int | None = None
        self.only_milestones = False
        self._updates = self.stream.topic(names.UPDATES_TOPIC)
        self._reset_points: dict[str, int] = {}
        self._failed_step: tuple[str, int] | None = None

    def of_role(self, role: str) -> "UpdatePublisher":
        """The publisher of one of several participants, whose updates name it."""
        return _RolePublisher(self, role)

    def show(self, state: str, begins: str | None = None) -> None:
        """Show the assessment's state, a line of Markdown, in the Temporal UI, under *User Metadata*, with the events
        that *Reset* can take. Text of others in it has to be ``escaped``. ``begins`` is the part that begins in this
        workflow task, such as ``turn 3``; a reset to the task repeats it.
        """
        if begins is not None:
            self.note_beginning(begins)
        rows = "".join(f"| {what} | {event} |\n" for what, event in self._reset_points.items())
        table = f"\n\n| to repeat all from | *Reset* to event |\n| --- | --- |\n{rows}" if rows else ""
        workflow.set_current_details(state + table)

    def note_beginning(self, part: str) -> None:
        """Note that a part begins in this workflow task; of a part that several participants begin the first counts."""
        self._reset_points.setdefault(part, next_completion())

    def note_failed_step(self, summary: str, event: int) -> None:
        """Note which step has failed last, and the event to reset to, which repeats it."""
        self._failed_step = (summary, event)

    def show_failure(self, sentence: str) -> None:
        """Show that the assessment has failed; the table has the step that failed, too."""
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
    """Publishes on the stream of the whole assessment. The Temporal UI shows that one's state."""

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
    """The id of the event that completes the present workflow task; a reset to it repeats what that asks for."""
    return workflow.info().get_current_history_length() + 1  # so far the history ends with the task's start


def record(update: updates.TaskUpdate | CampaignUpdate) -> Payload:
    """The stream's item for an update that happens now: its JSON, and in its metadata when it was recorded."""
    payload = workflow.payload_converter().to_payloads([update.model_dump(mode="json")])[0]
    payload.metadata[updates.RECORDED_AT] = workflow.now().isoformat().encode()
    return payload
