"""Scenario files, in and out."""

from typing import Any

import httpx

from tests.ues.helpers import START, Sim, at, receive

CHAT = {"role": "user", "content": "hi"}


def event(seconds: float, **fields: Any) -> dict[str, Any]:
    return {
        "event_id": f"old-{seconds}",
        "scheduled_time": at(seconds),
        "modality": "chat",
        "data": {**CHAT, "timestamp": at(seconds)},
        "status": "pending",
        "created_at": START,
        **fields,
    }


def load(sim: Sim, kind: str, **body: Any) -> httpx.Response:
    return sim.post(f"/scenario/import/{kind}", json=body)


def test_the_exported_shape(sim: Sim) -> None:
    receive(sim)
    sim.event("chat", CHAT, seconds=5)
    file = sim.export()
    assert {"ues_version", "scenario_version", "created_at"} <= file["metadata"].keys()
    assert file["metadata"]["scenario_version"] == "1"
    assert file["environment"].keys() == {"time_state", "modality_states"}
    assert file["environment"]["time_state"].keys() == {
        "current_time",
        "time_scale",
        "is_paused",
        "last_wall_time_update",
        "auto_advance",
    }
    assert list(file["environment"]["modality_states"]["email"]) == [
        "last_updated",
        "update_count",
        "modality_type",
        "emails",
        "threads",
        "folders",
        "labels",
        "drafts",
        "user_email_address",
    ]
    assert [e["status"] for e in file["events"]["events"]] == ["executed", "pending"]
    assert file["events"]["events"][0].keys() == {
        "event_id",
        "scheduled_time",
        "modality",
        "data",
        "status",
        "created_at",
        "executed_at",
        "agent_id",
        "priority",
        "error_message",
        "metadata",
    }
    assert sim.ok("GET", "/scenario/export/environment") == file["environment"]
    assert sim.ok("GET", "/scenario/export/events") == file["events"]


def test_a_full_import_sets_everything_anew(sim: Sim) -> None:
    receive(sim)
    scenario = {
        "metadata": {"ues_version": "0.2", "scenario_version": "1", "author": "Ann", "created_at": START},
        "environment": {
            "time_state": {"current_time": "2024-05-01T10:00:00+02:00", "nonsense": 1},
            "modality_states": {"chat": {"last_updated": START, "unknown_field": 1}},
        },
        "events": {"events": [event(10, agent_id="ann", priority=70, metadata={"a": 1}), event(5, status="executed")]},
    }
    result = load(sim, "full", scenario=scenario).json()
    assert result == {
        "success": True,
        "environment_loaded": True,
        "events_loaded": 2,
        "modalities_loaded": ["chat"],
        "modalities_skipped": [],
        "warnings": [],
        "scenario_metadata": scenario["metadata"],
    }
    assert sim.ok("GET", "/simulator/time")["current_time"] == "2024-05-01T08:00:00+00:00"
    assert sim.state("email")["emails"] == {}
    events = sim.ok("GET", "/events")["events"]
    assert [e["status"] for e in events] == ["executed", "pending"]
    assert (events[1]["agent_id"], events[1]["priority"], events[1]["metadata"]) == ("ann", 70, {"a": 1})
    assert not {e["event_id"] for e in events} & {"old-5", "old-10"}
    assert sim.ok("POST", "/simulation/undo")["undone_count"] == 0
    assert sim.export()["metadata"]["author"] == "Ann"
    sim.set_time(at(10))
    assert len(sim.state("chat")["messages"]) == 1


def test_every_form_of_wrapping_is_read(sim: Sim) -> None:
    environment: dict[str, Any] = {"time_state": {"current_time": at(100)}}
    events: dict[str, Any] = {"events": [event(200)]}
    file: dict[str, Any] = {"environment": environment, "events": events}
    for body in ({"scenario": file}, {"scenario": {"scenario": file}}, file):
        assert load(sim, "full", **body).json()["events_loaded"] == 1
    for data in (environment, {"environment": environment}, {"scenario": file}, file):
        assert load(sim, "environment", data=data).json()["environment_loaded"] is True
        assert sim.ok("GET", "/simulator/time")["current_time"] == at(100)
        assert load(sim, "environment", data={"time_state": {"current_time": START}}).status_code == 200
    for data in (events, {"scenario": file}, file):
        assert load(sim, "events", data=data).json()["events_loaded"] == 1
    assert sim.ok("GET", "/events")["total"] == 1


def test_events_replace_or_merge(sim: Sim) -> None:
    load(sim, "events", data={"events": [event(1)]})
    load(sim, "events", data={"events": [event(2)]}, merge=True)
    assert sim.ok("GET", "/events")["total"] == 2
    load(sim, "events", data={"events": [event(3)]})
    assert sim.ok("GET", "/events")["total"] == 1


def test_what_becomes_of_events_before_the_new_time(sim: Sim) -> None:
    for handling, pending, messages in (("ignore", 2, 0), ("delete", 1, 0), ("apply", 1, 1)):
        load(sim, "environment", data={"time_state": {"current_time": START}, "modality_states": {}})
        load(sim, "events", data={"events": [event(10), event(100)]})
        body = {"data": {"time_state": {"current_time": at(50)}}, "historic_event_handling": handling}
        result = load(sim, "environment", **body)
        assert result.status_code == 200
        assert bool(result.json()["warnings"]) == (handling == "ignore")
        assert sim.ok("GET", "/events/summary")["pending"] == pending
        assert len(sim.state("chat")["messages"]) == messages
        assert sim.ok("GET", "/simulator/time")["current_time"] == at(50)
    assert load(sim, "environment", data={}, historic_event_handling="x").status_code == 422


def test_unknown_modalities(sim: Sim) -> None:
    scenario = {
        "environment": {"modality_states": {"telex": {}, "chat": {}}},
        "events": {"events": [event(1), event(2, modality="telex")]},
    }
    result = load(sim, "full", scenario=scenario).json()
    assert (result["modalities_skipped"], result["events_loaded"], len(result["warnings"])) == (["telex"], 1, 2)
    strict = load(sim, "full", scenario=scenario, strict_modalities=True)
    assert strict.status_code == 400
    assert "telex" in strict.json()["detail"]
    assert load(sim, "environment", data=scenario["environment"], strict_modalities=True).status_code == 400


def test_a_bad_file_is_refused_and_changes_nothing(sim: Sim) -> None:
    receive(sim)
    before = sim.export()["environment"]["modality_states"]
    for path, scenario in (
        (
            ["environment", "modality_states", "email", "emails"],
            {"environment": {"modality_states": {"email": {"emails": 5}}}},
        ),
        (["environment", "modality_states", "chat"], {"environment": {"modality_states": {"chat": 5}}}),
        (["environment", "time_state", "current_time"], {"environment": {"time_state": {"current_time": "x"}}}),
        (["environment", "modality_states"], {"environment": {"modality_states": []}}),
        (["events", "events", 0, "data"], {"events": {"events": [event(1, data=5)]}}),
        (["events", "events", 0, "scheduled_time"], {"events": {"events": [event(1, scheduled_time=None)]}}),
        (["events", "events"], {"events": {"events": 5}}),
        (["environment"], {"environment": 5}),
    ):
        answer = load(sim, "full", scenario=scenario)
        assert answer.status_code == 422, scenario
        assert answer.json()["detail"][0]["loc"][: len(path) + 2] == ["body", "scenario", *path]
    assert sim.export()["environment"]["modality_states"] == before
    assert load(sim, "full").status_code == 422
    assert load(sim, "events", data={}).status_code == 422
    doomed = load(sim, "events", data={"events": [event(1, data={"role": "nobody"})]}).json()
    assert "will fail" in doomed["warnings"][0]


def test_imports_need_a_stopped_simulation(sim: Sim) -> None:
    sim.ok("POST", "/simulation/start", {})
    for kind, body in (("full", {"scenario": {}}), ("environment", {"data": {}}), ("events", {"data": {"events": []}})):
        assert load(sim, kind, **body).status_code == 409


def test_what_may_be_missing_may_be_null(sim: Sim) -> None:
    nulls = {"status": None, "created_at": None, "priority": None, "metadata": None, "agent_id": None}
    scenario = {
        "environment": {
            "time_state": {"current_time": START, "time_scale": None, "is_paused": None, "auto_advance": None},
            "modality_states": {
                "location": {"location_history": None, "max_history_size": None, "update_count": None},
                "weather": {"locations": None, "max_history_per_location": None},
                "time": {"timezone": None, "format_preference": None, "settings_history": None, "last_updated": None},
            },
        },
        "events": {"events": [event(5, **nulls)]},
    }
    assert load(sim, "full", scenario=scenario).json()["warnings"] == []
    states = sim.export()["environment"]["modality_states"]
    assert (states["location"]["location_history"], states["location"]["max_history_size"]) == ([], 100)
    assert (states["time"]["timezone"], states["time"]["format_preference"]) == ("UTC", "12h")
    (loaded,) = sim.ok("GET", "/events")["events"]
    assert (loaded["status"], loaded["priority"], loaded["metadata"]) == ("pending", 50, {})
    needed = {"time_state": {"current_time": None}}
    assert load(sim, "environment", data=needed).status_code == 422
