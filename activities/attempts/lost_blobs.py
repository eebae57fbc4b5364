"""Gives up what can't be done without a blob that is damaged or missing: trying again does not mend it, and the caller
should hear of it soon.
"""

from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.worker import ExecuteActivityInput

from proctor.activities.attempts.around import Proceed
from proctor.activities.attempts.elapsed import since_scheduled
from proctor.activities.attempts.failures import Kind
from proctor.storage.blobs import BlobDamagedError, BlobNotFoundError

_TRIES = 5
"""Attempts at a damaged blob: another writer of the same content may write it again meanwhile."""

_MISSING_FOR = timedelta(seconds=30)
"""For so long a file system that several machines share may not show what one of them has written."""


async def giving_up(_input: ExecuteActivityInput, proceed: Proceed) -> Any:
    """Guard: make the failure of a lost blob final."""
    try:
        return await proceed()
    except BlobDamagedError as problem:
        if activity.info().attempt < _TRIES:
            raise
        raise Kind(type(problem).__name__).final(str(problem)) from None
    except BlobNotFoundError as problem:
        if since_scheduled() < _MISSING_FOR:
            raise
        raise Kind(type(problem).__name__).final(str(problem)) from None
