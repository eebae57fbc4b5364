"""The clock and the events it passes."""

import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.sentences import says
from tests.ues.helpers import START, Sim, at
from tests.waiting import wait_until


def mail(subject: str, **fields: Any) -> dict[str, Any]:
    return {"operation": "receive", "from_address": "ann@example.com", "subject": subject, "body_text": "x", **fields}


def subjects(sim: Sim) -> list[str]:
    return [email["subject"] for email in sim.state("email")["emails"].values()]


def schedule(sim: Sim, subject: str, seconds: float, **fields: Any) -> Any:
    return sim.event("email", mail(subject), seconds=seconds, **fields)


def test_a_new_clock_stands_still(sim: Sim) -> None:
    assert sim.ok("GET", "/simulator/time") == {
        "current_time": START,
        "time_scale": 1.0,
        "is_paused": False,
        "auto_advance": False,
        "mode": "manual",
    }


def test_advance_runs_what_is_due_at_its_own_time(sim: Sim) -> None:
    event = schedule(sim, "one", 10)
    later = schedule(sim, "two", 60)
    answer = sim.advance(30)
    assert answer == {
        "previous_time": START,
        "current_time": at(30),
        "time_advanced": "0:00:30",
        "events_executed": 1,
        "events_failed": 0,
        "execution_details": [
            {"event_id": event["event_id"], "modality": "email", "status": "executed", "error": None}
        ],
    }
    ran = sim.ok("GET", f"/events/{event['event_id']}")
    assert (ran["status"], ran["executed_at"]) == ("executed", at(10))
    assert sim.ok("GET", f"/events/{later['event_id']}")["status"] == "pending"
    (email,) = sim.state("email")["emails"].values()
    assert email["received_at"] == at(10)


def steps_at_once(sim: Sim) -> None:
    sim.advance(100)


def steps_small(sim: Sim) -> None:
    for _ in range(40):
        sim.advance(2.5)


def steps_skipping(sim: Sim) -> None:
    while sim.ok("GET", "/events/summary")["next_event_time"]:
        sim.skip()


def steps_set(sim: Sim) -> None:
    sim.set_time(at(100))


@pytest.mark.parametrize("move", [steps_at_once, steps_small, steps_skipping, steps_set])
def test_the_order_of_events_is_the_same_however_time_is_moved(sim: Sim, move: Callable[[Sim], None]) -> None:
    for subject, seconds, priority in (
        ("d", 20, 50),
        ("b", 10, 10),
        ("e", 20, 50),
        ("a", 10, 90),
        ("c", 20, 51),
        ("f", 100, 0),
    ):
        schedule(sim, subject, seconds, priority=priority)
    move(sim)
    assert subjects(sim) == list("abcdef")
    listed = sim.ok("GET", "/events")
    assert [event["data"]["subject"] for event in listed["events"]] == list("abcdef")
    assert (listed["total"], listed["executed"], listed["pending"]) == (6, 6, 0)


def test_set_refuses_the_past_and_impossible_instants(sim: Sim) -> None:
    sim.ok("POST", "/simulation/start", {})
    past = sim.post("/simulator/time/set", json={"target_time": at(-1)})
    assert past.status_code == 400
    assert "runs forwards" in past.json()["detail"]
    for seconds in (1e300, 1e12):
        assert sim.post("/simulator/time/advance", json={"seconds": seconds}).status_code == 400
    refused: list[object] = [0, -1, "x", None, [], True and "NaN"]
    for wrong in refused:
        assert sim.post("/simulator/time/advance", json={"seconds": wrong}).status_code == 422
    naive = sim.ok("POST", "/simulator/time/set", {"target_time": "2025-01-06T10:00:00"})
    assert naive["current_time"] == at(3600)
    offset = sim.ok("POST", "/simulator/time/set", {"target_time": "2025-01-06T13:00:00+02:00"})
    assert offset["current_time"] == at(7200)


def test_a_failed_event_says_why_and_leaves_no_trace(sim: Sim) -> None:
    before = sim.state("email")
    event = sim.event("email", {"operation": "mark_read", "message_ids": ["nope"]}, seconds=1)
    answer = sim.advance(1)
    assert (answer["events_executed"], answer["events_failed"]) == (0, 1)
    assert "nope" in answer["execution_details"][0]["error"]
    failed = sim.ok("GET", f"/events/{event['event_id']}")
    assert failed["status"] == "failed"
    assert "nope" in failed["error_message"]
    assert {**sim.state("email"), "current_time": None} == {**before, "current_time": None}
    assert sim.ok("POST", "/simulation/undo")["undone_count"] == 0


def test_an_event_of_a_file_whose_data_do_not_fit_fails_with_the_fields_name(sim: Sim) -> None:
    event = {"modality": "email", "data": {"operation": "mark_read", "message_ids": 5}, "scheduled_time": at(1)}
    sim.ok("POST", "/scenario/import/events", {"data": {"events": [event]}})
    sim.advance(1)
    (failed,) = sim.ok("GET", "/events")["events"]
    assert failed["status"] == "failed"
    assert says("data.message_ids").within(failed["error_message"])
    assert "unexpected" not in failed["error_message"]


def test_a_failed_event_is_no_executed_one_however_time_is_moved(sim: Sim) -> None:
    sim.ok("POST", "/simulation/start", {})
    for path, body in (
        ("advance", {"seconds": 1}),
        ("set", {"target_time": at(2)}),
        ("skip-to-next", None),
    ):
        seconds = 1 + sim.ok("GET", "/simulation/status")["failed_events"]
        schedule(sim, "good", seconds)
        sim.event("email", {"operation": "mark_read", "message_ids": ["nope"]}, seconds=seconds)
        answer = sim.ok("POST", f"/simulator/time/{path}", body)
        assert answer.get("events_executed", answer.get("executed_events")) == 1, path
    status = sim.ok("GET", "/simulation/status")
    assert (status["executed_events"], status["failed_events"]) == (3, 3)


def test_scheduling_checks_modality_time_and_data(sim: Sim) -> None:
    def post(**fields: Any) -> httpx.Response:
        body = {"modality": "email", "scheduled_time": at(5), "data": mail("x"), **fields}
        return sim.post("/events", json=body)

    unknown = post(modality="telex")
    assert (unknown.status_code, unknown.json()["requested_modality"]) == (404, "telex")
    assert post(scheduled_time=at(-5)).status_code == 400
    assert post(priority=101).status_code == 422
    bad = post(data={"operation": "explode"})
    assert bad.status_code == 400
    assert "body.data.operation" in bad.json()["detail"]
    assert post(data={**mail("x"), "modality_type": "sms"}).status_code == 400
    for missing in ("from_address", "subject", "body_text"):
        data = {name: value for name, value in mail("x").items() if name != missing}
        for path in ("/events", "/events/immediate"):
            refused = sim.post(path, json={"modality": "email", "scheduled_time": at(5), "data": data})
            assert (refused.status_code, refused.json()["detail"]) == (400, f"body.data: receive needs {missing}.")
    backwards = {"operation": "create", "title": "x", "start": at(60), "end": at(0)}
    refused = sim.post("/events/immediate", json={"modality": "calendar", "data": backwards})
    assert refused.status_code == 400
    assert says("body.data", "2025").within(refused.json()["detail"]), refused.text
    now = sim.post("/events/immediate", json={"modality": "telex", "data": {}})
    assert (now.status_code, "email" in now.json()["available_modalities"]) == (404, True)
    assert sim.get("/events", params={"status": "done"}).status_code == 400
    assert sim.ok("GET", "/events")["total"] == 0


def test_an_event_carries_its_agent_and_its_key(sim: Sim) -> None:
    key = sim.key("events:*")
    event = key.event("email", mail("x"), seconds=1)
    assert (event["agent_id"], event["metadata"]["created_by_key"]) == (key.key_id, key.key_id)
    named = key.event("email", mail("y"), seconds=1, agent_id="green", metadata={"turn": 3})
    assert (named["agent_id"], named["metadata"]) == ("green", {"turn": 3, "created_by_key": key.key_id})
    assert named["priority"] == 50
    now = key.ok("POST", "/events/immediate", {"modality": "email", "data": mail("z")})
    assert (now["status"], now["priority"], now["scheduled_time"]) == ("pending", 100, START)
    assert sim.state("email")["emails"] == {}
    assert sim.advance(0.5)["events_executed"] == 1


def test_listing_filters_and_pages(sim: Sim) -> None:
    for n in range(5):
        schedule(sim, str(n), n + 1)
    sim.event("chat", {"role": "user", "content": "hi"}, seconds=2)
    sim.advance(2)

    def listed(**params: Any) -> list[str]:
        return [e["data"].get("subject", "chat") for e in sim.ok("GET", "/events", **params)["events"]]

    assert listed(status="pending") == ["2", "3", "4"]
    assert listed(modality="chat") == ["chat"]
    assert listed(start_time=at(2), end_time=at(3)) == ["1", "chat", "2"]
    assert listed(limit=2, offset=1) == ["1", "chat"]
    summary = sim.ok("GET", "/events/summary")
    assert summary["by_modality"] == {"email": 5, "chat": 1}
    assert summary["next_event_time"] == at(3)
    assert sim.ok("GET", "/events/next")["data"]["subject"] == "2"
    assert sim.get("/events", params={"limit": 0}).status_code == 422
    assert sim.get("/events", params={"start_time": "yesterday"}).status_code == 422


def test_deleting_takes_a_pending_event_out_of_the_queue(sim: Sim) -> None:
    event = schedule(sim, "gone", 5)
    assert sim.ok("DELETE", f"/events/{event['event_id']}")["cancelled"] is True
    sim.advance(10)
    assert subjects(sim) == []
    assert sim.delete(f"/events/{event['event_id']}").status_code == 409
    assert sim.delete("/events/nope").status_code == 404
    assert sim.get("/events/nope").status_code == 404
    assert sim.get("/events/next").status_code == 404
    sim.ok("POST", "/simulation/start", {})
    assert sim.post("/simulator/time/skip-to-next").status_code == 404


def test_batches(sim: Sim) -> None:
    good = {"modality": "email", "scheduled_time": at(5), "data": mail("x")}
    bad = {"modality": "telex", "scheduled_time": at(5), "data": {}}

    def batch(*events: Any, **fields: Any) -> httpx.Response:
        return sim.post("/events/batch", json={"events": events, **fields})

    all_good = batch(good, good)
    assert all_good.status_code == 201
    assert (all_good.json()["total_submitted"], all_good.json()["total_created"]) == (2, 2)
    some = batch(good, bad, {"nonsense": 1}, good)
    assert some.status_code == 207
    assert [item["success"] for item in some.json()["events"]] == [True, False, False, True]
    assert [item["event_id"] is None for item in some.json()["events"]] == [False, True, True, False]
    assert "telex" in some.json()["events"][1]["error"]
    assert batch(bad, good, stop_on_first_error=True).status_code == 400
    stopped = batch(good, bad, good, stop_on_first_error=True)
    assert (stopped.status_code, stopped.json()["total_created"]) == (207, 1)
    dry = batch(good, bad, validate_only=True)
    assert (dry.status_code, dry.json()["total_failed"], dry.json()["total_created"]) == (200, 1, 0)
    assert sim.ok("GET", "/events")["total"] == 5
    assert batch(*[good] * 1001).status_code == 422


def test_auto_advance_follows_the_wall_clock_and_stands_still_when_paused_or_held(sim: Sim) -> None:
    schedule(sim, "soon", 100)
    sim.ok("POST", "/simulation/start", {"auto_advance": True, "time_scale": 1000})
    assert sim.ok("GET", "/simulator/time")["mode"] == "auto_advance"
    time.sleep(0.3)
    assert sim.ok("GET", "/simulator/time")["current_time"] > at(250)
    assert subjects(sim) == ["soon"]
    paused = sim.ok("POST", "/simulator/time/pause")
    assert (paused["is_paused"], paused["mode"]) == (True, "paused")
    time.sleep(0.05)
    assert sim.ok("GET", "/simulator/time")["current_time"] == paused["current_time"]
    resumed = sim.ok("POST", "/simulator/time/resume")
    assert resumed["current_time"] == paused["current_time"]
    hold = sim.ok("POST", "/simulation/hold", {"agent_id": "a", "reason": "thinking", "timeout_seconds": 300})
    held = sim.ok("GET", "/simulator/time")["current_time"]
    time.sleep(0.05)
    assert sim.ok("GET", "/simulator/time")["current_time"] == held
    sim.ok("POST", "/simulation/hold", {"agent_id": "a", "reason": "thinking", "timeout_seconds": 0.05})
    sim.ok("POST", f"/simulation/release/{hold['hold_id']}")
    assert wait_until(lambda: sim.ok("GET", "/simulator/time")["current_time"] > held)
    assert sim.ok("POST", "/simulator/time/set-scale", {"scale": 2})["time_scale"] == 2
    sim.ok("POST", "/simulation/stop")
    still = sim.ok("GET", "/simulator/time")
    time.sleep(0.05)
    assert sim.ok("GET", "/simulator/time") == still
