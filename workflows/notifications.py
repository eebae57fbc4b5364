"""Notify a webhook in a separate workflow, so nothing that the webhook does can affect the assessment."""

from datetime import timedelta

from temporalio import workflow

from proctor.activities.notifications.activities import NotificationActivities
from proctor.activities.notifications.plan import Delivery
from proctor.workflows import limits, names


@workflow.defn(name=names.NOTIFICATIONS_WORKFLOW)
class Notifications:
    """The delivery of a task's notifications to a webhook. The workflow ends when the webhook has accepted the task's
    last notification, and fails when it gives up the webhook.
    """

    @workflow.run
    async def run(self, payload: Delivery) -> None:
        queue = workflow.info().task_queue + names.NOTIFICATIONS_QUEUE
        while True:
            delivered = await workflow.execute_activity_method(
                NotificationActivities.notify, payload, task_queue=queue, **limits.notified(f"after {payload.after}")
            )
            if delivered.is_done:
                return
            payload = payload.model_copy(update={"after": delivered.after})
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(payload)
            await workflow.sleep(timedelta(seconds=1))
