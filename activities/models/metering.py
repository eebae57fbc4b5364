"""Count an activity's usage of models over all of its attempts, even if it fails."""

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
"""The key for the usage of models in a failure's details."""


@contextmanager
def attempt_meter(prices: Prices) -> Iterator[Meter]:
    """Return a meter that begins with the usage by earlier attempts, and notes each answer for the next attempt.

    A failure that leaves this context carries the meter's counts, for ``find_usage``. A requested cancellation also
    carries them (``CalledOff``). The failure is final if the run has given up the model (``waits``). The activity's
    heartbeats have no other notes. The counts may lack calls just before a worker died.
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
            _dump_usage(meter),
            type=failures.CALLED_OFF,
            non_retryable=True,
            category=ApplicationErrorCategory.BENIGN,
        ) from None
    except ApplicationError as error:
        if not meter.read():
            raise
        raise failures.altered(error, _dump_usage(meter)) from error.__cause__
    except ModelError as error:
        is_final = isinstance(error, ModelUnavailableError) and is_given_up()
        if not meter.read() and not is_final:
            raise
        raise ApplicationError(
            str(error), _dump_usage(meter), type=type(error).__name__, non_retryable=is_final
        ) from error


def find_usage(problem: ActivityError) -> list[ModelUse]:
    """Return a failed activity's usage of models, from its failure or its last heartbeat. For workflows."""
    cause = problem.cause
    if isinstance(cause, ActivityTimeoutError):
        notes = cause.last_heartbeat_details
        return _USES.validate_python(notes[-1]) if notes else []
    details = cause.details if isinstance(cause, ApplicationError) else ()
    return next((_USES.validate_python(d[_USAGE]) for d in details if isinstance(d, dict) and _USAGE in d), [])


def _dump_usage(meter: Meter) -> dict[str, object]:
    return {_USAGE: _USES.dump_python(meter.read(), mode="json")}
