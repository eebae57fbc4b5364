"""Endpoints that govern a simulation: clock, events, life cycle, environment, scenarios, keys, access log."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from purple_sdk.ues import _call as wire
from purple_sdk.ues import answers
from purple_sdk.ues._call import Room, Runner
from purple_sdk.ues.answers import json_object, raw

Time = datetime | str
"""An aware datetime, or ISO 8601 text; the server reads a naive one as UTC."""
EventStatus = Literal["pending", "executed", "failed", "skipped", "cancelled"]


class TimeRoom(Room[Runner]):
    """The simulated clock, ``/simulator/time``."""

    @wire.get("/simulator/time", answers.TimeState.read)
    def get_state(self) -> None:
        """Read the clock."""

    @wire.post("/simulator/time/advance", answers.TimeAdvanced.read)
    def advance(self, seconds: float) -> None:
        """Move the clock on by some simulated seconds; what falls due runs."""

    @wire.post("/simulator/time/set", answers.TimeSet.read)
    def set_time(self, target_time: Time) -> None:
        """Move the clock on to an instant; what falls due runs."""

    @wire.post("/simulator/time/skip-to-next", answers.TimeSkipped.read)
    def skip_to_next(self) -> None:
        """Move the clock to the next event, and run it."""

    @wire.post("/simulator/time/set-scale", answers.TimeState.read)
    def set_scale(self, scale: float) -> None:
        """Set how many simulated seconds pass in one of wall time while auto-advance is on."""

    @wire.post("/simulator/time/pause", json_object)
    def pause(self) -> None:
        """Stop the clock."""

    @wire.post("/simulator/time/resume", json_object)
    def resume(self) -> None:
        """Continue the clock."""


class EnvironmentRoom(Room[Runner]):
    """All modalities at once, ``/environment``."""

    @wire.get("/environment/state", json_object)
    def get_state(self, *, compact: bool | None = None) -> None:
        """Read every modality's state; ``compact`` gives one page of the whole."""

    @wire.get("/environment/state?compact=true&format=text", lambda body: body.decode())
    def describe(self) -> None:
        """Read one page of text about the whole environment, for a model's context."""

    @wire.get("/environment/modalities", answers.ModalityList.read)
    def list_modalities(self) -> None:
        """List the modalities' names."""

    @wire.get("/environment/modalities/{modality_name}", json_object)
    def get_modality(self, modality_name: str) -> None:
        """Read one modality's state."""

    @wire.query("/environment/modalities/{modality_name}/query", json_object, whole_body="query")
    def query_modality(self, modality_name: str, query: Mapping[str, Any]) -> None:
        """Query one modality by that modality's own filters."""

    @wire.query("/environment/validate", answers.Validation.read)
    def validate(self) -> None:
        """Check that the state is consistent."""


class EventsRoom(Room[Runner]):
    """Past and future events, ``/events``."""

    @wire.get("/events", answers.EventList.read)
    def list(
        self,
        *,
        status: EventStatus | None = None,
        start_time: Time | None = None,
        end_time: Time | None = None,
        modality: str | None = None,
        agent_id: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> None:
        """List events, filtered and paged."""

    @wire.post("/events", answers.EventRecord.read)
    def create(
        self,
        *,
        scheduled_time: Time,
        modality: str,
        data: Mapping[str, Any],
        priority: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        agent_id: str | None = None,
    ) -> None:
        """Schedule an event; ``data`` is the modality's input, ``priority`` 0 to 100 (50 where not given)."""

    @wire.post("/events/immediate", answers.EventRecord.read)
    def immediate(self, *, modality: str, data: Mapping[str, Any]) -> None:
        """Run an event now."""

    @wire.post("/events/batch", answers.BatchResult.read)
    def batch(
        self,
        events: Sequence[Mapping[str, Any]],
        *,
        stop_on_first_error: bool | None = None,
        validate_only: bool | None = None,
    ) -> None:
        """Schedule up to 1000 events, each with the fields of ``create``; or only check them."""

    @wire.get("/events/next", answers.EventRecord.read)
    def next(self) -> None:
        """Read the next event that waits."""

    @wire.get("/events/summary", answers.EventSummary.read)
    def summary(self) -> None:
        """Count the events."""

    @wire.get("/events/{event_id}", answers.EventRecord.read)
    def get(self, event_id: str) -> None:
        """Read one event."""

    @wire.delete("/events/{event_id}", json_object)
    def delete(self, event_id: str) -> None:
        """Cancel an event that waits."""


class SimulationRoom(Room[Runner]):
    """A simulation's life, ``/simulation``; checkpoints are this project's addition to UES."""

    @wire.post("/simulation/start", answers.SimulationStarted.read)
    def start(self, *, auto_advance: bool | None = None, time_scale: float | None = None) -> None:
        """Start, with the clock standing or (``auto_advance``) following the wall clock."""

    @wire.post("/simulation/stop", answers.SimulationStopped.read)
    def stop(self) -> None:
        """Stop."""

    @wire.get("/simulation/status", answers.SimulationStatus.read)
    def status(self) -> None:
        """Read whether it runs, and what waits."""

    @wire.post("/simulation/reset", answers.SimulationReset.read)
    def reset(self) -> None:
        """Take everything back that has run."""

    @wire.post("/simulation/clear", answers.SimulationCleared.read)
    def clear(self, *, reset_time_to: Time | None = None) -> None:
        """Remove all events and states."""

    @wire.post("/simulation/undo", answers.Undone.read)
    def undo(self, *, count: int | None = None) -> None:
        """Take back the last 1 to 100 events."""

    @wire.post("/simulation/redo", answers.Redone.read)
    def redo(self, *, count: int | None = None) -> None:
        """Do 1 to 100 undone events again."""

    @wire.post("/simulation/hold", answers.Hold.read)
    def hold(self, *, agent_id: str, reason: str, timeout_seconds: float | None = None) -> None:
        """Keep the clock still for up to 300 s of wall time (30 where not given)."""

    @wire.post("/simulation/release/{hold_id}", answers.HoldReleased.read)
    def release(self, hold_id: str) -> None:
        """Give a hold back."""

    @wire.get("/simulation/holds", answers.HoldList.read)
    def holds(self) -> None:
        """List the active holds."""

    @wire.get("/simulation/checkpoint", raw)
    def checkpoint(self) -> None:
        """Take a checkpoint: bytes from which ``restore`` makes an equal simulation."""

    @wire.get("/simulation/checkpoint/parts", raw)
    def checkpoint_in_parts(self, *, everything: bool | None = None) -> None:
        """Take a checkpoint in parts (``ues_sim/README.md``)."""

    @wire.get("/simulation/checkpoint/parts/{name}", raw)
    def checkpoint_part(self, name: str) -> None:
        """Fetch a new part of the checkpoint in parts that was taken last."""

    @wire.post("/simulation/restore", answers.Restored.read, whole_body="checkpoint")
    def restore(self, checkpoint: bytes) -> None:
        """Make the simulation equal to a checkpoint, running or not."""

    @wire.get("/simulation/checkpoint/current", answers.CurrentCheckpoint.read)
    def current(self) -> None:
        """Read which checkpoint the simulation equals, and how it is marked."""

    @wire.post("/simulation/checkpoint/mark", answers.CurrentCheckpoint.read)
    def mark(self, mark: str) -> None:
        """Note the current step of the simulation; the note lasts until the next restore."""


class ScenarioRoom(Room[Runner]):
    """Scenario files in and out, ``/scenario``."""

    @wire.get("/scenario/export/environment", json_object)
    def export_environment(self) -> None:
        """Export the clock and the modalities' states."""

    @wire.get("/scenario/export/events", json_object)
    def export_events(self) -> None:
        """Export the events."""

    @wire.get("/scenario/export/full", json_object)
    def export_full(self) -> None:
        """Export everything."""

    @wire.post("/scenario/import/environment", answers.Imported.read)
    def import_environment(
        self,
        data: Mapping[str, Any],
        *,
        historic_event_handling: Literal["ignore", "delete", "apply"] | None = None,
        strict_modalities: bool | None = None,
    ) -> None:
        """Import clock and states into a stopped simulation."""

    @wire.post("/scenario/import/events", answers.Imported.read)
    def import_events(self, data: Mapping[str, Any], *, merge: bool | None = None) -> None:
        """Import events into a stopped simulation."""

    @wire.post("/scenario/import/full", answers.Imported.read)
    def import_full(self, scenario: Mapping[str, Any], *, strict_modalities: bool | None = None) -> None:
        """Import ``{metadata, environment, events}`` into a stopped simulation."""


class KeysRoom(Room[Runner]):
    """API keys, ``/keys``."""

    @wire.post("/keys", answers.KeyCreated.read)
    def create(
        self,
        *,
        name: str,
        permissions: Sequence[str],
        secret: str | None = None,
        key_id: str | None = None,
    ) -> None:
        """Make a key; ``secret`` (16 to 200 characters) and ``key_id`` are this project's addition to UES."""

    @wire.get("/keys", answers.KeyList.read)
    def list(self, *, include_revoked: bool | None = None) -> None:
        """List the keys."""

    @wire.get("/keys/{key_id}", answers.KeyRecord.read)
    def get(self, key_id: str) -> None:
        """Read one key."""

    @wire.delete("/keys/{key_id}", answers.KeyRevoked.read)
    def revoke(self, key_id: str) -> None:
        """Revoke a key."""


class AccessLogRoom(Room[Runner]):
    """Who asked for what, ``/access-logs``; the times are wall-clock times."""

    @wire.get("/access-logs", json_object)
    def list(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        key_id: str | None = None,
        key_name: str | None = None,
        path_prefix: str | None = None,
        method: str | None = None,
        status_code_min: int | None = None,
        status_code_max: int | None = None,
        errors_only: bool | None = None,
        since: Time | None = None,
        until: Time | None = None,
    ) -> None:
        """List requests, filtered and paged."""

    @wire.get("/access-logs/stats", answers.AccessStatistics.read)
    def stats(self) -> None:
        """Count the requests."""

    @wire.post("/access-logs/clear", json_object)
    def clear(self) -> None:
        """Forget them."""
