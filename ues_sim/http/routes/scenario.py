"""``/scenario``: import and export."""

from typing import Any, Literal

from pydantic import model_validator

from ues_sim import scenario
from ues_sim.http.route import Call, Route
from ues_sim.schema import JsonObject, Request, Response
from ues_sim.times import Instant


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


def _export_environment(call: Call) -> JsonObject:
    return scenario.export_environment(call.simulation)


def _export_events(call: Call) -> JsonObject:
    return scenario.export_events(call.simulation)


def _export_full(call: Call) -> JsonObject:
    return scenario.export_full(call.simulation)


def _import_environment(call: Call) -> JsonObject:
    body: ImportEnvironmentRequest = call.body
    return scenario.import_environment(
        call.simulation, body.data, historic=body.historic_event_handling, strict=body.strict_modalities
    )


def _import_events(call: Call) -> JsonObject:
    body: ImportEventsRequest = call.body
    return scenario.import_events(call.simulation, body.data, merge=body.merge)


def _import_full(call: Call) -> JsonObject:
    body: ImportFullRequest = call.body
    return scenario.import_full(call.simulation, body.scenario, strict=body.strict_modalities)


ROUTES = (
    Route(
        method="GET",
        path="/scenario/export/environment",
        summary="Export the clock and every modality's state.",
        handler=_export_environment,
        permission="scenario:export",
        responses=(EnvironmentExport,),
    ),
    Route(
        method="GET",
        path="/scenario/export/events",
        summary="Export the events.",
        handler=_export_events,
        permission="scenario:export",
        responses=(EventsExport,),
    ),
    Route(
        method="GET",
        path="/scenario/export/full",
        summary="Export a scenario file.",
        handler=_export_full,
        permission="scenario:export",
        responses=(ScenarioExport,),
    ),
    Route(
        method="POST",
        path="/scenario/import/environment",
        summary="Replace the clock and every modality's state.",
        handler=_import_environment,
        permission="scenario:import",
        body=ImportEnvironmentRequest,
        responses=(ImportResponse,),
        errors=(400, 409),
    ),
    Route(
        method="POST",
        path="/scenario/import/events",
        summary="Load events, with new ids.",
        handler=_import_events,
        permission="scenario:import",
        body=ImportEventsRequest,
        responses=(ImportResponse,),
        errors=(400, 409),
    ),
    Route(
        method="POST",
        path="/scenario/import/full",
        summary="Load a scenario file.",
        handler=_import_full,
        permission="scenario:import",
        body=ImportFullRequest,
        responses=(ImportResponse,),
        errors=(400, 409),
    ),
)
