"""What an activity asks of models, through all of its attempts, also where it comes to no result."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import TypeAdapter
from temporalio import activity
from temporalio.exceptions import ActivityError, ApplicationError, ApplicationErrorCategory
from temporalio.exceptions import TimeoutError as ActivityTimeoutError

from proctor.activities.attempts import failures, heartbeats
from proctor.activities.models.factory import ModelError, ModelUnavailableError
from proctor.activities.models.usage import Meter
from proctor.activities.models.waits import is_given_up
from purple_sdk.protocol.provenance import ModelUse
from purple_sdk.settings.prices import Prices

_USES = TypeAdapter(list[ModelUse])

_USAGE = "model_usage"
"""In a failure's details: what was asked of models until then."""


@contextmanager
def attempt_meter(prices: Prices) -> Iterator[Meter]:
    """A meter that begins with what earlier attempts of this activity asked, and notes each answer for the next one.

    A failure that leaves this context carries what is on the meter, for ``usage_of``; so does a cancellation that was
    requested (``CalledOff``). That of a model which the run has given up (``waits``) is final. The notes are all that
    the activity leaves with its heartbeats. What an attempt asked in the last moment before its worker died may be
    missing.
    """
    noted = heartbeats.notes()
    meter = Meter(prices, _USES.validate_python(noted[-1]) if noted else [])
    meter.on_answer = lambda: heartbeats.note_only(_USES.dump_python(meter.read(), mode="json"))
    try:
        yield meter
    except asyncio.CancelledError:
        details = activity.cancellation_details()
        if details is None or not details.cancel_requested or not meter.read():
            raise
        raise ApplicationError(
            "The step was cancelled.",
            _usage_on(meter),
            type=failures.CALLED_OFF,
            non_retryable=True,
            category=ApplicationErrorCategory.BENIGN,
        ) from None
    except ApplicationError as problem:
        if not meter.read():
            raise
        raise failures.altered(problem, _usage_on(meter)) from problem.__cause__
    except ModelError as problem:
        is_final = isinstance(problem, ModelUnavailableError) and is_given_up()
        if not meter.read() and not is_final:
            raise
        raise ApplicationError(
            str(problem), _usage_on(meter), type=type(problem).__name__, non_retryable=is_final
        ) from problem


def usage_of(problem: ActivityError) -> list[ModelUse]:
    """What a failed activity had asked of models, as far as its failure or its last heartbeat tells; for workflows."""
    cause = problem.cause
    if isinstance(cause, ActivityTimeoutError):
        notes = cause.last_heartbeat_details
        return _USES.validate_python(notes[-1]) if notes else []
    details = cause.details if isinstance(cause, ApplicationError) else ()
    return next((_USES.validate_python(d[_USAGE]) for d in details if isinstance(d, dict) and _USAGE in d), [])


def _usage_on(meter: Meter) -> dict[str, object]:
    return {_USAGE: _USES.dump_python(meter.read(), mode="json")}
