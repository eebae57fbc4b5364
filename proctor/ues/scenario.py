"""Import and export scenario files: a simulation's clock, modality states and events."""

from typing import Annotated, Any, Literal

from pydantic import Field, RootModel, ValidationError

from proctor.ues.events import PENDING, Event
from proctor.ues.modalities import MODALITIES
from proctor.ues.problems import Conflict, Impossible, Invalid
from proctor.ues.schema import FROM_FILE, Int, JsonObject, Record, convert_errors, problem, validate
from proctor.ues.simulation import Simulation
from proctor.ues.times import Instant, wall_text

UES_VERSION = "0.3.0"
"""The version of the UES interface that this simulator speaks."""

Loc = tuple[str | int, ...]


class TimeStateData(Record):
    """``time_state`` of a scenario file; only the time itself is needed."""

    current_time: Instant
    time_scale: Annotated[float, Field(gt=0)] = 1.0
    is_paused: bool = False
    auto_advance: bool = False


class EventData(Record):
    """One event of a scenario file. Its id is ignored: loaded events get new ids."""

    scheduled_time: Instant
    modality: str
    data: JsonObject
    status: Literal["pending", "executed", "failed", "skipped", "cancelled"] = "pending"
    created_at: Instant | None = None
    executed_at: Instant | None = None
    agent_id: str | None = None
    priority: Annotated[Int, Field(ge=0, le=100)] = 50
    error_message: str | None = None
    metadata: JsonObject = Field(default_factory=dict)


_Events = RootModel[list[EventData]]


# --- export -----------------------------------------------------------------------------------------------------------


def export_environment(simulation: Simulation) -> JsonObject:
    return {"time_state": simulation.clock.dump(), "modality_states": simulation.states}


def export_events(simulation: Simulation) -> JsonObject:
    return {"events": simulation.events.list_all()}


def export_full(simulation: Simulation) -> JsonObject:
    metadata = {
        **simulation.scenario_metadata,
        "ues_version": UES_VERSION,
        "scenario_version": "1",
        "created_at": wall_text(),
    }
    return {
        "metadata": metadata,
        "environment": export_environment(simulation),
        "events": export_events(simulation),
    }


# --- import -----------------------------------------------------------------------------------------------------------


class _Import:
    """A scenario that is read and checked before it is applied: an invalid one changes nothing."""

    def __init__(self, simulation: Simulation, *, strict: bool) -> None:
        if simulation.is_running:
            raise Conflict("The simulation is running; stop it before importing.")
        self.simulation = simulation
        self.strict = strict
        self.time_state: JsonObject | None = None
        self.states: dict[str, JsonObject] = {}
        self.skipped: list[str] = []
        self.warnings: list[str] = []
        self.events: list[Event] = []

    def note_unknown(self, what: str) -> None:
        """Note an unknown modality: a warning, or with ``strict`` a 400."""
        if self.strict:
            raise Impossible(f"{what}; there are {', '.join(MODALITIES)}.")
        self.warnings.append(f"{what}; skipped.")

    def read_environment(self, data: JsonObject, loc: Loc) -> None:
        time_state = data.get("time_state")
        if time_state is not None:
            self.time_state = validate(TimeStateData, time_state, *loc, "time_state", context=FROM_FILE).model_dump()
        states = data.get("modality_states")
        if states is None:
            states = {}
        if not isinstance(states, dict):
            raise problem("dict_type", "Input should be a valid dictionary", states, *loc, "modality_states")
        now = self.time_state["current_time"] if self.time_state else self.simulation.clock.text
        for name, state in states.items():
            modality = MODALITIES.get(name)
            if modality is None:
                self.skipped.append(name)
                self.note_unknown(f"modality_states has the unknown modality {name[:80]!r}")
                continue
            data = state
            if isinstance(state, dict) and state.get("last_updated") is None:
                data = {**state, "last_updated": now}
            try:
                self.states[name] = modality.load_state(data)
            except ValidationError as error:
                raise Invalid(convert_errors(error, *loc, "modality_states", name)) from None

    def read_events(self, data: Any, loc: Loc) -> None:
        for index, item in enumerate(validate(_Events, data, *loc, context=FROM_FILE).root):
            modality = MODALITIES.get(item.modality)
            if modality is None:
                self.note_unknown(f"event {index} is for the unknown modality {item.modality[:80]!r}")
                continue
            event: Event = {"event_id": "", **item.model_dump()}
            event["created_at"] = item.created_at or item.scheduled_time
            if item.status == PENDING:
                try:
                    event["data"] = self.simulation.check_data(modality, item.data, item.scheduled_time, "data")
                except Invalid as error:
                    self.warnings.append(f"event {index} ({item.modality}) will fail: {error.sentence}")
            self.events.append(event)

    def apply_environment(self) -> None:
        """Replace clock and states; a modality that the file doesn't mention starts empty."""
        simulation = self.simulation
        simulation.note_change()
        if self.time_state is not None:
            simulation.clock.load(self.time_state)
        simulation.replace_states(self.states)

    def apply_events(self, kept: list[Event]) -> None:
        """Set the events to ``kept`` and the loaded ones, which get new ids. The undo history is removed."""
        ids = self.simulation.ids
        for event in self.events:
            if event["status"] == PENDING and event["data"].get("input_id") == "":
                event["data"]["input_id"] = ids.draw()
            event["event_id"] = ids.draw()
        self.simulation.replace_events([*kept, *self.events])

    def sum_up(self, *, environment: bool, metadata: JsonObject | None = None) -> JsonObject:
        return {
            "success": True,
            "environment_loaded": environment,
            "events_loaded": len(self.events),
            "modalities_loaded": list(self.states),
            "modalities_skipped": self.skipped,
            "warnings": self.warnings,
            "scenario_metadata": metadata,
        }


def _section(data: JsonObject, name: str, *inside: str) -> tuple[JsonObject, Loc]:
    """Return the section ``name`` and its location in the input.

    The input may be the section itself, a scenario file, or an object with the file under ``scenario``.
    """
    loc: Loc = ()
    while isinstance(data.get("scenario"), dict):
        data, loc = data["scenario"], (*loc, "scenario")
    if not any(key in data for key in inside) and isinstance(data.get(name), dict):
        data, loc = data[name], (*loc, name)
    return data, loc


def import_environment(simulation: Simulation, data: JsonObject, *, historic: str, strict: bool) -> JsonObject:
    """Replace clock and states.

    Pending events before the new time stay (``historic`` is ``ignore``), are removed (``delete``), or run on the new
    states (``apply``).

    Raises:
        Conflict: 409, the simulation is running.
        Invalid: 422, the data doesn't fit the schema.
        Impossible: 400, a modality is unknown, with ``strict``.
    """
    loaded = _Import(simulation, strict=strict)
    section, loc = _section(data, "environment", "time_state", "modality_states")
    loaded.read_environment(section, ("body", "data", *loc))
    loaded.apply_environment()
    now = simulation.clock.text
    past = [e for e in simulation.events.list_ordered(end=now) if e["status"] == PENDING and e["scheduled_time"] < now]
    if historic == "delete":
        gone = {event["event_id"] for event in past}
        simulation.replace_events([event for event in simulation.events.list_all() if event["event_id"] not in gone])
    elif historic == "apply":
        for event in past:
            simulation.execute(event)
    elif past:
        loaded.warnings.append(f"{len(past)} pending event(s) lie before {now}; they run when the clock is next moved.")
    simulation.replace_events(simulation.events.list_all())
    return loaded.sum_up(environment=True)


def import_events(simulation: Simulation, data: JsonObject, *, merge: bool) -> JsonObject:
    """Replace the events by loaded ones; with ``merge``, keep the existing events, too.

    Raises Conflict (409, running) or Invalid (422).
    """
    loaded = _Import(simulation, strict=False)
    section, loc = _events_section(data)
    loaded.read_events(section, ("body", "data", *loc))
    loaded.apply_events(simulation.events.list_all() if merge else [])
    return loaded.sum_up(environment=False)


def _events_section(data: JsonObject) -> tuple[Any, Loc]:
    section, loc = _section(data, "events")
    if "events" not in section:
        raise problem("missing", "Field required", section, "body", "data", *loc, "events")
    return section["events"], (*loc, "events")


def import_full(simulation: Simulation, data: JsonObject, *, strict: bool) -> JsonObject:
    """Load a scenario file. Raises Conflict (409, running), Invalid (422), Impossible (400, with ``strict``)."""
    loaded = _Import(simulation, strict=strict)
    loc: Loc = ("body", "scenario")
    while isinstance(data.get("scenario"), dict):
        data, loc = data["scenario"], (*loc, "scenario")
    environment = data.get("environment")
    if environment is not None:
        if not isinstance(environment, dict):
            raise problem("dict_type", "Input should be a valid dictionary", environment, *loc, "environment")
        loaded.read_environment(environment, (*loc, "environment"))
    events = data.get("events")
    if isinstance(events, dict):
        events, event_loc = events.get("events") or [], (*loc, "events", "events")
    else:
        events, event_loc = events or [], (*loc, "events")
    loaded.read_events(events, event_loc)
    metadata = data.get("metadata")
    if environment is not None:
        loaded.apply_environment()
    loaded.apply_events([])
    simulation.scenario_metadata = dict(metadata) if isinstance(metadata, dict) else {}
    return loaded.sum_up(environment=environment is not None, metadata=simulation.scenario_metadata or None)
