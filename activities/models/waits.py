"""One wait for a model that is away, shared by all steps of a workflow's run that ask it in this process.

Without it each of many criteria would wait as long as its own attempts take. Where the endpoint hangs, their requests
also wait for each other (``endpoint_queue``), each until its time limit.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from temporalio import activity

from proctor.activities.models.factory import ModelUnavailableError
from proctor.activities.models.failing import classified, is_away

LONGEST_WAIT = 240.0
"""Seconds after its first failure until a model is given up: those that one step's attempts take if they fail at once
(``proctor.workflows.limits``).
"""

FEWEST_FAILURES = 3
"""Requests in a row that must have failed before, however long they took: a model may be slow for one prompt."""

_MOST_WAITS = 1_000

_Place = tuple[str, tuple[str, str]]
"""The run of a workflow, and a model with its address."""


@dataclass
class _Wait:
    since: float
    problem: str
    failures: int = 0

    @property
    def is_over(self) -> bool:
        return self.failures >= FEWEST_FAILURES and time.monotonic() - self.since >= LONGEST_WAIT


_waits: dict[_Place, _Wait] = {}


@asynccontextmanager
async def shared_wait(address: tuple[str, str]) -> AsyncIterator[None]:
    """Note how an activity's request to a model ends."""
    place = (_run(), address)
    try:
        yield
    except Exception as problem:
        if activity.in_activity() and is_away(problem):
            _note(place, str(classified(problem, address[0])))
        raise
    _waits.pop(place, None)


def give_up_if_away(address: tuple[str, str]) -> None:
    """Raise ModelUnavailableError if the wait for a model is over."""
    wait = _waits.get((_run(), address))
    if wait is not None and wait.is_over:
        raise ModelUnavailableError(wait.problem)


def is_given_up() -> bool:
    """Whether the run of this activity has waited long enough for a model."""
    return any(run == _run() and wait.is_over for (run, _), wait in _waits.items())


def _note(place: _Place, problem: str) -> None:
    if place not in _waits:
        while len(_waits) >= _MOST_WAITS:
            del _waits[next(iter(_waits))]
        _waits[place] = _Wait(time.monotonic(), problem)
    _waits[place].failures += 1


def _run() -> str:
    return (activity.info().workflow_run_id or "") if activity.in_activity() else ""
