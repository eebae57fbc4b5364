"""The permission matrix: every endpoint of the contract page, asked with every kind of key."""

from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from proctor.ues import ENDPOINT_PERMISSIONS, USER_PERMISSIONS
from tests.ues.contract.permissions import ENDPOINTS, Endpoint
from tests.ues.helpers import PlainTransport, Server, Sim
from tests.work import some_of

every_endpoint = pytest.mark.parametrize("endpoint", ENDPOINTS, ids=str)


@dataclass(frozen=True)
class Keys:
    """Clients of one simulation, one for each kind of key that all endpoints share."""

    admin: Sim
    none: httpx.Client
    unknown: httpx.Client
    revoked: Sim
    participant: Sim
    everything_else: dict[str, Sim]
    """By permission: a key with every permission of the contract but that one."""
    just: dict[str, Sim]
    """By permission: a key with nothing but that."""


@pytest.fixture(scope="module")
def keys(server: Server) -> Iterator[Keys]:
    sim = server.new_simulation()
    revoked = sim.key("*")
    sim.ok("DELETE", f"/keys/{revoked.key_id}")
    permissions = sorted({endpoint.permission for endpoint in ENDPOINTS})
    keys = Keys(
        admin=sim,
        none=httpx.Client(base_url=sim.base_url, transport=PlainTransport()),
        unknown=httpx.Client(base_url=sim.base_url, headers={"X-API-Key": "made-up"}, transport=PlainTransport()),
        revoked=revoked,
        participant=sim.key(*sorted({endpoint.permission for endpoint in ENDPOINTS if endpoint.participant})),
        everything_else={one: sim.key(*(other for other in permissions if other != one)) for one in permissions},
        just={one: sim.key(one) for one in permissions},
    )
    yield keys
    for client in (keys.none, keys.unknown, revoked, keys.participant, *keys.everything_else.values()):
        client.close()
    for client in keys.just.values():
        client.close()
    sim.delete_me()


def ask(client: httpx.Client, endpoint: Endpoint, *, body: bool = True) -> httpx.Response:
    path = endpoint.path.format(modality_name="chat", event_id="e", hold_id="h", key_id="k", name="p")
    return client.request(endpoint.method, path, json=endpoint.body if body else None, params=endpoint.params)


@every_endpoint
def test_one_permission_opens_it_and_no_other_key_does(keys: Keys, endpoint: Endpoint) -> None:
    """Without that permission nothing opens, whatever the body is."""
    for client in (keys.none, keys.unknown, keys.revoked):
        answer = ask(client, endpoint)
        assert answer.status_code == 401
        assert set(answer.json()) == {"error", "detail"}
    for client in (keys.just[endpoint.permission], keys.admin):
        answer = ask(client, endpoint)
        assert answer.status_code not in (401, 403, 405, 422), answer.text
        assert answer.status_code < 500
    answer = ask(keys.everything_else[endpoint.permission], endpoint, body=False)
    assert answer.status_code == 403
    assert endpoint.permission in answer.json()["detail"]


@every_endpoint
def test_a_participant_acts_as_the_user_and_no_more(keys: Keys, endpoint: Endpoint) -> None:
    answer = ask(keys.participant, endpoint)
    if endpoint.participant:
        assert answer.status_code not in (401, 403)
    else:
        assert answer.status_code == 403


@pytest.mark.parametrize("permission", some_of(sorted({endpoint.permission for endpoint in ENDPOINTS}), 20))
def test_wildcards_cover_what_lies_under_them(keys: Keys, permission: str) -> None:
    resource = permission.split(":")[0]
    endpoint = next(one for one in ENDPOINTS if one.permission == permission)
    with keys.admin.key(f"{resource}:*") as covering:
        assert ask(covering, endpoint).status_code != 403
    with keys.admin.key(
        *(f"{other}:*" for other in {one.permission.split(":")[0] for one in ENDPOINTS} - {resource})
    ) as not_:
        assert ask(not_, endpoint).status_code == 403


def test_the_list_is_complete(keys: Keys) -> None:
    """Every route that the server describes is on the list, with the same permission; and the other way round."""
    described = {
        (method.upper(), path, operation.get("x-permission"))
        for path, methods in keys.admin.get("/openapi.json").json()["paths"].items()
        for method, operation in methods.items()
        if path not in ("/", "/health")
    }
    assert described == {(one.method, one.path, one.permission) for one in ENDPOINTS}


def test_the_permission_sets_that_the_package_offers() -> None:
    assert set(ENDPOINT_PERMISSIONS) == {endpoint.permission for endpoint in ENDPOINTS}
    assert set(USER_PERMISSIONS) == {endpoint.permission for endpoint in ENDPOINTS if endpoint.participant}
