"""A call that is followed, and cancelled by Ctrl-C while its gateway is too busy to confirm."""

import asyncio
from collections.abc import AsyncGenerator
from typing import cast

import pytest

from proctor.cli.display import AssessmentDisplay
from proctor.client.caller import AssessmentCall, CallEvent
from proctor.client.following import followed
from proctor.common.errors import CommandError
from tests.cli.test_display import console
from tests.sentences import says


class BusyGateway:
    """A call whose gateway tells nothing and confirms nothing."""

    gateway_url = "http://busy.example:8000"

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id

    async def events(self) -> AsyncGenerator[CallEvent]:
        await asyncio.Event().wait()
        yield  # type: ignore[misc]

    async def cancel(self) -> bool:
        return False


@pytest.mark.parametrize(
    "task_id",
    [
        "be3d4af5",
        "",
    ],
)
async def test_where_a_cancellation_is_not_confirmed_the_command_for_later_is_named(task_id: str) -> None:
    interrupted = asyncio.Event()
    interrupted.set()
    with AssessmentDisplay(console()) as display, pytest.raises(CommandError) as told:
        await followed(cast("AssessmentCall", BusyGateway(task_id)), display, interrupted)
    assert says().within(str(told.value))
