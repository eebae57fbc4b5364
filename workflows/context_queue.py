"""The assessments of one A2A context, one after another. The queue tells one at a time that it may begin, and waits for
its end. While others wait, it looks after the one at work, which may be terminated and can't say so then. A task that
its context was made for is in no queue until another comes (``proctor.activities.admission.queueing``).
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
    """The workflow id of a context's queue; two callers that choose the same context id don't wait for each other."""
    return f"context-{owner}:{context_id}" if owner else f"context-{context_id}"


@workflow.defn(name=CONTEXT_QUEUE)
class ContextQueue:
    """The first to join starts it; it ends when the queue is empty."""

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
        """Grant in the order of joining until the queue is empty and no workflow holds the grant.

        Args:
            waiting: ids of tasks, the first to come first.
            at_work: the task that holds the grant.
            founder: the task that the context was made for, which never joins: its end is waited for first.
        """
        if founder is not None:
            await workflow.execute_activity_method(
                QueueActivities.wait_until_over, founder, **limits.joined("the one that the context was made for")
            )
        while True:
            if self._at_work is None and self._waiting:
                await self._grant(self._waiting.pop(0))
            if self._at_work is not None:
                await self._wait_for_end_of(self._at_work)
                self._at_work = None
            if not self._waiting:
                return
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(args=[self._waiting, self._at_work])

    @workflow.signal(name=JOIN_SIGNAL)
    async def join(self, task_id: str) -> None:
        """An assessment wants to begin; joining twice is joining once."""
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
            self._at_work = None  # it is gone already

    async def _wait_for_end_of(self, task_id: str) -> None:
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
        self.is_taken = True

    async def leave(self) -> None:
        if not self._is_in_queue:
            return
        try:
            await workflow.get_external_workflow_handle(self._queue_id).signal(LEAVE_SIGNAL, self._payload.task_id)
        except ApplicationError:
            pass  # the queue is gone, and nobody waits in it
