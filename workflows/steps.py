"""The steps of a workflow: activities whose troubles are told while they are being tried."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from temporalio import workflow

from activities.troubles import Trouble
from proctor_protocol import updates
from workflows import limits
from workflows.telling import Telling
from workflows.under_way import UnderWay

Given = TypeVar("Given")
Done = TypeVar("Done")

REMOTE_STEPS = "remote-steps"
"""The change since which steps that change a simulation are no local activities: each attempt has a fence."""


class Steps:
    """What a workflow has activities do. A step that goes past here has troubles that nobody is told of."""

    def __init__(self, telling: Telling) -> None:
        self._telling = telling
        self._under_way = UnderWay()

    async def do(self, step: Callable[[Any, Given], Awaitable[Done]], given: Given, **options: Any) -> Done:
        """An activity that some worker takes from a task queue."""
        with self._under_way.begin_step(step.__name__):
            return await workflow.execute_activity_method(step, given, **options)

    async def do_here(self, step: Callable[[Any, Given], Awaitable[Done]], given: Given, **options: Any) -> Done:
        """A local activity: quick work of the worker that has this workflow task (``limits.quick``)."""
        with self._under_way.begin_step(step.__name__):
            return await workflow.execute_local_activity_method(step, given, **options)

    async def do_quickly(self, step: Callable[[Any, Given], Awaitable[Done]], given: Given, summary: str) -> Done:
        """A step that changes the simulation, some milliseconds' work."""
        if workflow.patched(REMOTE_STEPS):
            return await self.do(step, given, **limits.prepared(summary))
        return await self.do_here(step, given, **limits.quick(summary))

    def hear_of(self, trouble: Trouble) -> None:
        """A step that is under way has not succeeded for a while, and is still being tried: the caller is told."""
        if self._under_way.is_news(trouble):
            self._telling.publish(
                updates.ErrorOccurredUpdate(
                    error_type=trouble.kind,
                    error_message=trouble.sentence(),
                    turn_number=self._telling.turn,
                    recoverable=True,
                    step=trouble.step,
                    attempt=trouble.attempt,
                    attempts=trouble.attempts,
                )
            )
