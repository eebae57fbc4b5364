"""The queue of one A2A context, which runs its assessments one after another.

The queue lets one assessment at a time begin, and waits for its end. While other assessments wait, it checks the
running one, because a terminated workflow can't report its end. The task that began the context joins no queue; the
queue starts when a second task comes (``proctor.activities.admission.queueing``).
"""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError

from proctor.activities.admission.payloads import QueueInput
from proctor.activities.admission.queueing import CONTEXT_QUEUE, JOIN_SIGNAL, QueueActivities
from proctor.workflows import limits
from proctor.workflows.inputs import AssessmentInput, CampaignInput
from proctor.workflows.steps import Steps

GRANT_SIGNAL = "begin"
LEAVE_SIGNAL = "leave"
_LOOK_AFTER = timedelta(seconds=20)


def queue_id(context_id: str, owner: str = "") -> str:
    """Return the workflow id of a context's queue. Two callers with the same context id get different queues."""
    return f"context-{owner}:{context_id}" if owner else f"context-{context_id}"


@workflow.defn(name=CONTEXT_QUEUE)
class ContextQueue:
    """The queue of a context. The first member starts the queue, which ends when it is empty."""

    @workflow.init
    def __init__(
        self, waiting: list[str] | None = None, at_work: str | None = None, founder: str | None = None
    ) -> None:
        self._waiting: list[str] = list(waiting or [])
        self._at_work: str | None = at_work

    @workflow.run
    async def run(
        self, waiting: list[str] | None = None, at_work: str | None = None, founder: str | None = None
    ) -> None:
        """Let tasks begin in the order of joining, until the queue is empty and no task is running.

        Args:
            waiting: ids of tasks, in order of joining.
            at_work: the task that was allowed to begin and has not ended.
            founder: the task that began the context. It never joins; the queue first waits for its end.
        """
        if founder is not None:
            await workflow.execute_activity_method(
                QueueActivities.wait_until_over, founder, **limits.joined("the one that the context was made for")
            )
        while True:
            if self._at_work is None and self._waiting:
                await self._grant(self._waiting.pop(0))
            if self._at_work is not None:
                await self._await_end(self._at_work)
                self._at_work = None
            if not self._waiting:
                return
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(args=[self._waiting, self._at_work])

    @workflow.signal(name=JOIN_SIGNAL)
    async def join(self, task_id: str) -> None:
        """Signal: an assessment joins the queue. Joining twice counts once."""
        if task_id not in self._waiting and task_id != self._at_work:
            self._waiting.append(task_id)

    @workflow.signal(name=LEAVE_SIGNAL)
    async def leave(self, task_id: str) -> None:
        if task_id in self._waiting:
            self._waiting.remove(task_id)
        if task_id == self._at_work:
            self._at_work = None

    async def _grant(self, task_id: str) -> None:
        self._at_work = task_id
        try:
            await workflow.get_external_workflow_handle(task_id).signal(GRANT_SIGNAL)
        except ApplicationError:
            self._at_work = None  # it has ended already

    async def _await_end(self, task_id: str) -> None:
        while self._at_work == task_id:
            await workflow.wait_condition(lambda: self._at_work != task_id or bool(self._waiting))
            if self._at_work != task_id:
                return
            try:
                await workflow.wait_condition(lambda: self._at_work != task_id, timeout=_LOOK_AFTER)
            except TimeoutError:
                if not await workflow.execute_activity_method(
                    QueueActivities.is_running,
                    task_id,
                    start_to_close_timeout=timedelta(seconds=10),
                    retry_policy=RetryPolicy(maximum_interval=timedelta(seconds=30)),
                    summary="does the one at work still run?",
                ):
                    return


class PlaceInContext:
    """A workflow's place in the queue of its context. ``is_taken`` is true once the workflow may begin."""

    def __init__(self, steps: Steps, payload: AssessmentInput | CampaignInput, is_taken: bool = False) -> None:
        self._steps = steps
        self._queue_id = queue_id(payload.context_id, payload.owner)
        self._payload = payload
        self._is_in_queue = is_taken  # perhaps: an earlier run may have joined
        self.is_taken = is_taken

    async def wait(self) -> None:
        """Join the queue, and wait until no other workflow of the context is running.

        The task that began the context doesn't wait.
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
        self.is_taken = True

    async def leave(self) -> None:
        if not self._is_in_queue:
            return
        try:
            await workflow.get_external_workflow_handle(self._queue_id).signal(LEAVE_SIGNAL, self._payload.task_id)
        except ApplicationError:
            pass  # the queue is gone, and no workflow waits in it
