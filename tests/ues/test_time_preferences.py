"""How the user wants time to be told. No routes of its own: events change it, ``/environment`` shows it."""

from typing import Any

import pytest

from tests.sentences import says
from tests.ues.helpers import START, Sim, at


def state(sim: Sim) -> Any:
    return sim.ok("GET", "/environment/modalities/time")["state"]


def query(sim: Sim, **body: Any) -> list[str]:
    return [s["timezone"] for s in sim.ok("POST", "/environment/modalities/time/query", body)["results"]["settings"]]


def test_the_defaults(sim: Sim) -> None:
    assert state(sim) == {
        "modality_type": "time",
        "last_updated": START,
        "update_count": 0,
        "timezone": "UTC",
        "format_preference": "12h",
        "date_format": None,
        "locale": None,
        "week_start": None,
        "settings_history": [],
        "max_history_size": 50,
    }


def test_changing_them(sim: Sim) -> None:
    sim.event("time", {"timezone": "Asia/Tokyo", "format_preference": "24h", "locale": "ja"}, seconds=10)
    sim.event("time", {"timezone": "Asia/Tokyo", "format_preference": "12h"}, seconds=20)
    sim.advance(3600)
    now = state(sim)
    assert (now["timezone"], now["format_preference"], now["locale"]) == ("Asia/Tokyo", "12h", "ja")
    page = sim.ok("GET", "/environment/state", compact="true")
    assert page["modalities"]["time"]["local_time"] == "2025-01-06T19:00:00+09:00"
    assert [(s["timestamp"], s["timezone"], s["format_preference"]) for s in now["settings_history"]] == [
        (START, "UTC", "12h"),
        (at(10), "Asia/Tokyo", "24h"),
    ]
    assert query(sim) == ["Asia/Tokyo", "Asia/Tokyo", "UTC"]
    assert query(sim, sort_order="asc", limit=1) == ["UTC"]
    assert query(sim, include_current=False, timezone="Asia/Tokyo") == ["Asia/Tokyo"]
    assert query(sim, until=at(9)) == ["UTC"]
    assert query(sim, since=at(15)) == ["Asia/Tokyo"]


@pytest.mark.parametrize("zone", ["Mars/Base", "", "../../etc/passwd", "/etc/passwd", "Europe", "a\x00b", "x" * 5000])
def test_zones_that_do_not_exist(sim: Sim, zone: str) -> None:
    event = sim.event("time", {"timezone": zone, "format_preference": "24h"})
    assert event["status"] == "failed"
    assert "time zone" in event["error_message"]
    assert state(sim)["settings_history"] == []


@pytest.mark.parametrize(("field", "value"), [("format_preference", "am"), ("week_start", "friday"), ("timezone", 1)])
def test_settings_that_do_not_fit(sim: Sim, field: str, value: Any) -> None:
    data = {"timezone": "UTC", "format_preference": "24h", field: value}
    assert sim.post("/events/immediate", json={"modality": "time", "data": data}).status_code == 400


def test_a_file_with_an_unknown_zone_is_read_and_reported(sim: Sim) -> None:
    states = {"time": {"timezone": "Mars/Base"}}
    sim.ok("POST", "/scenario/import/environment", {"data": {"modality_states": states}})
    page = sim.ok("GET", "/environment/state", compact="true")
    assert page["modalities"]["time"]["local_time"] == START
    assert sim.ok("POST", "/environment/validate")["errors"] == [says("Mars/Base")]


@pytest.mark.parametrize(("zone", "now"), [("Asia/Tokyo", "9999-12-31T23:00:00Z"), ("America/Lima", "0001-01-01")])
def test_the_ends_of_the_calendar(sim: Sim, zone: str, now: str) -> None:
    sim.ok("POST", "/simulation/clear", {"reset_time_to": now})
    sim.event("time", {"timezone": zone, "format_preference": "24h"})
    assert state(sim)["timezone"] == zone


def test_the_history_keeps_the_newest(sim: Sim) -> None:
    states = {"time": {"max_history_size": 1}}
    sim.ok("POST", "/scenario/import/environment", {"data": {"modality_states": states}})
    for zone in ("Asia/Tokyo", "Europe/Paris"):
        sim.event("time", {"timezone": zone, "format_preference": "24h"})
    assert [entry["timezone"] for entry in state(sim)["settings_history"]] == ["Asia/Tokyo"]


def test_it_has_no_routes(sim: Sim) -> None:
    assert sim.get("/time/state").status_code == 404
