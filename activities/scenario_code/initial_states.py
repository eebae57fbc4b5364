"""Reads a scenario's ``initial_state``: a UES scenario file (UES contract, "The scenario file").

The simulator checks every field when it imports the file. This module only checks the shape, so a broken package is
refused before anything starts. The error names the place.
"""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proctor.protocol import modalities
from proctor.protocol.scenario import ScenarioConfig
from purple_sdk.protocol._wire import Instant
from purple_sdk.protocol.problems import describe, show_value

_ENTRIES: dict[str, tuple[str, type]] = {
    "email": ("emails", dict),
    "sms": ("messages", dict),
    "calendar": ("events", dict),
    "chat": ("messages", list),
    "contacts": ("contacts", dict),
}


class InitialStateError(ValueError):
    """An initial state that isn't a UES scenario; the message names the field and the remedy."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Event(_Part):
    scheduled_time: Instant
    modality: str = Field(min_length=1)
    data: dict[str, Any]


class _Events(_Part):
    events: list[_Event] = []


class _TimeState(_Part):
    current_time: Instant | None = None


class _Environment(_Part):
    time_state: _TimeState = _TimeState()
    modality_states: dict[str, dict[str, Any]]


class _UESScenario(_Part):
    metadata: dict[str, Any] = {}
    environment: _Environment
    events: _Events = _Events()


def at_time(initial_state: dict[str, Any], start: datetime) -> dict[str, Any]:
    """Return a UES scenario whose clock is at ``start`` and moves only on request."""
    environment = dict(initial_state.get("environment") or {})
    environment["time_state"] = {
        **(environment.get("time_state") or {}),
        "current_time": start.isoformat(),
        "last_wall_time_update": start.isoformat(),
        "time_scale": 1.0,
        "is_paused": False,
        "auto_advance": False,
    }
    return {**initial_state, "environment": environment}


def read_initial_state(data: Any, config: ScenarioConfig) -> tuple[dict[str, Any], list[str]]:
    """Check an initial state: parsed JSON, with or without the outer ``scenario`` wrapper. Raises
    ``InitialStateError``.

    Returns ``{metadata, environment, events}`` in the form of ``/scenario/import/full``, with missing sections filled
    in, and a list of warnings.
    """
    if not isinstance(data, dict):
        raise InitialStateError(f"the document is {show_value(data)}: it must be an object with environment and events")
    root = ""
    if "environment" not in data and "scenario" in data:
        data, root = data["scenario"], "scenario"
        if not isinstance(data, dict):
            raise InitialStateError(f"scenario is {show_value(data)}: it must be an object with environment and events")
    try:
        checked = _UESScenario.model_validate(data)
    except ValidationError as error:
        raise InitialStateError(describe(error, root)) from None
    _check_entries(checked.environment.modality_states, f"{root}." if root else "")
    state = {
        "metadata": {
            "ues_version": "0.3",
            "scenario_version": "1",
            "created_at": config.start_time.isoformat(),
            **checked.metadata,
        },
        "environment": data["environment"],
        "events": data.get("events") or {"events": []},
    }
    return state, _warnings(checked, config)


def _check_entries(modality_states: dict[str, dict[str, Any]], root: str) -> None:
    for modality, (field, kind) in _ENTRIES.items():
        path = f"{root}environment.modality_states.{modality}.{field}"
        entries = modality_states.get(modality, {}).get(field)
        if entries is None:
            continue
        if not isinstance(entries, dict | list) or not isinstance(entries, kind):
            shape = "an object from id to entry" if kind is dict else "a list"
            raise InitialStateError(f"{path} is {show_value(entries)}: it must be {shape}")
        keyed: dict[Any, Any] = entries if isinstance(entries, dict) else dict(enumerate(entries))
        for key, entry in keyed.items():
            if not isinstance(entry, dict):
                raise InitialStateError(f"{path}[{show_value(key)}] is {show_value(entry)}: it must be an object")


def _warnings(state: _UESScenario, config: ScenarioConfig) -> list[str]:
    warnings = []
    modality_states = state.environment.modality_states
    if unknown := sorted(set(modality_states) - set(modalities.KNOWN)):
        warnings.append(f"initial_state has modalities that UES doesn't know: {', '.join(unknown)}")
    clock = state.environment.time_state.current_time
    if clock is not None and clock > config.start_time:
        warnings.append(
            f"initial_state's clock is at {clock.isoformat()}, after start_time {config.start_time.isoformat()}"
        )
    for modality, field, expected in (
        ("email", "user_email_address", config.user.email),
        ("sms", "user_phone_number", config.user.phone),
    ):
        value = modality_states.get(modality, {}).get(field)
        if expected and isinstance(value, str) and value.lower() != expected.lower():
            warnings.append(
                f"initial_state says {modality}.{field} is {value!r}, but the user character has {expected!r}"
            )
    late = [event for event in state.events.events if event.scheduled_time > config.end_time]
    if late:
        warnings.append(f"{len(late)} events of initial_state are scheduled after end_time and never happen")
    if early := sum(event.scheduled_time < config.start_time for event in state.events.events):
        warnings.append(f"{early} events of initial_state are scheduled before start_time")
    return warnings
