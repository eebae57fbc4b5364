"""Checkpoints: exact, sealed, and known by their digest."""

import json
from hashlib import sha256
from typing import Any

from tests.ues.helpers import Sim, at, receive


def current(sim: Sim) -> Any:
    return sim.ok("GET", "/simulation/checkpoint/current")["checkpoint"]


def take(sim: Sim) -> tuple[str, bytes]:
    answer = sim.get("/simulation/checkpoint")
    digest = sha256(answer.content).hexdigest()
    assert answer.headers["etag"] == f'"{digest}"'
    return digest, answer.content


def test_equal_while_nothing_changes(sim: Sim) -> None:
    assert current(sim) is None
    receive(sim)
    digest, content = take(sim)
    assert current(sim) == digest
    sim.state("email")
    sim.query("email")
    sim.post("/email/send", json={})
    sim.post("/simulator/time/set", json={"target_time": at(-1)})
    sim.get("/events")
    assert take(sim) == (digest, content)
    assert current(sim) == digest


def test_whatever_changes_the_simulation_ends_that(sim: Sim) -> None:
    hold = sim.ok("POST", "/simulation/hold", {"agent_id": "a", "reason": "r"})
    key = sim.key("time:read")
    for method, path, body in (
        ("POST", f"/simulation/release/{hold['hold_id']}", None),
        ("POST", "/simulation/hold", {"agent_id": "a", "reason": "r", "timeout_seconds": 0.001}),
        ("DELETE", f"/keys/{key.key_id}", None),
        ("POST", "/keys", {"name": "x", "permissions": ["*"]}),
        ("POST", "/chat/send", {"role": "user", "content": "x"}),
        ("POST", "/chat/delete", {"message_id": "nope"}),
        ("POST", "/simulation/undo", None),
        ("POST", "/simulation/redo", None),
        ("POST", "/events", {"modality": "chat", "data": {"role": "user", "content": "x"}, "scheduled_time": at(1)}),
        ("POST", "/simulation/start", {}),
        ("POST", "/simulator/time/advance", {"seconds": 0.5}),
        ("POST", "/simulator/time/set-scale", {"scale": 2}),
        ("POST", "/simulator/time/pause", None),
        ("POST", "/simulation/stop", None),
        ("POST", "/scenario/import/events", {"data": {"events": []}}),
        ("POST", "/simulation/clear", None),
        ("POST", "/simulation/reset", None),
    ):
        digest, _ = take(sim)
        assert current(sim) == digest
        sim.ok(method, path, body)
        assert current(sim) is None, path


def test_restoring_brings_everything_back(sim: Sim) -> None:
    user = sim.key("email:*", name="user")
    receive(sim, "kept")
    sim.event("chat", {"role": "user", "content": "later"}, seconds=100)
    sim.ok("POST", "/simulation/start", {"time_scale": 3})
    hold = sim.ok("POST", "/simulation/hold", {"agent_id": "a", "reason": "r", "timeout_seconds": 200})
    digest, content = take(sim)
    logged = len(json.loads(content)["access_log"]["entries"])
    sim.ok("DELETE", f"/keys/{user.key_id}")
    sim.ok("POST", "/simulation/clear")
    answer = sim.post("/simulation/restore", content=content)
    assert answer.json() == {"restored": True, "checkpoint": digest}
    assert take(sim) == (digest, content)
    assert user.get("/email/state").status_code == 200
    status = sim.ok("GET", "/simulation/status")
    assert (status["is_running"], status["time_scale"], status["pending_events"]) == (True, 3, 1)
    assert sim.ok("GET", "/simulation/holds")["holds"][0]["hold_id"] == hold["hold_id"]
    assert sim.ok("GET", "/access-logs/stats")["total_requests"] == logged + 5
    sim.ok("POST", f"/simulation/release/{hold['hold_id']}")
    sim.advance(100)
    assert sim.state("chat")["messages"][0]["content"] == "later"
    assert sim.ok("POST", "/simulation/undo", {"count": 5})["undone_count"] == 2


def test_a_foreign_checkpoint_locks_nobody_out(sim: Sim) -> None:
    key = sim.key("time:read")
    _, content = take(sim)
    copy = sim.server.new_simulation()
    copy.post("/simulation/restore", content=content).raise_for_status()
    assert copy.get("/simulator/time").status_code == 200
    assert copy.get("/simulator/time", headers={"X-API-Key": sim.secret}).status_code == 200
    assert copy.get("/simulator/time", headers={"X-API-Key": key.secret}).status_code == 200
    copy.delete_me()


def test_anything_else_is_refused_and_changes_nothing(sim: Sim) -> None:
    receive(sim)
    digest, content = take(sim)
    for bad in (
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff",
        b'{"format":1,"seal":"x"}',
        b'{"format":{},"seal":[]}',
        content[:-1],
        content.replace(b"Hello", b"Hallo"),
        content.replace(b'"format":1', b'"format":2'),
    ):
        answer = sim.post("/simulation/restore", content=bad)
        assert answer.status_code == 400, bad[:40]
    assert current(sim) == digest
    rewritten = json.dumps(json.loads(content), indent=1)
    assert sim.post("/simulation/restore", content=rewritten).status_code == 200


def test_what_is_refused_draws_no_id(sim: Sim) -> None:
    """A checkpoint stays true after a refused request, so that what follows gets the same ids as after a restore."""
    _, content = take(sim)

    def next_id() -> str:
        event_id: str = sim.ok("POST", "/chat/send", {"role": "user", "content": "x"})["event_id"]
        return event_id

    sim.post("/simulation/restore", content=content)
    expected = next_id()
    bad = {"modality": "chat", "scheduled_time": at(1), "data": {"operation": "explode"}}
    file = {"events": [{"modality": "chat", "scheduled_time": at(1), "data": {"role": "user", "content": "x"}}, 5]}
    for path, body in (
        ("/events", bad),
        ("/events/immediate", bad),
        ("/events/batch", {"events": [bad]}),
        ("/events/batch", {"events": [bad], "validate_only": True}),
        ("/sms/react", {"message_id": "x"}),
        ("/keys", {"name": "the admin's", "permissions": ["*"], "secret": sim.secret}),
        ("/keys", {"name": "the admin's", "permissions": ["*"], "key_id": "admin"}),
        ("/scenario/import/events", {"data": file}),
        ("/scenario/import/full", {"scenario": {"events": file}}),
    ):
        digest = sim.post("/simulation/restore", content=content).json()["checkpoint"]
        assert not sim.post(path, json=body).is_success or path == "/events/batch"
        assert current(sim) == digest
        assert next_id() == expected, path


def test_undo_after_a_restore_leads_back_to_the_same(sim: Sim) -> None:
    """The email sent and the draft that undo puts back have no list in common, in memory either."""
    draft = {"operation": "save_draft", "to_addresses": ["ben@example.com"], "subject": "s", "body_text": "b"}
    sim.event("email", draft)
    (draft_id,) = sim.export()["environment"]["modality_states"]["email"]["drafts"]
    before = sim.export()["environment"]["modality_states"]
    sim.event("email", {"operation": "send_draft", "message_id": draft_id})
    sent = list(sim.state("email")["emails"])
    sim.do("/email/label", message_ids=sent, labels=["x"])
    copy = sim.server.new_simulation()
    copy.post("/simulation/restore", content=take(sim)[1]).raise_for_status()
    for simulation in (sim, copy):
        simulation.ok("POST", "/simulation/undo", {"count": 2})
        assert simulation.export()["environment"]["modality_states"] == before
    copy.delete_me()
