"""A guard that stops retries if a blob is damaged or missing. A retry can't repair the blob, and the caller should
know.
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
"""The number of attempts at a damaged blob. Between them, another writer of the same content may repair the blob."""

_MISSING_FOR = timedelta(seconds=30)
"""How long a shared file system may hide a file that another machine has written."""


async def giving_up(_input: ExecuteActivityInput, proceed: Proceed) -> Any:
    """Guard: make the failure of a lost blob final."""
    try:
        return await proceed()
    except BlobDamagedError as error:
        if activity.info().attempt < _TRIES:
            raise
        raise Kind(type(error).__name__).final(str(error)) from None
    except BlobNotFoundError as error:
        if since_scheduled() < _MISSING_FOR:
            raise
        raise Kind(type(error).__name__).final(str(error)) from None
