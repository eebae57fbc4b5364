"""An activity's result is in the store before the activity ends.

Large results travel through the blob store (``proctor_storage.temporal``). Temporal's worker puts them there once an
activity has ended: by then nothing beats for it any more, and a failure would be one of its few attempts. So it is done
here, as long as the activity beats, with as much patience as for everything else that isn't the participant's fault.
"""

from typing import Any

from temporalio import activity
from temporalio.worker import ExecuteActivityInput

from activities.attempts.around import Proceed
from activities.attempts.patience import patiently


async def keeping(_input: ExecuteActivityInput, proceed: Proceed) -> Any:
    """Guard: store the result before the attempt ends."""
    result = await proceed()
    if activity.info().heartbeat_timeout:
        converter = activity.client().data_converter
        await patiently(lambda: converter.encode([result]))
    return result
