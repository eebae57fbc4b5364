"""A blob that is lost ends its step soon: waiting does not bring it back."""

from dataclasses import replace
from datetime import timedelta

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.attempts import lost_blobs
from activities.attempts.lost_blobs import giving_up
from proctor_storage.blobs import BlobDamagedError, BlobNotFoundError


async def fails(problem: Exception, attempt: int, seconds: float) -> BaseException:
    """What becomes of an attempt that fails so, some seconds after its step was scheduled."""
    surroundings = ActivityEnvironment()
    begun = surroundings.info.scheduled_time + timedelta(seconds=seconds)
    surroundings.info = replace(surroundings.info, attempt=attempt, started_time=begun)

    async def work() -> None:
        raise problem

    async def doing() -> None:
        await giving_up(None, work)  # type: ignore[arg-type]

    with pytest.raises(Exception) as raised:
        await surroundings.run(doing)
    return raised.value


@pytest.mark.parametrize(
    ("problem", "attempt", "seconds", "is_final"),
    [
        (BlobDamagedError("damaged"), lost_blobs._TRIES - 1, 900, False),
        (BlobDamagedError("damaged"), lost_blobs._TRIES, 1, True),
        (BlobNotFoundError("missing"), 9, 29, False),
        (BlobNotFoundError("missing"), 9, 31, True),
        (ValueError("else"), 99, 900, False),
    ],
)
async def test_a_lost_blob_is_final_soon(problem: Exception, attempt: int, seconds: float, is_final: bool) -> None:
    failed = await fails(problem, attempt, seconds)
    if not is_final:
        assert failed is problem
        return
    assert isinstance(failed, ApplicationError)
    assert failed.non_retryable
    assert (failed.type, failed.message) == (type(problem).__name__, str(problem))
