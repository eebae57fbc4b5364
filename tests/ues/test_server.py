"""The server: a host of many simulations, or a single one; how it starts and how it ends."""

import socket
from contextlib import suppress

import httpx
import pytest

from proctor.ues import create_app
from tests.ues.helpers import HOST_KEY, Server, receive
from tests.waiting import PATIENCE
from tests.work import only_nightly


def test_simulations_are_apart_and_their_keys_die_with_them(server: Server) -> None:
    made = server.client.post("/simulations", json={"simulation_id": "mine", "admin_key": "0123456789abcdef"})
    assert made.status_code == 201
    assert made.json() == {
        "simulation_id": "mine",
        "base_url": f"{server.url}/simulations/mine",
        "admin_key": "0123456789abcdef",
    }
    assert server.client.post("/simulations", json={"simulation_id": "mine"}).status_code == 409
    other = server.new_simulation()
    mine = httpx.Client(base_url=made.json()["base_url"], headers={"X-API-Key": "0123456789abcdef"})
    receive(other)
    assert mine.get("/email/state").json()["emails"] == {}
    assert mine.get("/email/state", headers={"X-API-Key": other.secret}).status_code == 401
    assert mine.get("/email/state", headers={"X-API-Key": HOST_KEY}).status_code == 401
    listed = server.client.get("/simulations").json()
    assert listed["count"] == len(listed["simulations"])
    assert {"mine", other.simulation_id} <= {entry["simulation_id"] for entry in listed["simulations"]}
    assert server.client.get("/simulations/mine").json()["is_running"] is False
    assert server.client.delete("/simulations/mine").status_code == 200
    assert mine.get("/email/state").status_code == 401
    assert mine.get("/health").status_code == 404
    assert server.client.get("/simulations/mine").status_code == 404
    assert server.client.delete("/simulations/mine").status_code == 404
    other.delete_me()


@pytest.mark.parametrize(
    "body",
    [
        {"simulation_id": "a/b"},
        {"simulation_id": ""},
        {"simulation_id": ".."},
        {"admin_key": "short"},
        {"seed": 1.5},
        {"seed": 10**30},
        [],
    ],
)
def test_bad_simulations_are_refused(server: Server, body: object) -> None:
    assert server.client.post("/simulations", json=body).status_code == 422


def test_the_host_key_is_needed(server: Server) -> None:
    for method, path in (
        ("POST", "/simulations"),
        ("GET", "/simulations"),
        ("DELETE", "/simulations/x"),
        ("PUT", "/simulations"),
        ("GET", "/nowhere"),
    ):
        assert httpx.request(method, server.url + path).status_code == 401
        assert httpx.request(method, server.url + path, headers={"X-API-Key": "wrong"}).status_code == 401
    bearer = {"Authorization": f"Bearer {HOST_KEY}"}
    assert httpx.get(f"{server.url}/simulations", headers=bearer).status_code == 200
    for path in ("/", "/health", "/docs", "/openapi.json"):
        assert httpx.get(server.url + path).status_code == 200
    paths = httpx.get(f"{server.url}/openapi.json").json()["paths"]
    assert {"/simulations", "/simulations/{simulation_id}", "/simulations/{simulation_id}/email/send"} <= paths.keys()
    assert httpx.get(f"{server.url}/email/state", headers=bearer).status_code == 404


def test_a_head_without_end_is_not_kept(server: Server) -> None:
    address = httpx.URL(server.url)
    with socket.create_connection((address.host, address.port), timeout=PATIENCE) as connection:
        with suppress(ConnectionError):
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: here\r\nX: " + b"x" * 1_000_000)
        with suppress(ConnectionResetError):
            assert connection.recv(1) == b""
    assert httpx.get(f"{server.url}/health").status_code == 200


def test_base_urls_follow_the_host_header(server: Server) -> None:
    host = {"Host": "sims.example.com:99"}
    made = server.client.post("/simulations", headers=host).json()
    assert made["base_url"] == f"http://sims.example.com:99/simulations/{made['simulation_id']}"
    path = f"/simulations/{made['simulation_id']}"
    described = server.client.get(f"{path}/openapi.json", headers=host).json()
    assert described["servers"] == [{"url": made["base_url"]}]
    assert "/email/state" in described["paths"]
    assert "servers" not in server.client.get("/openapi.json").json()
    server.client.delete(f"/simulations/{made['simulation_id']}")


def test_a_single_simulation_stands_at_the_root_and_without_a_key_in_the_environment_one_is_printed() -> None:
    server = Server("--single", UES_ADMIN_KEY="", UES_HOST_KEY="")
    try:
        headers = {"X-API-Key": server.printed[0].removeprefix("admin key: ")}
        assert httpx.get(f"{server.url}/simulator/time", headers=headers).status_code == 200
        assert httpx.get(f"{server.url}/simulator/time").status_code == 401
        assert httpx.get(f"{server.url}/simulations", headers=headers).status_code == 404
        assert httpx.get(f"{server.url}/simulations").status_code == 401
        assert httpx.get(f"{server.url}/health").json()["status"] == "healthy"
    finally:
        assert server.stop() == 0


def test_a_key_in_the_environment_is_not_printed(server: Server) -> None:
    assert len(server.printed) == 1


@only_nightly  # by default a single simulation prints its key
def test_without_a_key_in_the_environment_a_host_prints_one() -> None:
    server = Server(UES_HOST_KEY="")
    try:
        secret = server.printed[0].removeprefix("host key: ")
        assert httpx.get(f"{server.url}/simulations", headers={"X-API-Key": secret}).status_code == 200
    finally:
        server.stop()


async def test_in_process() -> None:
    app = create_app(single=True, admin_key="the-admin-key-0123456789")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://sim") as client:
        assert (await client.get("/keys", headers={"X-API-Key": "the-admin-key-0123456789"})).status_code == 200


def test_in_process_needs_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UES_HOST_KEY", raising=False)
    with pytest.raises(ValueError, match="UES_HOST_KEY"):
        create_app()
