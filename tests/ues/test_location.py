"""Where the user is, and was."""

from typing import Any

import pytest

from tests.sentences import says
from tests.ues.helpers import START, Sim, at

UNKNOWN = dict.fromkeys(
    ("latitude", "longitude", "address", "named_location", "altitude", "accuracy", "speed", "bearing")
)


def advance(sim: Sim, seconds: float) -> None:
    sim.advance(seconds)


def walk(sim: Sim) -> None:
    """Home, the street, work, ten seconds each."""
    sim.do("/location/update", latitude=52.5, longitude=13.4, named_location="Home", altitude=30)
    advance(sim, 10)
    sim.do("/location/update", latitude=52.6, longitude=13.3, speed=1.4)
    advance(sim, 10)
    sim.do("/location/update", latitude=52.4, longitude=13.5, named_location="Work", altitude=10)


def found(sim: Sim, **request: Any) -> list[float]:
    return [place["latitude"] for place in sim.query("location", **request)["locations"]]


def test_a_new_user_is_nowhere(sim: Sim) -> None:
    assert sim.state("location") == {
        "modality_type": "location",
        "current_time": START,
        "last_updated": START,
        "update_count": 0,
        "current": {"timestamp": START, **UNKNOWN},
        "history": [],
    }
    assert sim.query("location") == {
        "locations": [],
        "count": 0,
        "total_count": 0,
        "returned_count": 0,
        "query": {"offset": 0, "include_current": True, "sort_by": "timestamp", "sort_order": "desc"},
    }


def test_moving(sim: Sim) -> None:
    walk(sim)
    state = sim.state("location")
    assert state["current"] == {
        **UNKNOWN,
        "timestamp": at(20),
        "latitude": 52.4,
        "longitude": 13.5,
        "named_location": "Work",
        "altitude": 10,
    }
    assert [(entry["timestamp"], entry["named_location"], entry["speed"]) for entry in state["history"]] == [
        (START, "Home", None),
        (at(10), None, 1.4),
    ]
    assert (state["update_count"], state["last_updated"]) == (3, at(20))
    assert sim.state("location", compact="true") == {**state, "history": []}


def test_the_history_keeps_the_newest(sim: Sim) -> None:
    walk(sim)
    file = sim.export()
    file["environment"]["modality_states"]["location"]["max_history_size"] = 2
    sim.ok("POST", "/scenario/import/full", {"scenario": file})
    sim.do("/location/update", latitude=1, longitude=1)
    assert [entry["latitude"] for entry in sim.state("location")["history"]] == [52.6, 52.4]
    sim.ok("POST", "/simulation/undo")
    assert [entry["latitude"] for entry in sim.state("location")["history"]] == [52.5, 52.6]


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({}, [52.4, 52.6, 52.5]),
        ({"sort_order": "asc"}, [52.5, 52.6, 52.4]),
        ({"include_current": False}, [52.6, 52.5]),
        ({"named_location": "hOmE"}, [52.5]),
        ({"named_location": "Hom"}, []),
        ({"since": at(10)}, [52.4, 52.6]),
        ({"until": at(10)}, [52.6, 52.5]),
        ({"since": at(5), "until": at(15)}, [52.6]),
        ({"sort_by": "latitude"}, [52.6, 52.5, 52.4]),
        ({"sort_by": "altitude", "sort_order": "asc"}, [52.4, 52.5, 52.6]),
        ({"sort_by": "altitude"}, [52.5, 52.4, 52.6]),
        ({"limit": 1, "offset": 1}, [52.6]),
        ({"offset": None, "limit": None}, [52.4, 52.6, 52.5]),
    ],
)
def test_queries(sim: Sim, request_: dict[str, Any], expected: list[float]) -> None:
    walk(sim)
    assert found(sim, **request_) == expected


def test_a_page_says_how_much_there_is(sim: Sim) -> None:
    walk(sim)
    answer = sim.query("location", limit=2)
    assert (answer["count"], answer["returned_count"], answer["total_count"]) == (2, 2, 3)
    assert [place["is_current"] for place in answer["locations"]] == [True, False]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"limit": 0}, 422),
        ({"limit": 1001}, 422),
        ({"offset": -1}, 422),
        ({"sort_by": "mood"}, 400),
        ({"sort_order": "sideways"}, 400),
        ({"since": "yesterday"}, 422),
    ],
)
def test_queries_that_make_no_sense(sim: Sim, body: dict[str, Any], status: int) -> None:
    assert sim.post("/location/query", json=body).status_code == status


@pytest.mark.parametrize(
    ("field", "value"), [("latitude", 90.01), ("longitude", -180.5), ("latitude", 1e308), ("longitude", None)]
)
def test_places_that_are_not_on_earth(sim: Sim, field: str, value: Any) -> None:
    answer = sim.post("/location/update", json={"latitude": 0, "longitude": 0, field: value})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", field]
    event = {"modality": "location", "data": {"latitude": 0, "longitude": 0, field: value}}
    assert sim.post("/events/immediate", json=event).status_code == (400 if value is None else 422)
    assert sim.post("/events", json={**event, "scheduled_time": at(5)}).status_code == (400 if value is None else 422)
    assert sim.ok("GET", "/events")["total"] == 0
    assert sim.state("location")["update_count"] == 0


def test_the_user_moves_by_events(sim: Sim) -> None:
    sim.event("location", {"latitude": 1, "longitude": 2, "address": "There"}, seconds=30)
    advance(sim, 60)
    current = sim.state("location")["current"]
    assert (current["timestamp"], current["address"]) == (at(30), "There")


def test_a_participant_reads_but_does_not_move(sim: Sim) -> None:
    participant = sim.participant()
    assert participant.get("/location/state").status_code == 200
    assert participant.post("/location/query", json={}).status_code == 200
    assert participant.post("/location/update", json={"latitude": 1, "longitude": 1}).status_code == 403


def test_a_file_may_leave_out_all_but_the_place(sim: Sim) -> None:
    states = {"location": {"current_latitude": 1.5, "current_longitude": 2.5}}
    sim.ok("POST", "/scenario/import/environment", {"data": {"modality_states": states}})
    assert sim.state("location")["current"] == {**UNKNOWN, "timestamp": START, "latitude": 1.5, "longitude": 2.5}


def test_inconsistent_states_are_reported(sim: Sim) -> None:
    history = [{"timestamp": START, "latitude": 100, "longitude": 0}]
    states = {"location": {"current_latitude": 1, "location_history": history}}
    sim.ok("POST", "/scenario/import/environment", {"data": {"modality_states": states}})
    errors = sim.ok("POST", "/environment/validate")["errors"]
    assert len(errors) == 2
    assert all(error.startswith("location: ") for error in errors)


def test_a_fact_stays_on_its_line_of_the_page(sim: Sim) -> None:
    sim.do("/location/update", latitude=1, longitude=2, named_location="The\nold\n  mill")
    text = sim.get("/environment/state", params={"compact": "true", "format": "text"}).text
    assert [line for line in text.splitlines() if "mill" in line] == [
        says("1.0000", "2.0000"),
        "  current: The old mill (1.0000, 2.0000)",
    ]
