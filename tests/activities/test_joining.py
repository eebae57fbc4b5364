"""A campaign waits for a workflow that was started before, by an activity; what becomes of it when that one ends."""

import asyncio
from typing import Any, cast

import pytest
from temporalio.activity import ActivityCancellationDetails
from temporalio.testing import ActivityEnvironment

from proctor.activities.campaign.activities import result_of


class NeverEnding:
    """Stands in for a workflow's handle."""

    def __init__(self) -> None:
        self.is_awaited = asyncio.Event()
        self.cancellations = 0

    async def result(self) -> None:
        self.is_awaited.set()
        await asyncio.Event().wait()

    async def cancel(self) -> None:
        self.cancellations += 1


@pytest.mark.parametrize(
    ("why", "cancellations"),
    [
        pytest.param(ActivityCancellationDetails(cancel_requested=True), 1, id="the campaign was cancelled"),
        pytest.param(ActivityCancellationDetails(worker_shutdown=True), 0, id="its worker stops"),
        pytest.param(ActivityCancellationDetails(timed_out=True), 0, id="the attempt took too long"),
    ],
)
async def test_only_a_cancelled_campaign_cancels_what_it_waits_for(
    why: ActivityCancellationDetails, cancellations: int
) -> None:
    workflow, surroundings = NeverEnding(), ActivityEnvironment()
    joining = asyncio.ensure_future(surroundings.run(result_of, cast("Any", workflow)))
    await workflow.is_awaited.wait()
    surroundings.cancel(cancellation_details=why)
    with pytest.raises(asyncio.CancelledError):
        await joining
    assert workflow.cancellations == cancellations
