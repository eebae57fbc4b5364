"""Share one wait for an unavailable model among all steps of a workflow run in this process.

Otherwise, each of many criteria would wait until its last attempt. Requests to an endpoint that hangs would also wait
for each other (``endpoint_queue``), each until its time limit.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from temporalio import activity

from proctor.activities.models.factory import ModelUnavailableError
from proctor.activities.models.failing import classified, is_away

LONGEST_WAIT = 240.0
"""Seconds from the first failure until a model is given up. One step's attempts take this long if each fails at once
(``proctor.workflows.limits``).
"""

FEWEST_FAILURES = 3
"""The fewest failed requests in a row until a model is given up, regardless of time: one prompt may be slow."""

_MOST_WAITS = 1_000

_Place = tuple[str, tuple[str, str]]
"""The run of a workflow, and a model's name with its address."""


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
    """Record whether an activity's request to a model succeeds or fails."""
    place = (_run(), address)
    try:
        yield
    except Exception as error:
        if activity.in_activity() and is_away(error):
            _note(place, str(classified(error, address[0])))
        raise
    _waits.pop(place, None)


def give_up_if_away(address: tuple[str, str]) -> None:
    """Raise ModelUnavailableError if the shared wait for a model is over."""
    wait = _waits.get((_run(), address))
    if wait is not None and wait.is_over:
        raise ModelUnavailableError(wait.problem)


def is_given_up() -> bool:
    """Return whether the run of this activity has waited long enough for a model."""
    return any(run == _run() and wait.is_over for (run, _), wait in _waits.items())


def _note(place: _Place, problem: str) -> None:
    if place not in _waits:
        while len(_waits) >= _MOST_WAITS:
            del _waits[next(iter(_waits))]
        _waits[place] = _Wait(time.monotonic(), problem)
    _waits[place].failures += 1


def _run() -> str:
    return (activity.info().workflow_run_id or "") if activity.in_activity() else ""
