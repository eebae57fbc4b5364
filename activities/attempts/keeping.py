"""What an activity returns is in the store before the activity ends.

Large results travel through the blob store (``proctor_storage.temporal``). Temporal's worker puts them there once an
activity has ended: by then nothing beats for it any more, and a failure would be one of its few attempts. So it is done
here, as long as the activity beats, with as much patience as for everything else that isn't the participant's fault.
"""

from typing import Any

from temporalio import activity
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from activities.attempts.patience import patiently


class Keeping(Interceptor):
    """The worker's interceptor that puts results away; it stands between heartbeats and the scrubbing of secrets."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002
        """Wrap an activity's execution."""
        return _Kept(next)


class _Kept(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002
        result = await super().execute_activity(input)
        if activity.info().heartbeat_timeout:
            converter = activity.client().data_converter
            await patiently(lambda: converter.encode([result]))
        return result
