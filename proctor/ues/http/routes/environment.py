"""The routes of ``/environment``: all modalities at once."""

from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field

from proctor.ues.http.route import Call, Reply, Routes
from proctor.ues.modalities import MODALITIES
from proctor.ues.modality import Query
from proctor.ues.problems import Impossible, Invalid
from proctor.ues.schema import JsonObject, Request, Response, validate
from proctor.ues.times import Instant

PAGE_LIMIT = 2000
"""The most bytes of the one-page view, in either format."""


class EnvironmentParams(Request):
    """``compact`` asks for one page of at most about 2 kB; ``format=text`` for that page as plain text."""

    compact: bool = Field(default=False, description="Return one page of at most 2 kB on all modalities.")
    format: Literal["json", "text"] = Field(default="json", description="json, or text for plain text.")


class ModalitySummary(Response):
    """One modality in a sentence."""

    modality_type: str
    state_summary: str


class EnvironmentStateResponse(Response):
    """The states of all modalities by name, in the form of a scenario file, and a sentence on each."""

    current_time: Instant
    modalities: JsonObject
    summary: list[ModalitySummary]


class ModalityListResponse(Response):
    """The modalities' names."""

    modalities: list[str]
    count: int


class ModalityStateResponse(Response):
    """One modality's state, in the form of a scenario file."""

    modality_type: str
    current_time: Instant
    state: JsonObject


class ModalityQueryResponse(Response):
    """The query, and the answer of the modality's query."""

    modality_type: str
    query: JsonObject
    results: JsonObject


class ValidationResponse(Response):
    """Whether the environment is consistent, and its errors. ``checked_at`` is the simulator's time."""

    valid: bool
    errors: list[str]
    checked_at: Instant


class FreeFormRequest(Request):
    """Any JSON object: the modality's own query."""

    model_config = ConfigDict(frozen=True, extra="allow")


ROUTES: Routes[Call] = Routes()


@ROUTES.declare(
    "GET",
    "/environment/state",
    "environment:read",
    EnvironmentStateResponse,
    params=EnvironmentParams,
    also_text=True,
    participant=True,
)
def _state(call: Call) -> JsonObject | Reply:
    """Read every modality's state; compact, one page of all of it."""
    params: EnvironmentParams = call.params
    simulation = call.simulation
    if params.compact:
        digest = one_page(call)
        return (
            Reply(as_text(digest).encode(), media_type="text/plain; charset=utf-8")
            if params.format == "text"
            else digest
        )
    state = {
        "current_time": simulation.clock.text,
        "modalities": {name: item.visible(simulation.states[name]) for name, item in MODALITIES.items()},
        "summary": _summary(call),
    }
    if params.format == "text":
        return Reply(orjson.dumps(state, option=orjson.OPT_INDENT_2), media_type="text/plain; charset=utf-8")
    return state


def _summary(call: Call) -> list[JsonObject]:
    return [
        {"modality_type": name, "state_summary": item.describe(call.simulation.states[name])}
        for name, item in MODALITIES.items()
    ]


def one_page(call: Call) -> JsonObject:
    """Return the environment within ``PAGE_LIMIT`` bytes. The longest lists lose entries from their ends until it fits.

    If it doesn't fit even without lists, only the time and the summary remain.
    """
    simulation = call.simulation
    digests: dict[str, Any] = {name: item.digest(simulation.view(name)) for name, item in MODALITIES.items()}
    summary = [{**item, "state_summary": item["state_summary"][:60]} for item in _summary(call)]
    content = {"current_time": simulation.clock.text, "modalities": digests, "summary": summary}
    while _size(content) > PAGE_LIMIT:
        lists = [value for digest in digests.values() for value in digest.values() if isinstance(value, list) and value]
        if not lists:
            for digest in digests.values():
                digest.clear()
            break
        max(lists, key=lambda value: len(orjson.dumps(value))).pop()
    return content


def _size(content: JsonObject) -> int:
    return max(len(orjson.dumps(content)), len(as_text(content).encode()))


def as_text(content: JsonObject) -> str:
    """Render the one-page view as text: a heading for each modality, a line for each fact."""
    sentences = {item["modality_type"]: " ".join(item["state_summary"].split()) for item in content["summary"]}
    lines = [f"Time: {content['current_time']}"]
    for name, digest in content["modalities"].items():
        lines.append(f"{name}: {sentences[name]}")
        for label, value in digest.items():
            if isinstance(value, list):
                lines += [f"  - {' '.join(str(item).split())}" for item in value]
            elif isinstance(value, str):
                lines.append(f"  {label}: {' '.join(value.split())}")
    return "\n".join(lines) + "\n"


@ROUTES.declare("GET", "/environment/modalities", "environment:list", ModalityListResponse, participant=True)
def _list(_call: Call) -> JsonObject:
    """List the modalities."""
    return {"modalities": list(MODALITIES), "count": len(MODALITIES)}


@ROUTES.declare(
    "GET",
    "/environment/modalities/{modality_name}",
    "environment:read",
    ModalityStateResponse,
    errors=(404,),
    participant=True,
)
def _modality(call: Call) -> JsonObject:
    """Read one modality's state."""
    modality = call.simulation.find_modality(call.path["modality_name"])
    return {
        "modality_type": modality.name,
        "current_time": call.simulation.clock.text,
        "state": modality.visible(call.simulation.states[modality.name]),
    }


@ROUTES.declare(
    "POST",
    "/environment/modalities/{modality_name}/query",
    "environment:read",
    ModalityQueryResponse,
    asks=True,
    body=FreeFormRequest,
    errors=(400, 404),
    participant=True,
)
def _query(call: Call) -> JsonObject:
    """Query one modality: what its own query answers, as results."""
    modality = call.simulation.find_modality(call.path["modality_name"])
    if modality.query is None:
        raise Impossible(f"{modality.name} can't be queried; read its state.")
    body: BaseModel = call.body
    parameters = body.model_extra or {}
    request = _usable(modality.name, modality.query, parameters)
    results = modality.query.answer(call.simulation.view(modality.name), request)
    # In version 0.1, the names of these fields differ between modalities; here each answer has them all.
    also = {"count": results["returned_count"], "query": parameters, "query_params": parameters}
    return {"modality_type": modality.name, "query": parameters, "results": {**results, **also}}


def _usable(name: str, query: Query, parameters: JsonObject) -> Any:
    """Validate the parameters of a modality's query; unknown parameters are ignored.

    Raises Impossible (400) for a known parameter with an invalid value.
    """
    try:
        return validate(query.request, parameters)
    except Invalid as error:
        raise Impossible(f"Query failed for {name}: {error.sentence}.") from None


@ROUTES.declare("POST", "/environment/validate", "environment:validate", ValidationResponse, asks=True)
def _validate(call: Call) -> JsonObject:
    """Check that every modality's state is consistent."""
    errors = [sentence for name, item in MODALITIES.items() for sentence in item.check(call.simulation.states[name])]
    return {"valid": not errors, "errors": errors, "checked_at": call.simulation.clock.text}
