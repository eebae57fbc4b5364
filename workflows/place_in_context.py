"""A workflow's place among those of its A2A context, which run one after another (``workflows.context_queue``)."""

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from activities.admission.payloads import QueueInput
from activities.admission.queueing import QueueActivities
from workflows import limits
from workflows.context_queue import LEAVE_SIGNAL, queue_id
from workflows.inputs import AssessmentInput, CampaignInput
from workflows.steps import Steps


class PlaceInContext:
    """Waited for, taken and left by one workflow; ``is_taken`` when it may begin."""

    def __init__(self, steps: Steps, payload: AssessmentInput | CampaignInput, is_taken: bool = False) -> None:
        self._steps = steps
        self._queue_id = queue_id(payload.context_id, payload.owner)
        self._payload = payload
        self._is_in_queue = is_taken  # perhaps: an earlier run may have joined
        self.is_taken = is_taken

    async def wait_for(self) -> None:
        """Join the queue, and wait until it says that no other workflow of the context is at work.

        A task whose context was made for it doesn't wait.
        """
        task_id, context_id = self._payload.task_id, self._payload.context_id
        if context_id == task_id:
            self.take()
            return
        self._is_in_queue = True
        await self._steps.do_here(
            QueueActivities.join_queue,
            QueueInput(queue_id=self._queue_id, task_id=task_id, context_id=context_id, owner=self._payload.owner),
            **limits.quick("wait for earlier assessments of the context"),
        )
        await workflow.wait_condition(lambda: self.is_taken)

    def take(self) -> None:
        """The queue says that this one may begin."""
        self.is_taken = True

    async def leave(self) -> None:
        """The next one may begin."""
        if not self._is_in_queue:
            return
        try:
            await workflow.get_external_workflow_handle(self._queue_id).signal(LEAVE_SIGNAL, self._payload.task_id)
        except ApplicationError:
            pass  # the queue is gone, and nobody waits in it
