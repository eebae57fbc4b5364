"""A blob that is lost ends its step soon: waiting does not bring it back."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from proctor.activities.archive.assessments import _write
from proctor.activities.archive.payloads import ArchiveInput
from proctor.activities.attempts import lost_blobs
from proctor.activities.attempts.lost_blobs import giving_up
from proctor.activities.attempts.scrubbing import Scrubbing
from proctor.storage.archive import Archive
from proctor.storage.blobs import BlobDamagedError, BlobNotFoundError, BlobStore
from proctor.workflows.steps import failure_of
from tests.viewer.entries import write_day
from tests.workflows.scripted import plan


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


def test_the_input_of_a_step_that_is_lost_is_named() -> None:
    """The SDK says of it alone that it can't be decoded."""
    problem = ApplicationError("Failed decoding arguments")
    problem.__cause__ = ApplicationError("blob abc is damaged", type="BlobDamagedError")
    assert failure_of(problem) == ("BlobDamagedError", "blob abc is damaged", False)


def test_an_assessment_is_archived_though_its_scenario_is_lost(tmp_path: Path) -> None:
    other, archive = Archive(str(tmp_path / "other")), Archive(str(tmp_path / "archive"))
    day = write_day(other, "day")
    results = other.results(day)
    payload = ArchiveInput(
        plan=plan("day", ""), context_id="", message={}, results=results, updates=[], turns=[], turn_notes={}
    )
    scrubber = Scrubbing("a secret", lambda _simulation: ()).make_scrubber("day")
    _write(BlobStore(str(tmp_path / "store")), archive, scrubber, day, payload, [])
    [entry] = archive.entries()
    assert archive.results(entry) == results
    assert entry.contents == {}
