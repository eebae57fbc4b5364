"""A family's days with nights between them, and its places and forecasts in the simulation."""

from datetime import timedelta
from itertools import pairwise

from proctor.protocol.scenario import ScenarioConfig
from proctor.scenarios.kit.making.days import make_day
from proctor.ues.scenario import import_full
from proctor.ues.simulation import Simulation
from tests.stack import SCENARIOS

FAMILY = SCENARIOS / "families" / "promises"


def test_five_days_have_four_nights_and_turns_by_day_only() -> None:
    day = make_day(FAMILY, 1, 201)
    assert len({start.date() for start in day.starts}) == 5
    assert [(morning - evening) for evening, morning in day.nights] == [timedelta(hours=14)] * 4
    scenario = ScenarioConfig.model_validate(day.scenario())
    assert scenario.expected_turns == len(day.starts) == 10
    assert f"one every 5 hours from {day.turn(0):%H:%M} to {day.turn(1):%H:%M} on 5 days" in day.brief
    assert "nights" not in make_day(SCENARIOS / "families" / "the_week", 1, 201).scenario()


def test_places_and_forecasts_are_in_the_simulation_where_a_lunch_needs_them() -> None:
    day = make_day(FAMILY, 4, 201)
    simulation = Simulation("one", "the-admin-key-of-this-test", "seed")
    import_full(simulation, day.initial_state(), strict=True)
    places = {place.title: place.fields for place in day.records if place.kind == "place"}
    location, weather = simulation.states["location"], simulation.states["weather"]
    known = [place["named_location"] for place in location["location_history"]] + [location["current_named_location"]]
    assert sorted(known) == sorted(places)
    assert len(weather["locations"]) == len(places) == 3
    later = [event for event in simulation.events.by_id.values() if event["modality"] == "weather"]
    assert len(later) == 3
    assert {"location", "weather"}.isdisjoint(
        make_day(FAMILY, 2, 201).initial_state()["environment"]["modality_states"]
    )


def test_the_user_can_be_at_each_lunch() -> None:
    for seed in (201, 202):
        entries = [record for record in make_day(FAMILY, 4, seed).records if record.title.startswith("Lunch with ")]
        starts = sorted(entry.start for entry in entries if entry.kind == "entry" and entry.start)
        assert len(starts) == 3
        assert all(later - earlier >= timedelta(hours=2) for earlier, later in pairwise(starts))
