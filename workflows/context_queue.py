"""The assessments of one A2A context, one after another.

A task that its context was made for is in no queue: it needs none for as long as it is alone, as most are. Where
another one comes while it is at work, a queue is started that first waits for its end
(``activities.admission.queueing``).

The queue holds no work of its own: it tells one assessment at a time that it may begin, and waits until that one says
that it has ended. An assessment that was terminated can't say so; while others wait, the queue looks after the one at
work.
"""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError

from activities.admission.queueing import CONTEXT_QUEUE, JOIN_SIGNAL, QueueActivities
from workflows import limits

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
        """An assessment has ended, or gives up waiting."""
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
