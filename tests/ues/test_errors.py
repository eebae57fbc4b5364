"""Every odd request gets a 4xx, in the contract's form, and never a 500."""

import socket

import httpx
import pytest

from tests.ues.helpers import Sim, at
from tests.waiting import PATIENCE

MAIL = {"from_address": "a@b.c", "to_addresses": ["u@x"], "subject": "s", "body_text": "b"}


def raw(sim: Sim, path: str, body: bytes, **headers: str) -> httpx.Response:
    return sim.post(path, content=body, headers=headers)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"x"',
        b"5",
        b"\xff\xfe",
        b'{"subject": "\\ud800"}',
        b'{"subject": NaN}',
        b'{"seconds": Infinity}',
        b'{"a":' * 2000 + b"1" + b"}" * 2000,
        b"[" * 100_000,
        b'{"from_address": "' + b"\x00" + b'"}',
    ],
)
def test_bodies_that_are_no_request(sim: Sim, body: bytes) -> None:
    for path in ("/email/send", "/simulator/time/advance", "/events", "/scenario/import/full", "/keys"):
        answer = raw(sim, path, body)
        assert answer.status_code == 422
        assert answer.json()["error"] == "Validation Error"
        for item in answer.json()["detail"]:
            assert set(item) == {"type", "loc", "msg", "input"}
            assert item["loc"][0] == "body"


def test_nan_and_infinity_are_refused(sim: Sim) -> None:
    for number in (b"NaN", b"Infinity", b"-Infinity", b"1e999"):
        assert raw(sim, "/simulator/time/advance", b'{"seconds": %s}' % number).status_code == 422
        assert raw(sim, "/chat/send", b'{"role":"user","content":"x","metadata":{"a":%s}}' % number).status_code == 422


def test_what_can_be_read_can_be_answered(sim: Sim) -> None:
    """Deep nesting and huge numbers in free-form fields must not poison later answers."""
    for depth in (100, 200, 215, 250, 500, 900):
        nested = b'{"a":' * depth + b"1" + b"}" * depth
        answer = raw(sim, "/chat/send", b'{"role":"user","content":"x","metadata":%s}' % nested)
        assert answer.status_code in (200, 422)
        listed = b'{"role":"user","content":[{"a":%s}]}' % (b"[" * depth + b"]" * depth)
        assert raw(sim, "/chat/send", listed).status_code in (200, 422)
        event = b'{"modality":"chat","scheduled_time":"%s","data":{"role":"user","content":"x","metadata":%s}}'
        assert raw(sim, "/events", event % (at(1).encode(), nested)).status_code in (200, 422)
    big = b"9" * 400
    assert raw(sim, "/chat/send", b'{"role":"user","content":"x","metadata":{"a":%s}}' % big).status_code == 422
    sim.ok("POST", "/chat/send", {"role": "user", "content": "x", "metadata": {"a": 2**64, "b": -(2**63)}})
    for path in ("/environment/state", "/scenario/export/full", "/events", "/chat/state", "/simulation/checkpoint"):
        assert sim.get(path).status_code == 200
    restored = sim.post("/simulation/restore", content=sim.get("/simulation/checkpoint").content)
    assert restored.status_code == 200


@pytest.mark.parametrize(
    "time",
    [
        "0000-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "2025-02-30T00:00:00Z",
        "2025-01-01T25:00:00Z",
        "2025-01-01T00:00:00+99:99",
        "",
        " ",
        "now",
        "１２",
        None,
        [],
        {},
        1e300,
        True,
    ],
)
def test_times_that_are_none(sim: Sim, time: str) -> None:
    assert sim.post("/simulator/time/set", json={"target_time": time}).status_code == 422
    assert sim.post("/email/receive", json={**MAIL, "sent_at": time or "x"}).status_code == 422
    assert sim.post("/simulation/clear", json={"reset_time_to": time or "x"}).status_code in (400, 422)


def test_the_ends_of_time(sim: Sim) -> None:
    sim.ok("POST", "/simulation/start", {})
    sim.ok("POST", "/simulator/time/set", {"target_time": "9999-12-31T23:59:59.999999Z"})
    assert sim.post("/simulator/time/advance", json={"seconds": 1}).status_code == 400
    sim.ok("POST", "/simulation/stop")
    sim.ok("POST", "/simulation/start", {"auto_advance": True, "time_scale": 1e300})
    assert sim.get("/simulator/time").status_code == 200
    sim.ok("POST", "/simulation/clear", {"reset_time_to": "0001-01-01T00:00:00"})
    assert sim.ok("GET", "/simulator/time")["current_time"] == "0001-01-01T00:00:00+00:00"
    sim.do("/email/receive", **MAIL)


def test_nothing_but_the_open_paths_answers_without_a_key(sim: Sim) -> None:
    """Not even whether a path exists (contract: "Open without a key: ...")."""
    for headers in ({}, {"X-API-Key": "made-up"}):
        for method, path in (("GET", "/nowhere"), ("PUT", "/events"), ("GET", "/events/"), ("OPTIONS", "/email/state")):
            assert httpx.request(method, sim.made["base_url"] + path, headers=headers).status_code == 401
        assert httpx.get(sim.made["base_url"] + "/health", headers=headers).status_code == 200


def test_unknown_paths_and_methods(sim: Sim) -> None:
    unknown = sim.get("/nowhere")
    assert (unknown.status_code, set(unknown.json())) == (404, {"error", "detail"})
    wrong = sim.get("/email/send")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
    both = sim.put("/events/x")
    assert (both.status_code, both.headers["allow"]) == (405, "DELETE, GET")
    # A whole path hides one with a variable part: /events/next is no event's id.
    hidden = sim.delete("/events/next")
    assert (hidden.status_code, hidden.headers["allow"]) == (405, "GET")
    for path in ("/email", "/email/state/", "/email//state", "/%00", "/%ff", "/events/" + "x" * 5000, "/ünï"):
        assert sim.get(path).status_code == 404, path


def test_odd_parameters(sim: Sim) -> None:
    assert sim.get("/email/state?summary=maybe").status_code == 422
    assert sim.get("/email/state?summary=maybe").json()["detail"][0]["loc"] == ["query", "summary"]
    assert "statistics" in sim.get("/email/state?summary=false&summary=true").json()
    assert sim.get("/events?limit=99999999999999999999999").status_code == 422
    assert sim.get("/events?modality=%ff%fe&unknown=1").status_code == 200
    assert sim.get("/events?status=%00").status_code == 400
    assert sim.get("/events?limit=").status_code == 422
    assert sim.get("/environment/state?format=xml").status_code == 422


def test_the_content_type_does_not_matter(sim: Sim) -> None:
    sim.ok("POST", "/simulation/start", {})
    body = b'{"seconds": 1}'
    for kind in ("text/plain", "application/json; charset=latin-1", ""):
        assert raw(sim, "/simulator/time/advance", body, **{"Content-Type": kind}).status_code == 200


def test_an_oversize_body_is_not_read(sim: Sim) -> None:
    host, port = sim.server.url.removeprefix("http://").split(":")
    path = sim.made["base_url"].removeprefix(sim.server.url) + "/email/send"
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nX-API-Key: {sim.secret}\r\nContent-Length: {10**12}\r\n\r\n"
        connection.sendall(head.encode())
        assert b"413" in connection.recv(1000).split(b"\r\n")[0]


def test_a_caller_who_leaves_does_no_harm(sim: Sim) -> None:
    host, port = sim.server.url.removeprefix("http://").split(":")
    path = sim.made["base_url"].removeprefix(sim.server.url) + "/email/send"
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        connection.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nX-API-Key: {sim.secret}\r\n".encode())
        connection.sendall(b"Content-Length: 100\r\n\r\n{")
    assert sim.ok("GET", "/events")["total"] == 0


def test_pages_beyond_all_numbers_are_empty(sim: Sim) -> None:
    most = 2**63 - 1
    sim.event("chat", {"role": "user", "content": "hi"})
    listed = sim.ok("GET", "/events", limit=1, offset=most)
    assert (listed["events"], listed["total"]) == ([], 1)
    assert len(sim.ok("GET", "/events", limit=most)["events"]) == 1
    logged = sim.ok("GET", "/access-logs", limit=1, offset=most)
    assert (logged["logs"], logged["returned"]) == ([], 0)
    for modality in ("email", "sms", "chat", "calendar", "contacts", "location"):
        assert sim.query(modality, limit=1, offset=most)["returned_count"] == 0
