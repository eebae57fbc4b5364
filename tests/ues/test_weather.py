"""The weather at some places."""

from datetime import datetime
from typing import Any

import pytest

from tests.ues.helpers import START, Sim, at
from tests.ues.stories.weather import report

BERLIN = {"lat": 52.52, "lon": 13.41}


def unix(seconds: float) -> int:
    return int(datetime.fromisoformat(at(seconds)).timestamp())


def update(sim: Sim, temp: float = 293.15, **place: Any) -> None:
    where = {"latitude": 52.52, "longitude": 13.41, **place}
    sim.do("/weather/update", **where, report=report(temp=temp))


def three_hours(sim: Sim) -> None:
    """A report an hour."""
    for temp in (290, 291, 292):
        update(sim, temp)
        sim.advance(3600)


def temperatures(sim: Sim, **request: Any) -> list[float]:
    return [item["current"]["temp"] for item in sim.query("weather", **BERLIN, **request)["reports"]]


def test_updates_and_the_state(sim: Sim) -> None:
    assert sim.state("weather") == {
        "modality_type": "weather",
        "current_time": START,
        "last_updated": START,
        "update_count": 0,
        "locations": {},
        "location_count": 0,
    }
    update(sim, 290)
    sim.advance(5)
    update(sim, 291)
    update(sim, latitude=-33.87, longitude=151.21)
    state = sim.state("weather")
    assert (state["location_count"], state["update_count"]) == (2, 3)
    assert list(state["locations"]) == ["52.52,13.41", "-33.87,151.21"]
    place = state["locations"]["52.52,13.41"]
    assert (place["latitude"], place["first_seen"], place["last_updated"], place["update_count"]) == (
        52.52,
        START,
        at(5),
        2,
    )
    assert place["current_report"]["current"]["temp"] == 291
    assert [(entry["timestamp"], entry["report"]["current"]["temp"]) for entry in place["report_history"]] == [
        (START, 290)
    ]


def test_the_report_comes_back_as_it_was_given(sim: Sim) -> None:
    update(sim)
    (answer,) = sim.query("weather", **BERLIN)["reports"]
    given = report()
    given["hourly"][0].update(snow=None, wind_gust=None)
    given["daily"][0].update(snow=None, wind_gust=None)
    given["alerts"][0]["tags"] = []
    assert answer == given


def test_compact_drops_histories_and_forecasts(sim: Sim) -> None:
    three_hours(sim)
    (place,) = sim.state("weather", compact="true")["locations"].values()
    assert "report_history" not in place
    assert set(place["current_report"]) == {"lat", "lon", "timezone", "timezone_offset", "current", "alerts"}


def test_units(sim: Sim) -> None:
    update(sim)
    metric = sim.query("weather", **BERLIN, units="metric")["reports"][0]
    imperial = sim.query("weather", **BERLIN, units="imperial")["reports"][0]
    assert [one["current"]["temp"] for one in (metric, imperial)] == [20.0, 68.0]
    assert [one["current"]["feels_like"] for one in (metric, imperial)] == [19.0, 66.2]
    assert [one["current"]["dew_point"] for one in (metric, imperial)] == [10.0, 50.0]
    assert [one["current"]["wind_speed"] for one in (metric, imperial)] == [10, 22.37]
    assert [one["current"]["wind_gust"] for one in (metric, imperial)] == [20, 44.74]
    assert [one["hourly"][0]["temp"] for one in (metric, imperial)] == [20.0, 68.0]
    assert [one["daily"][0]["temp"]["max"] for one in (metric, imperial)] == [21.0, 69.8]
    assert [one["daily"][0]["feels_like"]["night"] for one in (metric, imperial)] == [12.0, 53.6]
    for one in (metric, imperial):
        assert one["current"]["pressure"] == 1013
        assert one["current"]["visibility"] == 10000
        assert one["hourly"][0]["rain"] == {"1h": 0.2}
        assert one["daily"][0]["rain"] == 3.5
    assert sim.query("weather", **BERLIN, units="standard")["reports"] == sim.query("weather", **BERLIN)["reports"]
    assert sim.post("/weather/query", json={**BERLIN, "units": "kelvin"}).status_code == 422


@pytest.mark.parametrize("part", ["current", "minutely", "hourly", "daily", "alerts"])
def test_excluded_parts_are_null(sim: Sim, part: str) -> None:
    update(sim)
    whole = sim.query("weather", **BERLIN)["reports"][0]
    answer = sim.query("weather", **BERLIN, exclude=[part, "lat", "nonsense"])["reports"][0]
    assert answer == {**whole, part: None}


@pytest.mark.parametrize(
    ("lat", "lon", "known"),
    [
        (52.524, 13.406, True),
        (52.58, 13.41, True),
        (52.52, 13.54, True),
        (52.63, 13.41, False),
        (52.52, 13.6, False),
        (40.71, -74.01, False),
        (-52.52, 13.41, False),
    ],
)
def test_the_nearest_place_within_eleven_kilometres(sim: Sim, lat: float, lon: float, known: bool) -> None:
    update(sim)
    answer = sim.query("weather", lat=lat, lon=lon)
    assert (answer["count"], answer["total_count"], answer["returned_count"]) == (known, known, known)
    assert (answer["error"] is None) == known


def test_places_across_the_date_line_are_near(sim: Sim) -> None:
    update(sim, latitude=0, longitude=179.99)
    assert sim.query("weather", lat=0, lon=-179.99)["count"] == 1


def test_times(sim: Sim) -> None:
    three_hours(sim)
    assert temperatures(sim) == [292]
    assert temperatures(sim, from_time=unix(0)) == [290, 291, 292]
    assert temperatures(sim, from_time=unix(3600)) == [291, 292]
    assert temperatures(sim, to_time=unix(3600)) == [290, 291]
    assert temperatures(sim, from_time=unix(1), to_time=unix(3600)) == [291]
    assert temperatures(sim, from_time=unix(0), limit=1, offset=1) == [291]
    assert temperatures(sim, from_time=unix(99999)) == []
    assert temperatures(sim, from_time=-(2**62), to_time=2**62) == [290, 291, 292]
    assert sim.query("weather", **BERLIN, from_time=unix(0), limit=1)["total_count"] == 3


def test_there_is_no_real_weather(sim: Sim) -> None:
    update(sim)
    answer = sim.query("weather", **BERLIN, real=True)
    assert (answer["reports"], answer["count"]) == ([], 0)
    assert "real" in answer["error"]


def test_the_history_keeps_the_newest(sim: Sim) -> None:
    three_hours(sim)
    file = sim.export()
    file["environment"]["modality_states"]["weather"]["max_history_per_location"] = 1
    sim.ok("POST", "/scenario/import/full", {"scenario": file})
    update(sim, 293)
    assert temperatures(sim, from_time=0) == [292, 293]
    sim.ok("POST", "/simulation/undo")
    assert temperatures(sim, from_time=0) == [290, 291, 292]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("query", {"lat": 52}),
        ("query", {"lat": 91, "lon": 0}),
        ("query", {**BERLIN, "limit": 0}),
        ("query", {**BERLIN, "limit": 1001}),
        ("query", {**BERLIN, "exclude": "current"}),
        ("query", {**BERLIN, "from_time": 10**30}),
        ("update", {"latitude": 1, "longitude": 1}),
        ("update", {"latitude": 1, "longitude": 181, "report": report()}),
        ("update", {"latitude": 1, "longitude": 1, "report": {**report(), "current": {"temp": 1}}}),
        ("update", {"latitude": 1, "longitude": 1, "report": {**report(), "minutely": [{"dt": 10**30}]}}),
    ],
)
def test_requests_that_do_not_fit(sim: Sim, path: str, body: dict[str, Any]) -> None:
    assert sim.post(f"/weather/{path}", json=body).status_code == 422


def test_the_weather_changes_by_events(sim: Sim) -> None:
    sim.event("weather", {"latitude": 52.52, "longitude": 13.41, "report": report(temp=280)}, seconds=30)
    sim.advance(60)
    (place,) = sim.state("weather")["locations"].values()
    assert place["last_updated"] == at(30)


def test_a_participant_reads_but_makes_no_weather(sim: Sim) -> None:
    participant = sim.participant()
    assert participant.get("/weather/state").status_code == 200
    assert participant.post("/weather/query", json=BERLIN).status_code == 200
    body = {"latitude": 1, "longitude": 1, "report": report()}
    assert participant.post("/weather/update", json=body).status_code == 403


def test_a_key_of_openweather_stays_in_the_file(sim: Sim) -> None:
    states = {"weather": {"openweather_api_key": "secret"}}
    sim.ok("POST", "/scenario/import/environment", {"data": {"modality_states": states}})
    assert sim.export()["environment"]["modality_states"]["weather"]["openweather_api_key"] == "secret"
    assert "secret" not in sim.get("/weather/state").text
