"""The contract's JSON files, walked from end to end against a running server (single mode, as UES runs)."""

import copy
from collections.abc import Iterator
from typing import Any

import httpx
import jsonschema
import pytest

from proctor.ues.modalities import MODALITIES
from tests.ues.contract import MODELS, OPENAPI, departures
from tests.ues.contract.compare import Difference, Schema, differences
from tests.ues.contract.examples import TIME, example
from tests.ues.helpers import PlainTransport, Server, Sim
from tests.ues.test_every_modality import tell

ADMIN = "admin-secret-of-the-contract-tests"

OPERATIONS = [(method, path) for path, methods in OPENAPI["paths"].items() for method in methods]
"""Every method and path of the contract."""

WITH_BODY = [(method, path) for method, path in OPERATIONS if "requestBody" in OPENAPI["paths"][path][method]]


class Single:
    """A server with one simulation at its root."""

    def __init__(self) -> None:
        self.server = Server("--single", UES_ADMIN_KEY=ADMIN)
        self.client = httpx.Client(base_url=self.server.url, headers={"X-API-Key": ADMIN}, transport=PlainTransport())
        self.document = self.client.get("/openapi.json").json()

    def call(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """Ask for a path of the contract, its variable parts filled in."""
        concrete = path.format(modality_name="chat", event_id="unknown")
        return self.client.request(method, concrete, json=body)

    def clear(self) -> None:
        self.client.post("/simulation/clear", json={"reset_time_to": "2029-12-31T00:00:00Z"}).raise_for_status()


@pytest.fixture(scope="module")
def single() -> Iterator[Single]:
    single = Single()
    yield single
    single.client.close()
    single.server.stop()


def body_of(operation: dict[str, Any], document: dict[str, Any]) -> Schema:
    return Schema(operation["requestBody"]["content"]["application/json"]["schema"], document)


def answer_of(operation: dict[str, Any], document: dict[str, Any]) -> Schema:
    """What a success looks like, whichever status it has."""
    content = next(value for status, value in operation["responses"].items() if status.startswith("2"))
    return Schema(content["content"]["application/json"]["schema"], document)


def compare_parameters(theirs: dict[str, Any], own: dict[str, Any], document: Any, where: str) -> Iterator[Difference]:
    wanted, got = ({item["name"]: item for item in one.get("parameters", [])} for one in (theirs, own))
    for name in wanted.keys() | got.keys():
        at = f"{where} ?{name}"
        if name not in got:
            yield Difference(at, "missing", wanted[name], None)
        elif name not in wanted:
            yield Difference(at, "added", None, got[name]["schema"])
        else:
            for part in ("in", "required"):
                if wanted[name][part] != got[name][part]:
                    yield Difference(at, part, wanted[name][part], got[name][part])
            one, other = Schema(wanted[name]["schema"], OPENAPI), Schema(got[name]["schema"], document)
            if wanted[name]["in"] == "query":
                # A parameter that is left out is null; the text "null" is not.
                one, other = (Schema({**s.plain, "nullable": False}, s.document) for s in (one, other))
            yield from differences(one, other, at, answer=False)


def compare_operations(document: dict[str, Any]) -> Iterator[Difference]:
    for method, path in OPERATIONS:
        where = f"{method.upper()} {path}"
        theirs, own = OPENAPI["paths"][path][method], document["paths"].get(path, {}).get(method)
        if own is None:
            yield Difference(where, "missing", theirs, None)
            continue
        yield from compare_parameters(theirs, own, document, where)
        if ("requestBody" in theirs) != ("requestBody" in own):
            yield Difference(where, "requestBody", theirs.get("requestBody"), own.get("requestBody"))
        elif "requestBody" in theirs:
            yield from differences(body_of(theirs, OPENAPI), body_of(own, document), f"{where} request", answer=False)
        wanted = answer_of(theirs, OPENAPI)
        if wanted.raw:
            yield from differences(wanted, answer_of(own, document), f"{where} answer", answer=True)


def test_every_path_and_field_is_described(single: Single) -> None:
    assert departures.unexplained(list(compare_operations(single.document)), departures.ROUTES) == []


def test_every_field_of_scenario_files_is_known() -> None:
    found: list[Difference] = []
    for name, parts in MODELS.items():
        for part in ("state", "input"):
            own = getattr(MODALITIES[name], part).model_json_schema()
            theirs = parts[part]
            found += differences(Schema(theirs, theirs), Schema(own, own), f"{name} {part}", answer=False)
    assert departures.unexplained(found, departures.MODELS) == []


# --- requests, sent ---------------------------------------------------------------------------------------------------


def variants(schema: Schema, body: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str, Any, bool]]:
    """Altered bodies, each with what was done and whether it must be refused (422) or must not be."""
    properties = schema.properties
    if path == () and properties:
        yield "unknown field", {**body, "something_unknown": {"a": 1}}, False
    for name, field in properties.items():
        if name not in body:
            continue
        here = (*path, name)
        if name in schema.required:
            yield f"without {here}", {key: value for key, value in body.items() if key != name}, True
        for what, value, refused in values(field, body[name], here):
            yield what, {**body, name: value}, refused


def values(field: Schema, value: Any, here: tuple[str | int, ...]) -> Iterator[tuple[str, Any, bool]]:
    plain = field.plain
    kind = plain.get("type")
    yield f"{here} null", None, not plain["nullable"]
    for choice in plain.get("enum", ()):
        yield f"{here} {choice}", choice, False
    if "enum" in plain:
        yield f"{here} not in the enum", "no-such-choice", True
    if kind in ("integer", "number") and "minimum" in plain:
        yield f"{here} least", plain["minimum"], False
        yield f"{here} below", plain["minimum"] - 1, True
    if kind in ("integer", "number") and "maximum" in plain:
        yield f"{here} greatest", plain["maximum"], False
        yield f"{here} above", plain["maximum"] + 1, True
    if "exclusiveMinimum" in plain:
        yield f"{here} at its open bound", plain["exclusiveMinimum"], True
    if plain.get("minItems"):
        yield f"{here} empty", [], True
    wrong = {"string": 5, "integer": "x", "number": "x", "boolean": "x", "array": "x", "object": "x"}
    if kind in wrong:
        yield f"{here} of a wrong type", wrong[kind], True
    if plain.get("format") in ("date-time", "date"):
        yield f"{here} no time", "some day", True
    if kind == "object":
        yield from variants(field, value, here)
    items = field.inner("items")
    if kind == "array" and items is not None and value:
        for what, item, refused in values(items, value[0], (*here, 0)):
            yield what, [item], refused


@pytest.mark.parametrize(("method", "path"), WITH_BODY)
def test_requests_are_taken_and_refused_as_the_schema_says(single: Single, method: str, path: str) -> None:
    schema = body_of(OPENAPI["paths"][path][method], OPENAPI)
    whole = example(schema)
    wrong = []
    for what, body, refused in [
        ("with every field", whole, False),
        ("with required fields only", example(schema, full=False), False),
        *variants(schema, whole),
    ]:
        if not refused:
            single.clear()
        answer = single.call(method, path, body)
        if (answer.status_code == 422) != refused or answer.status_code >= 500:
            wrong.append(f"{what}: {answer.status_code} {answer.text[:300]}")
        if answer.status_code == 422:
            problem = answer.json()
            assert problem["error"] == "Validation Error"
            assert all(set(item) == {"type", "loc", "msg", "input"} for item in problem["detail"]), problem
    assert wrong == []


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_path_answers(single: Single, method: str, path: str) -> None:
    single.clear()
    operation = OPENAPI["paths"][path][method]
    body = example(body_of(operation, OPENAPI)) if "requestBody" in operation else None
    answer = single.call(method, path, body)
    declared = single.document["paths"][path][method]["responses"]
    assert str(answer.status_code) in declared, answer.text
    assert answer.status_code not in (405, 422), answer.text
    assert single.call("patch", path).status_code == 405


# --- answers ----------------------------------------------------------------------------------------------------------


def as_json_schema(raw: Any) -> Any:
    """A schema of the contract as JSON Schema: its ``nullable`` spelled out."""
    if isinstance(raw, list):
        return [as_json_schema(item) for item in raw]
    if not isinstance(raw, dict):
        return raw
    found = {key: as_json_schema(value) for key, value in raw.items() if key != "nullable"}
    return {"anyOf": [found, {"type": "null"}]} if raw.get("nullable") is True else found


def listed_ids(document: dict[str, Any]) -> dict[str, Any]:
    """The contract with the one departure that an answer shows: email's folders and labels hold ids, not counts."""
    changed = copy.deepcopy(document)
    email = changed["components"]["schemas"]["EmailStateResponse"]["properties"]
    for name in ("folders", "labels"):
        email[name]["additionalProperties"] = {"type": "array", "items": {"type": "string"}}
    return changed


CONTRACT = as_json_schema(listed_ids(OPENAPI))


def check_answer(method: str, path: str, content: Any) -> None:
    """Check an answer against the contract's own schema of it."""
    schema = answer_of(CONTRACT["paths"][path][method], CONTRACT).raw
    jsonschema.validate(content, {**schema, "components": CONTRACT["components"]})


MODALITY_READS = [(m, p) for m, p in OPERATIONS if p.endswith(("/state", "/query")) and "{" not in p]
QUERIES = {"/weather/query": {"lat": 52.52, "lon": 13.41}}


@pytest.fixture(scope="module")
def told(server: Server) -> Iterator[Sim]:
    """A simulation in which something has happened in every modality; it is only read."""
    sim = server.new_simulation()
    for name in MODALITIES:
        tell(sim, name)
    yield sim
    sim.delete_me()


@pytest.mark.parametrize(("method", "path"), MODALITY_READS)
def test_states_and_queries_answer_as_the_schema_says(told: Sim, method: str, path: str) -> None:
    answer = told.request(method, path, json=QUERIES.get(path, {}) if method == "post" else None)
    check_answer(method, path, answer.json())


def test_control_answers_as_the_schema_says(sim: Sim) -> None:
    """A life of a simulation, each answer checked; every path of the contract that no other test asks is in it."""
    event = {
        "scheduled_time": "2025-01-06T09:00:30Z",
        "modality": "chat",
        "data": example(Schema({"type": "object"}, {}), "data"),
    }
    made = sim.ok("POST", "/events", event)
    later = sim.ok("POST", "/events", {**event, "scheduled_time": "2025-01-06T10:00:00Z"})
    for method, path, body in [
        ("get", "/simulator/time", None),
        ("post", "/simulation/start", {"auto_advance": False}),
        ("get", "/simulation/status", None),
        ("get", "/events", None),
        ("post", "/events", event),
        ("post", "/events/immediate", {"modality": "chat", "data": event["data"]}),
        ("get", "/events/next", None),
        ("get", "/events/summary", None),
        ("get", "/events/{event_id}", made["event_id"]),
        ("post", "/simulator/time/advance", {"seconds": 40}),
        ("post", "/simulator/time/set", {"target_time": "2025-01-06T09:10:00Z"}),
        ("post", "/simulator/time/set-scale", {"scale": 2}),
        ("post", "/simulator/time/pause", None),
        ("post", "/simulator/time/resume", None),
        ("delete", "/events/{event_id}", later["event_id"]),
        ("post", "/events", {**event, "scheduled_time": "2025-01-06T10:00:00Z"}),
        ("post", "/simulator/time/skip-to-next", None),
        ("get", "/environment/state", None),
        ("get", "/environment/modalities", None),
        ("get", "/environment/modalities/{modality_name}", "chat"),
        ("post", "/environment/validate", None),
        ("post", "/simulation/undo", {"count": 2}),
        ("post", "/simulation/redo", None),
        ("post", "/chat/send", {"role": "user", "content": "Hi"}),
        ("post", "/simulation/stop", None),
        ("post", "/simulation/reset", None),
        ("post", "/simulation/clear", None),
        ("get", "/", None),
        ("get", "/health", None),
    ]:
        variable = isinstance(body, str)
        concrete = path.format(event_id=body, modality_name=body) if variable else path
        answer = sim.request(method, concrete, json=None if variable else body)
        assert answer.is_success, (path, answer.text)
        check_answer(method, path, answer.json())


# --- scenario files ---------------------------------------------------------------------------------------------------


def consistent(name: str) -> dict[str, Any]:
    """A state of the modality with every field filled in, its counts and lists agreeing with its content."""
    schema = MODELS[name]["state"]
    state: dict[str, Any] = example(Schema(schema, schema))
    if name == "email":
        (email,), (draft,) = state["emails"].values(), state["drafts"].values()
        draft.update(message_id="a-draft", folder="drafts")
        state["drafts"] = {"a-draft": draft}
        state["folders"] = {folder: [] for folder in ("inbox", "sent", "drafts", "trash", "spam", "archive")}
        state["folders"].update({email["folder"]: [email["message_id"]], "drafts": ["a-draft"]})
        state["labels"] = {label: [email["message_id"]] for label in email["labels"]}
    for part in ("threads", "conversations"):
        for entry in state.get(part, {}).values():
            entry.update(message_count=1, **({"unread_count": 1} if "unread_count" in entry else {}))
            if "participant_roles" in entry:
                entry["participant_roles"] = [message["role"] for message in state["messages"]]
    if name == "sms":
        for message in state["messages"].values():
            message["direction"] = "incoming"
    return state


def sprinkled(value: Any) -> Any:
    """The same with an unknown field in every object that isn't a dictionary of entries."""
    if isinstance(value, list):
        return [sprinkled(item) for item in value]
    if not isinstance(value, dict):
        return value
    entries = {key: sprinkled(item) for key, item in value.items()}
    return {**entries, "unknown_field": [1]} if "modality_type" in value else entries


@pytest.mark.parametrize("name", list(MODELS))
def test_a_full_state_comes_out_as_it_went_in(sim: Sim, name: str) -> None:
    state = consistent(name)
    file = {"environment": {"time_state": {"current_time": TIME}, "modality_states": {name: sprinkled(state)}}}
    assert sim.ok("POST", "/scenario/import/full", {"scenario": file, "strict_modalities": True})["warnings"] == []
    assert sim.export()["environment"]["modality_states"][name] == state
    assert sim.ok("POST", "/environment/validate")["errors"] == []


@pytest.mark.parametrize("name", list(MODELS))
def test_a_full_input_stays_as_it_is(sim: Sim, name: str) -> None:
    schema = MODELS[name]["input"]
    data = example(Schema(schema, schema))
    discriminator = MODALITIES[name].discriminator
    inputs = [{**data, "unknown_field": 1}]
    if discriminator:
        inputs += [{**data, discriminator: operation} for operation in schema["properties"][discriminator]["enum"]]
    events = [{"scheduled_time": TIME, "modality": name, "data": one, "status": "executed"} for one in inputs]
    sim.ok("POST", "/scenario/import/events", {"data": {"events": events}})
    assert [event["data"] for event in sim.export()["events"]["events"]] == inputs
    if name != "sms":
        # What sms needs in its parts is the part's own affair; tests/ues/test_sms.py sends them.
        event = {"scheduled_time": TIME, "modality": name, "data": inputs[0]}
        assert sim.ok("POST", "/events", event)["data"] == inputs[0]


@pytest.mark.parametrize("name", list(MODELS))
def test_a_state_with_the_required_fields_only_is_read(sim: Sim, name: str) -> None:
    schema = MODELS[name]["state"]
    file = {"environment": {"modality_states": {name: example(Schema(schema, schema), full=False)}}}
    assert sim.ok("POST", "/scenario/import/full", {"scenario": file})["modalities_loaded"] == [name]
    exported = sim.export()["environment"]["modality_states"][name]
    defaults = {
        key: field.plain["default"]
        for key, field in Schema(schema, schema).properties.items()
        if field.plain.get("default") is not None
    }
    assert defaults.items() <= exported.items()


def bared(schema: Schema, value: Any, *, null: bool) -> Any:
    """The same with each optional field null, or without it. Tables and lists of entries keep their entries."""
    entries, items = schema.inner("additionalProperties"), schema.inner("items")
    if schema.properties:
        kept = {}
        for name, field in schema.properties.items():
            is_table = isinstance(value[name], (dict, list)) and name not in ("metadata", "settings_history")
            if name in schema.required or (is_table and "modality_type" in value):
                kept[name] = bared(field, value[name], null=null)
            elif null:
                kept[name] = None
        return kept
    if isinstance(value, dict) and entries is not None:
        return {key: bared(entries, entry, null=null) for key, entry in value.items()}
    if isinstance(value, list) and items is not None:
        return [bared(items, item, null=null) for item in value]
    return value


@pytest.mark.parametrize("name", list(MODELS))
def test_a_field_that_is_null_in_a_file_is_missing(sim: Sim, name: str) -> None:
    schema = Schema(MODELS[name]["state"], MODELS[name]["state"])
    states = [bared(schema, example(schema), null=null) for null in (True, False)]
    assert states[0] != states[1]
    exported = []
    for state in states:
        file = {"environment": {"time_state": {"current_time": TIME}, "modality_states": {name: state}}}
        sim.ok("POST", "/scenario/import/full", {"scenario": file})
        exported.append(sim.export()["environment"]["modality_states"][name])
        assert sim.ok("POST", "/environment/validate")["errors"] == []
    assert exported[0] == exported[1]
