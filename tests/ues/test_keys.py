"""Keys, permissions, and the access log."""

from typing import Any

import httpx
import pytest

from proctor.ues import ENDPOINT_PERMISSIONS, USER_PERMISSIONS
from proctor.ues.http.routes import SIMULATION_ROUTES
from tests.ues.helpers import Sim, receive
from tests.values import expect
from tests.work import only_nightly


def test_making_listing_and_revoking(sim: Sim) -> None:
    made = sim.post("/keys", json={"name": "reader", "permissions": ["time:read"]})
    assert made.status_code == 201
    key = made.json()
    assert key["created_by"] == "admin"
    answer = sim.ok("GET", f"/keys/{key['key_id']}")
    assert "secret" not in answer
    assert (answer["is_active"], answer["last_used_at"], answer["revoked_at"]) == (True, None, None)
    assert sim.get("/simulator/time", headers={"X-API-Key": key["secret"]}).status_code == 200
    assert sim.ok("GET", f"/keys/{key['key_id']}")["last_used_at"] is not None
    revoked = sim.ok("DELETE", f"/keys/{key['key_id']}")
    assert revoked["name"] == "reader"
    assert sim.get("/simulator/time", headers={"X-API-Key": key["secret"]}).status_code == 401
    assert sim.delete(f"/keys/{key['key_id']}").status_code == 409
    assert sim.delete("/keys/nope").status_code == 404
    assert sim.delete("/keys/admin").status_code == 400
    shown = sim.ok("GET", "/keys")
    assert (shown["active"], shown["revoked"], shown["total"]) == (1, 1, 2)
    assert [entry["key_id"] for entry in shown["keys"]] == ["admin"]
    assert len(sim.ok("GET", "/keys", include_revoked="true")["keys"]) == 2


def test_a_chosen_secret_and_id(sim: Sim) -> None:
    body: dict[str, Any] = {"name": "mine", "permissions": ["*"], "secret": "0123456789abcdef", "key_id": "mine-1"}
    made = sim.post("/keys", json=body)
    assert (made.status_code, made.json()["secret"], made.json()["key_id"]) == (201, body["secret"], "mine-1")
    assert sim.post("/keys", json=body).status_code == 409
    assert sim.post("/keys", json={**body, "key_id": "mine-2"}).status_code == 409
    assert sim.get("/keys", headers={"X-API-Key": body["secret"]}).status_code == 200
    bearer = {"Authorization": f"Bearer {body['secret']}"}
    assert httpx.get(f"{sim.made['base_url']}/keys", headers=bearer).status_code == 200
    assert body["secret"] not in sim.get("/simulation/checkpoint").text


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"name": "x" * 101},
        {"permissions": []},
        {"permissions": ["email"]},
        {"permissions": ["a:b:c:d"]},
        {"permissions": "*"},
        {"secret": "short"},
        {"key_id": "has space"},
        {"name": None},
    ],
)
def test_bad_keys_are_refused(sim: Sim, change: dict[str, Any]) -> None:
    body = {"name": "x", "permissions": ["*"], **change}
    assert sim.post("/keys", json=body).status_code == 422


def test_wildcards(sim: Sim) -> None:
    email = sim.key("email:*")
    assert email.get("/email/state").status_code == 200
    denied = email.get("/chat/state")
    assert denied.status_code == 403
    assert "chat:state" in denied.json()["detail"]
    assert sim.key("*").get("/keys").status_code == 200


@only_nightly  # test_permissions asks each endpoint of the contract with keys that all of them share
def test_each_endpoint_needs_exactly_its_permission(sim: Sim) -> None:
    for route in SIMULATION_ROUTES:
        path = route.path.format(modality_name="email", event_id="x", hold_id="x", key_id="x", name="x")
        others = [p for p in ENDPOINT_PERMISSIONS if p != route.permission]
        denied = sim.key(*others, name=route.path[:90]).request(route.method, path, content=b"not json")
        assert (denied.status_code, route.path) == (403, route.path)
        assert route.permission in denied.json()["detail"]
        if route.permission in ("keys:create", "simulation:clear", "simulation:reset", "logs:clear"):
            continue
        allowed = sim.key(expect(route.permission)).request(route.method, path, content=b"not json")
        assert (allowed.status_code not in (401, 403, 500), route.path) == (True, route.path)


def test_without_a_key_only_the_open_paths_answer(sim: Sim) -> None:
    for path in ("/", "/health", "/docs", "/redoc", "/openapi.json"):
        assert httpx.get(sim.made["base_url"] + path).status_code == 200
    for key in (None, b"wrong", "ä".encode("latin-1")):
        headers = [] if key is None else [(b"X-API-Key", key)]
        answer = httpx.get(f"{sim.made['base_url']}/simulator/time", headers=headers)
        assert answer.status_code == 401
        assert set(answer.json()) == {"error", "detail"}


def test_the_participant(sim: Sim) -> None:
    user = sim.participant()
    message_id = receive(sim)
    user.do("/email/read", message_ids=[message_id])
    user.do("/email/send", from_address="user@example.com", to_addresses=["a@b.c"], subject="s", body_text="b")
    user.do("/chat/send", role="assistant", content="done")
    for method, path in (
        ("POST", "/email/receive"),
        ("POST", "/simulator/time/advance"),
        ("POST", "/simulation/start"),
        ("GET", "/scenario/export/full"),
        ("GET", "/events"),
        ("GET", "/keys"),
        ("POST", "/chat/clear"),
        ("POST", "/chat/delete"),
    ):
        assert user.request(method, path).status_code == 403
    assert "time:read" in USER_PERMISSIONS
    events = sim.ok("GET", "/events", agent_id=user.key_id)
    assert events["total"] == 3


def test_the_access_log(sim: Sim) -> None:
    sim.ok("POST", "/access-logs/clear")
    user = sim.key("time:read", name="watcher")
    user.get("/simulator/time")
    user.get("/email/state")
    user.get("/nowhere")
    sim.post("/email/receive", json={})

    def found(**params: Any) -> list[tuple[str, str, int]]:
        return [(e["method"], e["path"], e["status_code"]) for e in sim.ok("GET", "/access-logs", **params)["logs"]]

    watched = [("GET", "/nowhere", 404), ("GET", "/email/state", 403), ("GET", "/simulator/time", 200)]
    assert found(key_name="watcher") == watched
    assert found(key_id=user.key_id, limit=1, offset=1) == watched[1:2]
    assert found(errors_only="true", method="post") == [("POST", "/email/receive", 422)]
    assert found(path_prefix="/email", status_code_min=400, status_code_max=403) == watched[1:2]
    assert found(until="2001-01-01T00:00:00Z") == []
    assert len(found(since="2001-01-01T00:00:00Z", key_id=user.key_id)) == 3
    stats = sim.ok("GET", "/access-logs/stats")
    assert stats["total_requests"] == stats["successful_requests"] + stats["failed_requests"]
    assert (stats["failed_requests"], stats["unique_keys"]) == (3, 2)
    assert stats["first_request"] < stats["last_request"]
    assert sim.get("/access-logs", params={"limit": 1001}).status_code == 422
