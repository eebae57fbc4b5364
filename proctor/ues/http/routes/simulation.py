"""``/simulation``: start and stop, undo and redo, reset and clear, and the holds that keep the clock still."""

from typing import Annotated

from pydantic import Field

from proctor.ues.events import EXECUTED, FAILED, PENDING
from proctor.ues.http.route import Call, Routes
from proctor.ues.problems import Impossible
from proctor.ues.schema import Int, JsonObject, Request, Response
from proctor.ues.simulation import Step
from proctor.ues.times import Instant, parse


class StartSimulationRequest(Request):
    """How the clock is to move: by hand, or with the wall clock at ``time_scale`` simulated seconds per second."""

    auto_advance: bool = False
    time_scale: Annotated[float, Field(gt=0)] = 1.0


class StartSimulationResponse(Response):
    """The simulation after starting."""

    simulation_id: str
    status: str
    current_time: Instant
    auto_advance: bool
    time_scale: float | None = None


class StopSimulationResponse(Response):
    """The simulation after stopping."""

    simulation_id: str
    status: str
    final_time: Instant | None = None
    total_events: int | None = None
    events_executed: int | None = None
    events_failed: int | None = None


class SimulationStatusResponse(Response):
    """The state of the simulation."""

    is_running: bool
    current_time: Instant
    is_paused: bool
    auto_advance: bool
    time_scale: float
    pending_events: int
    executed_events: int
    failed_events: int
    next_event_time: Instant | None = None


class ResetSimulationResponse(Response):
    """``cleared_events`` counts all events: every one of them is pending again."""

    status: str
    message: str
    cleared_events: int
    events_undone: int = 0
    undo_errors: list[str] = Field(default_factory=list)


class ClearSimulationRequest(Request):
    """Where to set the clock, ISO 8601; it stays where it is without."""

    reset_time_to: str | None = None


class ClearSimulationResponse(Response):
    """What was removed."""

    status: str
    events_removed: int
    modalities_cleared: int
    time_reset: Instant | None = None
    current_time: Instant


class UndoRequest(Request):
    """How many executed events to take back."""

    count: Annotated[Int, Field(ge=1, le=100)] = 1


class RedoRequest(Request):
    """How many undone events to make again."""

    count: Annotated[Int, Field(ge=1, le=100)] = 1


class UndoRedoEventDetail(Response):
    """An event whose effect was taken back or made again."""

    event_id: str
    modality: str
    action: str | None = None


class UndoResponse(Response):
    """What was undone, newest first."""

    undone_count: int
    undone_events: list[UndoRedoEventDetail]
    can_undo: bool
    can_redo: bool
    message: str | None = None


class RedoResponse(Response):
    """What was redone, oldest first."""

    redone_count: int
    redone_events: list[UndoRedoEventDetail]
    can_undo: bool
    can_redo: bool
    message: str | None = None


class HoldRequest(Request):
    """Who holds the clock, why, and for how many seconds of wall time at most."""

    agent_id: str
    reason: str
    timeout_seconds: Annotated[float, Field(gt=0, le=300)] = 30


class HoldResponse(Response):
    """A hold. Its times are wall time."""

    hold_id: str
    reason: str
    timeout_seconds: float
    acquired_at: Instant
    expires_at: Instant
    active_hold_count: int


class ReleaseResponse(Response):
    """A hold that ended."""

    released: bool
    hold_id: str
    active_hold_count: int


class Hold(Response):
    """An active hold."""

    hold_id: str
    agent_id: str
    reason: str
    timeout_seconds: float
    acquired_at: Instant
    expires_at: Instant


class HoldsResponse(Response):
    """The active holds, oldest first."""

    holds: list[Hold]
    active_count: int


ROUTES: Routes[Call] = Routes()


@ROUTES.declare(
    "POST", "/simulation/start", "simulation:start", StartSimulationResponse, body=StartSimulationRequest, errors=(409,)
)
def _start(call: Call) -> JsonObject:
    """Start running."""
    body: StartSimulationRequest = call.body
    simulation = call.simulation
    simulation.start(auto_advance=body.auto_advance, time_scale=body.time_scale)
    return {
        "simulation_id": simulation.simulation_id,
        "status": "running",
        "current_time": simulation.clock.text,
        "auto_advance": simulation.clock.auto_advance,
        "time_scale": simulation.clock.time_scale,
    }


@ROUTES.declare("POST", "/simulation/stop", "simulation:stop", StopSimulationResponse)
def _stop(call: Call) -> JsonObject:
    """Stop running."""
    simulation = call.simulation
    simulation.stop()
    return {
        "simulation_id": simulation.simulation_id,
        "status": "stopped",
        "final_time": simulation.clock.text,
        "total_events": len(simulation.events),
        "events_executed": simulation.events.count(EXECUTED),
        "events_failed": simulation.events.count(FAILED),
    }


@ROUTES.declare("GET", "/simulation/status", "simulation:status", SimulationStatusResponse)
def _status(call: Call) -> JsonObject:
    """The state of the simulation."""
    simulation = call.simulation
    upcoming = simulation.events.find_next()
    return {
        "is_running": simulation.is_running,
        "current_time": simulation.clock.text,
        "is_paused": simulation.clock.is_paused,
        "auto_advance": simulation.clock.auto_advance,
        "time_scale": simulation.clock.time_scale,
        "pending_events": simulation.events.count(PENDING),
        "executed_events": simulation.events.count(EXECUTED),
        "failed_events": simulation.events.count(FAILED),
        "next_event_time": upcoming["scheduled_time"] if upcoming else None,
    }


@ROUTES.declare("POST", "/simulation/reset", "simulation:reset", ResetSimulationResponse)
def _reset(call: Call) -> JsonObject:
    """Undo everything and make every event pending again; the clock stays where it is."""
    cleared, undone = call.simulation.reset()
    return {
        "status": "reset",
        "message": f"{cleared} event(s) are pending again, {undone} undone. It is {call.simulation.clock.text}.",
        "cleared_events": cleared,
        "events_undone": undone,
        "undo_errors": [],
    }


@ROUTES.declare(
    "POST",
    "/simulation/clear",
    "simulation:clear",
    ClearSimulationResponse,
    body=ClearSimulationRequest,
    body_required=False,
    errors=(400,),
)
def _clear(call: Call) -> JsonObject:
    """Remove every event and all content."""
    body: ClearSimulationRequest = call.body
    try:
        time_reset = None if body.reset_time_to is None else parse(body.reset_time_to)
    except ValueError as error:
        raise Impossible(f"reset_time_to: {error}.") from None
    removed = call.simulation.clear(time_reset)
    return {
        "status": "cleared",
        "events_removed": removed,
        "modalities_cleared": len(call.simulation.states),
        "time_reset": time_reset,
        "current_time": call.simulation.clock.text,
    }


def _moved(call: Call, steps: list[Step], verb: str) -> JsonObject:
    return {
        f"{verb}_count": len(steps),
        f"{verb}_events": [
            {"event_id": step["event_id"], "modality": step["modality"], "action": step["action"]} for step in steps
        ],
        "can_undo": bool(call.simulation.undo_stack),
        "can_redo": bool(call.simulation.redo_stack),
        "message": None if steps else f"Nothing to be {verb}.",
    }


@ROUTES.declare("POST", "/simulation/undo", "simulation:undo", UndoResponse, body=UndoRequest, body_required=False)
def _undo(call: Call) -> JsonObject:
    """Take back the effect of executed events, newest first."""
    body: UndoRequest = call.body
    return _moved(call, call.simulation.undo(body.count), "undone")


@ROUTES.declare("POST", "/simulation/redo", "simulation:redo", RedoResponse, body=RedoRequest, body_required=False)
def _redo(call: Call) -> JsonObject:
    """Make undone effects again."""
    body: RedoRequest = call.body
    return _moved(call, call.simulation.redo(body.count), "redone")


@ROUTES.declare("POST", "/simulation/hold", "simulation:hold", HoldResponse, body=HoldRequest)
def _hold(call: Call) -> JsonObject:
    """Keep the clock still for a while."""
    body: HoldRequest = call.body
    simulation = call.simulation
    simulation.note_change()
    hold = simulation.holds.acquire(simulation.ids.draw(), body.agent_id, body.reason, body.timeout_seconds)
    shown = {name: value for name, value in hold.items() if name != "agent_id"}
    return {**shown, "active_hold_count": len(simulation.holds.list_active())}


@ROUTES.declare("POST", "/simulation/release/{hold_id}", "simulation:release", ReleaseResponse, errors=(404,))
def _release(call: Call) -> JsonObject:
    """End a hold."""
    hold_id = call.path["hold_id"]
    call.simulation.holds.release(hold_id)
    call.simulation.note_change()
    return {"released": True, "hold_id": hold_id, "active_hold_count": len(call.simulation.holds.list_active())}


@ROUTES.declare("GET", "/simulation/holds", "simulation:holds", HoldsResponse)
def _holds(call: Call) -> JsonObject:
    """List the active holds."""
    active = call.simulation.holds.list_active()
    return {"holds": active, "active_count": len(active)}
