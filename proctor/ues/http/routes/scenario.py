"""``/scenario``: import and export."""

from typing import Any, Literal

from pydantic import model_validator

from proctor.ues import scenario
from proctor.ues.http.route import Call, Routes
from proctor.ues.schema import JsonObject, Request, Response
from proctor.ues.times import Instant


class TimeState(Response):
    """The clock in a scenario file."""

    current_time: Instant
    time_scale: float
    is_paused: bool
    last_wall_time_update: Instant
    auto_advance: bool


class EnvironmentExport(Response):
    """The section ``environment`` of a scenario file."""

    time_state: TimeState
    modality_states: JsonObject


class EventsExport(Response):
    """The section ``events`` of a scenario file."""

    events: list[JsonObject]


class ScenarioExport(Response):
    """A scenario file."""

    metadata: JsonObject
    environment: EnvironmentExport
    events: EventsExport


class ImportEnvironmentRequest(Request):
    """An environment, and what becomes of pending events that lie before its time."""

    data: JsonObject
    historic_event_handling: Literal["ignore", "delete", "apply"] = "ignore"
    strict_modalities: bool = False


class ImportEventsRequest(Request):
    """Events, in place of those there are, or with ``merge`` beside them."""

    data: JsonObject
    merge: bool = False


class ImportFullRequest(Request):
    """A scenario file, under ``scenario`` or bare."""

    scenario: JsonObject
    strict_modalities: bool = False

    @model_validator(mode="before")
    @classmethod
    def _wrap_a_bare_file(cls, data: Any) -> Any:
        if isinstance(data, dict) and "scenario" not in data and ("environment" in data or "events" in data):
            return {"scenario": data, "strict_modalities": data.get("strict_modalities", False)}
        return data


class ImportResponse(Response):
    """What was loaded and what wasn't."""

    success: bool
    environment_loaded: bool
    events_loaded: int
    modalities_loaded: list[str]
    modalities_skipped: list[str]
    warnings: list[str]
    scenario_metadata: JsonObject | None


ROUTES: Routes[Call] = Routes()


@ROUTES.declare("GET", "/scenario/export/environment", "scenario:export", EnvironmentExport)
def _export_environment(call: Call) -> JsonObject:
    """Export the clock and every modality's state."""
    return scenario.export_environment(call.simulation)


@ROUTES.declare("GET", "/scenario/export/events", "scenario:export", EventsExport)
def _export_events(call: Call) -> JsonObject:
    """Export the events."""
    return scenario.export_events(call.simulation)


@ROUTES.declare("GET", "/scenario/export/full", "scenario:export", ScenarioExport)
def _export_full(call: Call) -> JsonObject:
    """Export a scenario file."""
    return scenario.export_full(call.simulation)


@ROUTES.declare(
    "POST",
    "/scenario/import/environment",
    "scenario:import",
    ImportResponse,
    body=ImportEnvironmentRequest,
    errors=(400, 409),
)
def _import_environment(call: Call) -> JsonObject:
    """Replace the clock and every modality's state."""
    body: ImportEnvironmentRequest = call.body
    return scenario.import_environment(
        call.simulation, body.data, historic=body.historic_event_handling, strict=body.strict_modalities
    )


@ROUTES.declare(
    "POST", "/scenario/import/events", "scenario:import", ImportResponse, body=ImportEventsRequest, errors=(400, 409)
)
def _import_events(call: Call) -> JsonObject:
    """Load events, with new ids."""
    body: ImportEventsRequest = call.body
    return scenario.import_events(call.simulation, body.data, merge=body.merge)


@ROUTES.declare(
    "POST", "/scenario/import/full", "scenario:import", ImportResponse, body=ImportFullRequest, errors=(400, 409)
)
def _import_full(call: Call) -> JsonObject:
    """Load a scenario file."""
    body: ImportFullRequest = call.body
    return scenario.import_full(call.simulation, body.scenario, strict=body.strict_modalities)
