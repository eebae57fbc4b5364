"""``/simulator/time``: reading and moving the clock."""

from typing import Annotated

from pydantic import Field

from proctor.ues.events import EXECUTED, FAILED, Event
from proctor.ues.http.route import Call, Routes
from proctor.ues.schema import JsonObject, Request, Response
from proctor.ues.times import Instant, from_text


class TimeStateResponse(Response):
    """The clock. ``mode`` is manual, auto_advance or paused."""

    current_time: Instant
    time_scale: float
    is_paused: bool
    auto_advance: bool
    mode: str


class PauseResponse(TimeStateResponse):
    """The clock after pausing or resuming."""

    message: str


class AdvanceTimeRequest(Request):
    """How far to move the clock."""

    seconds: Annotated[float, Field(gt=0)]


class EventExecutionDetail(Response):
    """What became of one event."""

    event_id: str
    modality: str
    status: str
    error: str | None = None


class AdvanceTimeResponse(Response):
    """What happened on the way. ``time_advanced`` reads like ``1 day, 2:00:00``."""

    previous_time: Instant
    current_time: Instant
    time_advanced: str
    events_executed: int
    events_failed: int
    execution_details: list[EventExecutionDetail]


class SetTimeRequest(Request):
    """The instant to move the clock to; not before the current one."""

    target_time: Instant


class SetTimeResponse(Response):
    """What happened on the way."""

    current_time: Instant
    previous_time: Instant
    skipped_events: int
    executed_events: int


class SkipToNextResponse(Response):
    """What happened at the next event's time."""

    previous_time: Instant
    current_time: Instant
    events_executed: int
    next_event_time: Instant | None = None


class SetScaleRequest(Request):
    """Simulated seconds per second of wall time while auto-advance is on."""

    scale: Annotated[float, Field(gt=0)]


ROUTES: Routes[Call] = Routes()


@ROUTES.declare("GET", "/simulator/time", "time:read", TimeStateResponse, participant=True)
def _read(call: Call) -> JsonObject:
    """Read the clock."""
    return call.simulation.clock.answer()


def _count(events: list[Event], status: str) -> int:
    return sum(event["status"] == status for event in events)


@ROUTES.declare(
    "POST", "/simulator/time/advance", "time:advance", AdvanceTimeResponse, body=AdvanceTimeRequest, errors=(400, 409)
)
def _advance(call: Call) -> JsonObject:
    """Move the clock on by some seconds, running what is due."""
    body: AdvanceTimeRequest = call.body
    clock = call.simulation.clock
    before = clock.text
    ran = call.simulation.advance(body.seconds)
    return {
        "previous_time": before,
        "current_time": clock.text,
        "time_advanced": str(clock.moment - from_text(before)),
        "events_executed": _count(ran, EXECUTED),
        "events_failed": _count(ran, FAILED),
        "execution_details": [
            {
                "event_id": event["event_id"],
                "modality": event["modality"],
                "status": event["status"],
                "error": event["error_message"],
            }
            for event in ran
        ],
    }


@ROUTES.declare("POST", "/simulator/time/set", "time:set", SetTimeResponse, body=SetTimeRequest, errors=(400, 409))
def _set(call: Call) -> JsonObject:
    """Move the clock to an instant, running what is due by then."""
    body: SetTimeRequest = call.body
    before = call.simulation.clock.text
    ran = call.simulation.set_time(body.target_time)
    return {
        "current_time": call.simulation.clock.text,
        "previous_time": before,
        "skipped_events": 0,
        "executed_events": _count(ran, EXECUTED),
    }


@ROUTES.declare("POST", "/simulator/time/skip-to-next", "time:skip", SkipToNextResponse, errors=(400, 404, 409))
def _skip(call: Call) -> JsonObject:
    """Move the clock to the next pending event and run all that is due then."""
    before = call.simulation.clock.text
    ran = call.simulation.skip_to_next()
    upcoming = call.simulation.events.find_next()
    return {
        "previous_time": before,
        "current_time": call.simulation.clock.text,
        "events_executed": _count(ran, EXECUTED),
        "next_event_time": upcoming["scheduled_time"] if upcoming else None,
    }


@ROUTES.declare("POST", "/simulator/time/set-scale", "time:scale", TimeStateResponse, body=SetScaleRequest)
def _scale(call: Call) -> JsonObject:
    """Set how fast auto-advance runs."""
    body: SetScaleRequest = call.body
    call.simulation.set_scale(body.scale)
    return call.simulation.clock.answer()


@ROUTES.declare("POST", "/simulator/time/pause", "time:pause", PauseResponse)
def _pause(call: Call) -> JsonObject:
    """Stop auto-advance for a while."""
    call.simulation.set_paused(True)
    return {"message": "The clock is paused.", **call.simulation.clock.answer()}


@ROUTES.declare("POST", "/simulator/time/resume", "time:resume", PauseResponse)
def _resume(call: Call) -> JsonObject:
    """Continue auto-advance."""
    call.simulation.set_paused(False)
    return {"message": "The clock runs again.", **call.simulation.clock.answer()}
