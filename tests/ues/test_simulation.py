"""Start and stop, undo and redo, reset and clear, holds."""

import time
from typing import Any

from tests.ues.helpers import START, Sim, at, receive


def content(sim: Sim) -> Any:
    return sim.export()["environment"]["modality_states"]


def test_start_stop_status(sim: Sim) -> None:
    started = sim.ok("POST", "/simulation/start", {})
    assert started == {
        "simulation_id": sim.simulation_id,
        "status": "running",
        "current_time": START,
        "auto_advance": False,
        "time_scale": 1.0,
    }
    assert sim.post("/simulation/start", json={}).status_code == 409
    assert sim.post("/simulation/start").status_code == 422
    receive(sim)
    assert sim.ok("GET", "/simulation/status") == {
        "is_running": True,
        "current_time": START,
        "is_paused": False,
        "auto_advance": False,
        "time_scale": 1.0,
        "pending_events": 0,
        "executed_events": 1,
        "failed_events": 0,
        "next_event_time": None,
    }
    stopped = sim.ok("POST", "/simulation/stop")
    assert (stopped["status"], stopped["total_events"], stopped["events_executed"]) == ("stopped", 1, 1)
    assert sim.ok("POST", "/simulation/stop")["status"] == "stopped"


def test_undo_and_redo_of_many_steps_are_exact(sim: Sim) -> None:
    versions = [content(sim)]
    first = receive(sim, "one", cc_addresses=["bob@example.com"])
    versions.append(content(sim))
    second = receive(sim, "two", in_reply_to=first)
    versions.append(content(sim))
    for path, more in (
        ("read", {}),
        ("star", {}),
        ("label", {"labels": ["work", "home"]}),
        ("unlabel", {"labels": ["work"]}),
        ("move", {"folder": "projects"}),
        ("archive", {}),
        ("delete", {}),
        ("delete", {}),
    ):
        sim.do(f"/email/{path}", message_ids=[first], **more)
        versions.append(content(sim))
    sim.do("/email/unstar", message_ids=[second])
    versions.append(content(sim))
    steps = len(versions) - 1
    for version in reversed(versions[:-1]):
        undone = sim.ok("POST", "/simulation/undo")
        assert undone["undone_count"] == 1
        # Compared as text: the order of entries shows in answers, so it must come back too.
        assert str(content(sim)) == str(version)
    assert (undone["can_undo"], undone["can_redo"]) == (False, True)
    assert undone["undone_events"][0]["action"] == "receive"
    for version in versions[1:]:
        assert sim.ok("POST", "/simulation/redo")["redone_count"] == 1
        assert str(content(sim)) == str(version)
    assert sim.ok("POST", "/simulation/undo", {"count": 100})["undone_count"] == steps
    assert str(content(sim)) == str(versions[0])
    nothing = sim.ok("POST", "/simulation/undo")
    assert (nothing["undone_count"], bool(nothing["message"])) == (0, True)
    assert sim.post("/simulation/undo", json={"count": 0}).status_code == 422
    assert sim.post("/simulation/undo", json={"count": 101}).status_code == 422
    assert sim.post("/simulation/undo", content=b"null").status_code == 200


def test_a_new_event_ends_what_could_be_redone(sim: Sim) -> None:
    receive(sim)
    sim.ok("POST", "/simulation/undo")
    receive(sim, "other")
    assert sim.ok("POST", "/simulation/redo")["redone_count"] == 0


def test_reset_undoes_everything_and_every_event_is_pending_again(sim: Sim) -> None:
    """Contract, "What 0.1 does that the schema doesn't say": the clock keeps its time and scale and is not paused."""
    before = content(sim)
    sim.event("chat", {"role": "user", "content": "hi"}, seconds=5)
    gone = sim.event("chat", {"role": "user", "content": "never"}, seconds=7)
    sim.ok("DELETE", f"/events/{gone['event_id']}")
    sim.advance(10)
    sim.ok("POST", "/simulator/time/set-scale", {"scale": 5})
    sim.ok("POST", "/simulator/time/pause")
    answer = sim.ok("POST", "/simulation/reset")
    assert (answer["events_undone"], answer["cleared_events"], answer["undo_errors"]) == (1, 2, [])
    assert "2 event(s)" in answer["message"]
    assert content(sim) == before
    clock = sim.ok("GET", "/simulator/time")
    assert (clock["current_time"], clock["time_scale"], clock["is_paused"]) == (at(10), 5.0, False)
    assert [event["status"] for event in sim.ok("GET", "/events")["events"]] == ["pending"] * 2
    assert sim.run_due()["executed_events"] == 2
    assert len(sim.state("chat")["messages"]) == 2


def test_clear_removes_everything(sim: Sim) -> None:
    receive(sim)
    sim.ok("POST", "/simulation/hold", {"agent_id": "a", "reason": "r"})
    answer = sim.ok("POST", "/simulation/clear", {"reset_time_to": at(1000)})
    assert (answer["events_removed"], answer["time_reset"], answer["current_time"]) == (1, at(1000), at(1000))
    assert answer["modalities_cleared"] == sim.ok("GET", "/environment/modalities")["count"]
    assert sim.state("email")["emails"] == {}
    assert sim.ok("GET", "/events")["total"] == 0
    assert sim.ok("GET", "/simulation/holds")["active_count"] == 0
    plain = sim.ok("POST", "/simulation/clear")
    assert (plain["time_reset"], plain["current_time"]) == (None, at(1000))
    assert sim.post("/simulation/clear", json={"reset_time_to": "tomorrow"}).status_code == 400


def test_holds_keep_the_clock_still_until_released_or_expired(sim: Sim) -> None:
    hold = sim.ok("POST", "/simulation/hold", {"agent_id": "green", "reason": "thinking"})
    assert (hold["timeout_seconds"], hold["active_hold_count"]) == (30, 1)
    sim.event("chat", {"role": "user", "content": "hi"}, seconds=5)
    for path, body in (
        ("advance", {"seconds": 1}),
        ("set", {"target_time": at(5)}),
        ("skip-to-next", None),
    ):
        held = sim.post(f"/simulator/time/{path}", json=body)
        assert held.status_code == 409
        assert held.json()["detail"]["active_holds"][0]["hold_id"] == hold["hold_id"]
        assert held.json()["detail"]["message"]
    receive(sim)
    assert sim.ok("POST", f"/simulation/release/{hold['hold_id']}") == {
        "released": True,
        "hold_id": hold["hold_id"],
        "active_hold_count": 0,
    }
    assert sim.post(f"/simulation/release/{hold['hold_id']}").status_code == 404
    sim.ok("POST", "/simulation/hold", {"agent_id": "green", "reason": "r", "timeout_seconds": 0.05})
    time.sleep(0.1)
    assert sim.ok("GET", "/simulation/holds") == {"holds": [], "active_count": 0}
    sim.advance(1)
    for bad in (0, -1, 301, "x"):
        given = {"agent_id": "a", "reason": "r", "timeout_seconds": bad}
        assert sim.post("/simulation/hold", json=given).status_code == 422


def test_reset_reaches_what_was_undone_for_good(sim: Sim) -> None:
    """An undone event that a later one made impossible to redo has run all the same."""
    sim.event("chat", {"role": "user", "content": "one"}, seconds=5)
    sim.event("chat", {"role": "user", "content": "two"}, seconds=6)
    sim.advance(10)
    sim.ok("POST", "/simulation/undo")
    sim.ok("POST", "/chat/send", {"role": "user", "content": "three"})
    copy = sim.server.new_simulation()
    copy.post("/simulation/restore", content=sim.get("/simulation/checkpoint").content).raise_for_status()
    for simulation in (sim, copy):
        answer = simulation.ok("POST", "/simulation/reset")
        assert (answer["events_undone"], answer["cleared_events"]) == (2, 3)
        assert [event["status"] for event in simulation.ok("GET", "/events")["events"]] == ["pending"] * 3
    copy.delete_me()


def test_reset_makes_what_a_scenario_brought_as_done_pending_too(sim: Sim) -> None:
    """What it did is part of the imported state, and stays."""
    sim.ok("POST", "/chat/send", {"role": "user", "content": "hi"})
    sim.ok("POST", "/chat/delete", {"message_id": "nope"})
    sim.ok("POST", "/scenario/import/full", {"scenario": sim.export()})
    sim.ok("POST", "/chat/send", {"role": "user", "content": "later"})
    answer = sim.ok("POST", "/simulation/reset")
    assert (answer["events_undone"], answer["cleared_events"]) == (1, 3)
    assert [event["status"] for event in sim.ok("GET", "/events")["events"]] == ["pending"] * 3
    assert [message["content"] for message in sim.state("chat")["messages"]] == ["hi"]


def test_the_clock_of_a_stopped_or_paused_simulation_does_not_move(sim: Sim) -> None:
    schedule = {"modality": "chat", "data": {"role": "user", "content": "hi"}, "scheduled_time": at(5)}
    sim.ok("POST", "/events", schedule)
    moves = [("advance", {"seconds": 9}), ("set", {"target_time": at(9)}), ("skip-to-next", None)]
    for path, body in moves:
        refused = sim.post(f"/simulator/time/{path}", json=body)
        assert (refused.status_code, "start it" in refused.json()["detail"]) == (400, True)
    sim.ok("POST", "/simulation/start", {})
    sim.ok("POST", "/simulator/time/pause")
    refused = sim.post("/simulator/time/advance", json={"seconds": 9})
    assert (refused.status_code, "resume it" in refused.json()["detail"]) == (400, True)
    assert sim.ok("GET", "/simulator/time")["current_time"] == START
    assert sim.ok("GET", "/events/summary")["pending"] == 1
    sim.ok("POST", "/simulator/time/resume")
    assert sim.ok("POST", "/simulator/time/advance", {"seconds": 9})["events_executed"] == 1
