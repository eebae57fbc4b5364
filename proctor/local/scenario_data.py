"""Check a scenario's data with the simulator's own models, to show problems before the scenario is played."""

from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import AliasChoices, BaseModel
from pydantic_core import from_json

from proctor.activities.scenario_code.manager import attach_files
from proctor.protocol.scenario import ScenarioConfig
from proctor.ues.modalities import MODALITIES
from proctor.ues.problems import Conflict, Impossible, Invalid
from proctor.ues.scenario import EventData, TimeStateData, import_full
from proctor.ues.simulation import Simulation

_SECTIONS = ("metadata", "environment", "events")
_PARTS = ("time_state", "modality_states")
_CLOCKS = ("last_wall_time_update",)  # fields that exports have and imports ignore


def unknown_settings(scenario_json: bytes) -> list[str]:
    """Sentences on fields of ``scenario.json`` that are never read, with the known field of the nearest name."""
    data = from_json(scenario_json.removeprefix(BOM_UTF8))
    return [f"scenario.json: {sentence}" for sentence in _unknown(data, ScenarioConfig, "")]


def read_initial_state(directory: Path, role: str = "") -> dict[str, Any]:
    """The initial state of a loadable scenario as its author wrote it.

    The outer wrapper is left out, and the contents of attached files are added. If the scenario has roles, ``role``
    chooses one.
    """
    document = from_json((directory / "scenario.json").read_bytes().removeprefix(BOM_UTF8))
    data = {**document, **(document["roles"][role] if role else {})}["initial_state"]
    if isinstance(data, str):
        data = from_json((directory / data).read_bytes().removeprefix(BOM_UTF8))
    if "environment" not in data and "scenario" in data:
        data = data["scenario"]
    attach_files(data, directory)
    return dict(data)


def data_problems(initial_state: Mapping[str, Any]) -> list[str]:
    """Sentences on the parts of an initial state and its events that the simulator can't read, or would ignore.

    Args:
        initial_state: ``{metadata, environment, events}``.
    """
    environment = initial_state.get("environment") or {}
    problems = [*_unknown_names(initial_state, _SECTIONS, ""), *_unknown_names(environment, _PARTS, "environment.")]
    clock = {k: v for k, v in (environment.get("time_state") or {}).items() if k not in _CLOCKS}
    problems += _unknown(clock, TimeStateData, "environment.time_state")
    for name, state in (environment.get("modality_states") or {}).items():
        where = f"environment.modality_states.{name}"
        if name in MODALITIES:
            problems += _unknown(state, MODALITIES[name].state, where)
        else:
            problems.append(f"{where}: there is no modality {name!r}{_nearest(name, MODALITIES)}")
    for place, event in enumerate(_events(initial_state)):
        problems += _event_problems(event, f"events.events.{place}")
    return problems or _refused(initial_state)


def _events(initial_state: Mapping[str, Any]) -> list[Any]:
    events = initial_state.get("events") or []
    if isinstance(events, dict):
        events = events.get("events") or []
    return events if isinstance(events, list) else []


def _event_problems(event: Any, where: str) -> Iterator[str]:
    if not isinstance(event, dict):
        return
    shown = {name: value for name, value in event.items() if name != "event_id"}
    yield from _unknown({**shown, "data": {}}, EventData, where)
    name, data = event.get("modality"), event.get("data")
    modality = MODALITIES.get(name) if isinstance(name, str) else None
    if modality is None:
        yield f"{where}.modality: there is no modality {name!r}{_nearest(str(name), MODALITIES)}"
        return
    if not isinstance(data, dict):
        return
    yield from _unknown(data, modality.input, f"{where}.data")
    if modality.discriminator is not None:
        operation = data.get(modality.discriminator)
        if operation not in modality.operations:
            place = f"{where}.data.{modality.discriminator}"
            yield f"{place}: {name} has no operation {operation!r}{_nearest(str(operation), modality.operations)}"


def _refused(initial_state: Mapping[str, Any]) -> list[str]:
    """The problems that the simulator reports when it imports the initial state."""
    try:
        imported = import_full(Simulation("validate", "nobody's", "1"), dict(initial_state), strict=False)
    except Invalid as error:
        return [error.sentence.replace("body.scenario.", "")]
    except (Conflict, Impossible) as error:
        return [str(error)]
    return [str(warning) for warning in imported["warnings"]]


def _unknown(value: Any, kind: Any, where: str) -> list[str]:
    """Sentences on fields of a value that its model doesn't have, with the place of each."""
    if get_origin(kind) is Annotated:
        return _unknown(value, get_args(kind)[0], where)
    if get_origin(kind) in (Union, UnionType):
        return min((_unknown(value, member, where) for member in get_args(kind)), key=len)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return _unknown_of_model(value, kind, where)
    members = get_args(kind)
    if isinstance(value, dict) and get_origin(kind) is dict:
        return [field for key, member in value.items() for field in _unknown(member, members[1], f"{where}.{key}")]
    if isinstance(value, list) and get_origin(kind) in (list, tuple):
        return [
            sentence
            for place, element in enumerate(value)
            for sentence in _unknown(element, members[0], f"{where}.{place}")
        ]
    return []


def _unknown_of_model(value: Any, kind: type[BaseModel], where: str) -> list[str]:
    if not isinstance(value, dict):
        return []
    known: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        alias = field.validation_alias
        names = [str(choice) for choice in alias.choices] if isinstance(alias, AliasChoices) else [alias or field.alias]
        known |= {str(key): field.annotation for key in (name, *names) if key}
    place = f"{where}." if where else ""
    problems = [] if kind.model_config.get("extra") == "allow" else _unknown_names(value, known, place)
    for name, member in value.items():
        if name in known:
            problems += _unknown(member, known[name], f"{place}{name}")
    return problems


def _unknown_names(value: Any, known: Any, place: str) -> list[str]:
    if not isinstance(value, dict):
        return []
    return [f"{place}{name}: there is no such field{_nearest(name, known)}" for name in value if name not in known]


def _nearest(name: str, known: Any) -> str:
    close = get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else f"; there are {', '.join(sorted(known))}"
