"""What must hold for every modality, whichever there are. Each needs a story in ``stories/NAME.py``."""

from importlib import import_module
from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel

from proctor.ues.http.routes import SIMULATION_ROUTES
from proctor.ues.modalities import MODALITIES
from tests.ues.helpers import START, Server, Sim, at

every_modality = pytest.mark.parametrize("name", list(MODALITIES))


def tell(sim: Sim, name: str) -> None:
    import_module(f"tests.ues.stories.{name}").tell(sim)


def states(sim: Sim) -> Any:
    return sim.export()["environment"]["modality_states"]


def other(sim: Sim) -> Sim:
    return sim.server.new_simulation(start=None, seed="another")


@every_modality
def test_the_story_can_be_undone_and_redone_exactly(sim: Sim, name: str) -> None:
    before = str(states(sim))
    tell(sim, name)
    after = str(states(sim))
    assert after != before
    total = sim.ok("GET", "/events/summary")["executed"]
    assert sim.ok("POST", "/simulation/undo", {"count": 100})["undone_count"] == total
    assert str(states(sim)) == before
    assert sim.ok("POST", "/simulation/redo", {"count": 100})["redone_count"] == total
    assert str(states(sim)) == after


@every_modality
def test_a_restored_checkpoint_behaves_like_the_original(sim: Sim, name: str) -> None:
    tell(sim, name)
    sim.ok("POST", "/simulation/undo", {"count": 2})
    checkpoint = sim.get("/simulation/checkpoint")
    copy = other(sim)
    copy.post("/simulation/restore", content=checkpoint.content).raise_for_status()
    assert copy.get("/simulation/checkpoint").content == checkpoint.content
    for one in (sim, copy):
        one.ok("POST", "/simulation/redo", {"count": 1})
        one.advance(60)
        tell(one, name)
    assert str(states(copy)) == str(states(sim))
    assert copy.ok("GET", "/events") == sim.ok("GET", "/events")
    for one in (sim, copy):
        one.ok("POST", "/simulation/undo", {"count": 100})
    assert str(states(copy)) == str(states(sim))
    copy.delete_me()


@every_modality
def test_the_same_seed_and_story_give_the_same_ids(server: Server, name: str) -> None:
    one, two = (server.new_simulation(seed="same") for _ in range(2))
    for sim in (one, two):
        tell(sim, name)
    assert states(one) == states(two)
    assert one.ok("GET", "/events") == two.ok("GET", "/events")
    three = server.new_simulation(seed="different")
    tell(three, name)
    assert three.ok("GET", "/events") != one.ok("GET", "/events")
    for sim in (one, two, three):
        sim.delete_me()


@every_modality
def test_a_scenario_file_carries_the_state(sim: Sim, name: str) -> None:
    tell(sim, name)
    file = sim.export()
    copy = other(sim)
    result = copy.ok("POST", "/scenario/import/full", {"scenario": file, "strict_modalities": True})
    assert (result["warnings"], result["modalities_loaded"]) == ([], list(MODALITIES))
    assert states(copy) == file["environment"]["modality_states"]
    assert len(copy.export()["events"]["events"]) == len(file["events"]["events"])
    copy.delete_me()


@every_modality
def test_the_state_is_consistent_and_shown_as_declared(sim: Sim, name: str) -> None:
    document = sim.ok("GET", "/openapi.json")
    tell(sim, name)
    assert sim.ok("POST", "/environment/validate")["errors"] == []
    model = sim.ok("GET", f"/environment/modalities/{name}")["state"]
    assert sim.ok("GET", "/environment/state")["modalities"][name] == model
    assert sim.ok("GET", "/scenario/export/environment")["modality_states"][name] == model
    if not MODALITIES[name].show:
        return
    shown = sim.state(name)
    schema = document["paths"][f"/{name}/state"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    whole = {**schema, "components": document["components"]}
    for params in ({}, {"compact": "true"}):
        state = sim.state(name, **params)
        assert state.keys() - {"folder_counts", "label_counts"} == shown.keys()
        jsonschema.validate(state, whole)


@every_modality
def test_a_scheduled_event_runs_at_its_time(sim: Sim, name: str) -> None:
    """The story's own events, scheduled anew in another simulation, run in the same way."""
    tell(sim, name)
    first = sim.ok("GET", "/events")["events"][0]
    copy = other(sim)
    copy.ok("POST", "/simulation/clear", {"reset_time_to": START})
    copy.ok("POST", "/events", {"modality": name, "data": first["data"], "scheduled_time": at(10)})
    assert copy.advance(10)["events_executed"] == 1
    assert states(copy)[name]["last_updated"] == at(10)
    assert states(copy)[name]["update_count"] == 1
    copy.delete_me()


def test_the_whole_environment_fits_on_a_page(sim: Sim) -> None:
    for _ in range(2):
        for name in MODALITIES:
            tell(sim, name)
            sim.advance(1)
    page = sim.get("/environment/state", params={"compact": "true"})
    assert len(page.content) <= 2000
    assert set(page.json()["modalities"]) == set(MODALITIES)
    text = sim.get("/environment/state", params={"compact": "true", "format": "text"})
    assert len(text.content) <= 2000
    assert text.headers["content-type"].startswith("text/plain")
    described = sim.ok("GET", "/openapi.json")["paths"]["/environment/state"]["get"]["responses"]["200"]["content"]
    assert set(described) == {"application/json", "text/plain"}
    assert all(name in text.text for name in MODALITIES)


def test_states_are_plain_json(sim: Sim) -> None:
    """Whole numbers beyond 64 bits would make every later answer fail."""
    for route in SIMULATION_ROUTES:
        if route.method != "POST" or not (isinstance(route.body, type) and issubclass(route.body, BaseModel)):
            continue
        for field in route.body.model_json_schema().get("properties", {}):
            answer = sim.post(route.path.format(modality_name="email", hold_id="x"), json={field: 1e30})
            assert answer.status_code < 500, (route.path, field)
    assert sim.get("/environment/state").status_code == 200


def unbounded(schema: object) -> bool:
    if isinstance(schema, dict):
        return (schema.get("type") == "int" and "le" not in schema) or any(map(unbounded, schema.values()))
    return isinstance(schema, (list, tuple)) and any(map(unbounded, schema))


@every_modality
def test_whole_numbers_are_bounded(name: str) -> None:
    """By the type ``Int`` of ``proctor.ues.schema``, in whatever a caller sends."""
    item = MODALITIES[name]
    models = [item.state, item.input, item.state_params, *(action.request for action in item.actions)]
    models += [item.query.request] if item.query else []
    models += [read.params for read in item.reads]
    assert [model.__name__ for model in models if unbounded(model.__pydantic_core_schema__)] == []
