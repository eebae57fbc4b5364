"""The client against the real simulator: every endpoint that it serves, with the fields that it takes."""

import types
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args, get_origin

import httpx
import pytest

from purple_sdk import ues
from purple_sdk.ues._call import Endpoint, Room
from tests.purple_sdk.conftest import Simulator

PREFIX = "/simulations/{simulation_id}"


@pytest.fixture
def client(simulator: Simulator) -> Iterator[ues.UESClient]:
    with ues.UESHost(*simulator) as host:
        made = host.create(seed=7)
        with host.simulation(made.simulation_id, made.admin_key) as admin:
            yield admin
        host.delete(made.simulation_id)


@pytest.fixture(scope="module")
def served(simulator: Simulator) -> dict[tuple[str, str], dict[str, Any]]:
    """Method and path of every endpoint of a simulation, with its request's fields."""
    document = httpx.get(f"{simulator.url}/openapi.json").json()
    return {
        (method.upper(), path.removeprefix(PREFIX)): _request_fields(operation, document)
        for path, operations in document["paths"].items()
        if path.startswith(PREFIX + "/") and "host" not in next(iter(operations.values()))["tags"]
        for method, operation in operations.items()
    }


def _request_fields(operation: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """Each field's schema, with ``required`` beside it."""
    fields = {
        parameter["name"]: {**parameter["schema"], "required": parameter.get("required", False)}
        for parameter in operation.get("parameters", [])
        if parameter["name"] != "simulation_id" and parameter["in"] in ("path", "query")
    }
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    for option in [body, *body.get("anyOf", [])]:
        if "$ref" in option:
            body = document["components"]["schemas"][option["$ref"].rpartition("/")[2]]
    for name, schema in body.get("properties", {}).items():
        fields[name] = {**schema, "required": name in body.get("required", [])}
    return fields


def declared() -> dict[tuple[str, str], list[Endpoint[Any, Any]]]:
    """Method and path of every endpoint of the client."""
    with ues.UESClient("http://127.0.0.1:9", "k") as client:
        rooms = [client, *(part for part in vars(client).values() if isinstance(part, Room))]
    found: dict[tuple[str, str], list[Endpoint[Any, Any]]] = {}
    for room in rooms:
        for kind in type(room).__mro__:
            for endpoint in vars(kind).values():
                if isinstance(endpoint, Endpoint):
                    route = endpoint.route
                    found.setdefault((route.method, route.path.partition("?")[0]), []).append(endpoint)
    return found


def test_every_endpoint_has_a_method(served: dict[tuple[str, str], Any]) -> None:
    assert len(served) > 60
    assert sorted(set(served) - set(declared())) == []


def test_no_method_is_for_an_endpoint_that_is_not_there(
    served: dict[tuple[str, str], Any], client: ues.UESClient
) -> None:
    absent_modalities = {"sms", "calendar", "contacts", "location", "weather"} - set(
        client.environment.list_modalities().modalities
    )
    open_to_all = {("GET", "/"), ("GET", "/health")}
    ours = {key for key in declared() if key[1].split("/")[1] not in absent_modalities}
    assert sorted(ours - set(served) - open_to_all) == []


def _options(annotation: Any) -> set[Any] | None:
    """What a parameter allows, if its annotation lists it."""
    if get_origin(annotation) is Literal:
        return set(get_args(annotation))
    if isinstance(annotation, types.UnionType) or get_origin(annotation) is not None:
        listed = [option for part in get_args(annotation) if (option := _options(part)) is not None]
        return listed[0] if len(listed) == 1 else None
    return None


def _enum(schema: dict[str, Any]) -> set[Any] | None:
    for option in [schema, *schema.get("anyOf", [])]:
        if "enum" in option:
            return {value for value in option["enum"] if value is not None}
    return None


def test_every_method_takes_the_fields_of_its_endpoint(served: dict[tuple[str, str], dict[str, Any]]) -> None:
    wrong = []
    for key, endpoints in declared().items():
        if key not in served:
            continue
        parameters = {name: p for e in endpoints for name, p in list(e.signature.parameters.items())[1:]}
        route = endpoints[0].route
        if route.whole_body:
            parameters.pop(route.whole_body)
        fields = served[key]
        required = {name for name, p in parameters.items() if p.default is p.empty} | set(route.own)
        if set(parameters) != set(fields) - ({"format"} if key[1] == "/environment/state" else set()):
            wrong.append(f"{key}: takes {sorted(set(parameters) ^ set(fields))} on one side only")
        if required != {name for name, field in fields.items() if field["required"]}:
            wrong.append(f"{key}: requires {sorted(required)}")
        for name, parameter in parameters.items():
            options, allowed = _options(parameter.annotation), _enum(fields.get(name, {}))
            if options is not None and allowed is not None and options != allowed:
                wrong.append(f"{key}: {name} may be {sorted(options ^ allowed)} on one side only")
    assert not wrong, "\n".join(wrong)


def test_a_day_in_the_mailbox(client: ues.UESClient) -> None:
    client.simulation.start()
    now = client.time.get_state().current_time
    arrived = client.email.receive(
        from_address="ann@x.org", to_addresses=["user@example.com"], subject="Hi", body_text="Please answer."
    )
    assert arrived.succeeded
    assert arrived.scheduled_time == now
    [mail] = client.email.query(folder="inbox", is_read=False)["emails"]
    client.email.read([mail["message_id"]])
    client.email.label([mail["message_id"]], ["action"])
    client.email.archive([mail["message_id"]])
    state = client.email.get_state()
    kept = state["emails"][mail["message_id"]]
    assert (kept["is_read"], kept["labels"], kept["folder"]) == (True, ["action"], "archive")
    sent = client.email.send(to_addresses=["ann@x.org"], subject="Re: Hi", body_text="Done.")
    record = client.events.get(sent.event_id)
    assert record.data is not None
    assert record.data["from_address"] == state["user_email_address"]
    assert client.simulation.undo(count=1).undone_events[0].event_id == sent.event_id
    assert client.email.query(folder="sent")["total_count"] == 0


def test_the_clock_events_and_checkpoints(client: ues.UESClient) -> None:
    client.simulation.start()
    now = client.time.get_state().current_time
    later = now + timedelta(hours=1)
    said = {"operation": "send_message", "role": "user", "content": "Good morning"}
    event = client.events.create(scheduled_time=later, modality="chat", data=said, priority=70)
    assert (event.status, event.priority) == ("pending", 70)
    assert client.events.next().event_id == event.event_id
    checkpoint = client.simulation.checkpoint()
    assert client.simulation.current().checkpoint is not None
    assert client.time.set_time(later).executed_events == 1
    assert client.simulation.current().checkpoint is None
    assert [message["content"] for message in client.chat.query(role="user")["messages"]] == ["Good morning"]
    restored = client.simulation.restore(checkpoint)
    assert client.simulation.current().checkpoint == restored.checkpoint
    assert client.time.get_state().current_time == now
    assert client.events.summary().pending == 1


def test_a_users_key_and_what_it_opens(client: ues.UESClient) -> None:
    key = client.keys.create(name="participant", permissions=["email:*", "time:read"], secret="s" * 24, key_id="p")
    assert key.secret == "s" * 24
    assert "s" * 24 not in repr(key)
    with ues.UESClient(client.base_url, key.secret) as user:
        assert user.time.get_state().current_time.tzinfo is not None
        with pytest.raises(ues.PermissionDeniedError, match="time:advance"):
            user.time.advance(1)
        with pytest.raises(ues.ValidationError_, match=r"message_ids"):
            user.email.read([1])  # type: ignore[list-item]
        client.keys.revoke("p")
        with pytest.raises(ues.AuthenticationError):
            user.email.query()
    with pytest.raises(ues.ConflictError):
        client.keys.revoke("p")
    with pytest.raises(ues.NotFoundError):
        client.keys.get("nobody")
    assert client.keys.list(include_revoked=True).revoked == 1


async def test_a_scenario_moves_from_one_simulation_to_another(simulator: Simulator) -> None:
    async with ues.AsyncUESHost(*simulator) as host:
        one, two = [await host.create(seed=number) for number in (1, 2)]
        first = host.simulation(one.simulation_id, one.admin_key)
        second = host.simulation(two.simulation_id, two.admin_key)
        await first.chat.send(role="user", content="Remember me")
        loaded = await second.scenario.import_full(await first.scenario.export_full())
        assert "chat" in loaded.modalities_loaded
        assert (await second.chat.query())["messages"] == (await first.chat.query())["messages"]
        with pytest.raises(ues.AuthenticationError):
            await host.simulation(two.simulation_id, one.admin_key).time.get_state()
        await host.delete(one.simulation_id)
        await host.delete(two.simulation_id)
        with pytest.raises(ues.AuthenticationError):
            await first.time.get_state()
        with pytest.raises(ues.NotFoundError):
            await host.get(one.simulation_id)


def test_times_are_aware(client: ues.UESClient) -> None:
    client.simulation.clear(reset_time_to=datetime(2026, 3, 2, 8, tzinfo=UTC))
    assert client.time.get_state().current_time == datetime(2026, 3, 2, 8, tzinfo=UTC)
