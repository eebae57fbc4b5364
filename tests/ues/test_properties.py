"""What must hold whatever happened before: hypothesis makes it up, over all modalities.

Short in ``make test``; ``HYPOTHESIS_PROFILE=nightly`` tries many more (see ``conftest.py``).
"""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from proctor.ues.modalities import MODALITIES
from tests.ues.actions import ACTIONS, LIVING, MOVING, TEXT, Action, actions, live, request_of
from tests.ues.helpers import START, Server, Sim, at
from tests.ues.test_every_modality import tell

WALL_TIME = {
    "last_wall_time_update",
    "created_by",
    "acquired_at",
    "expires_at",
    "checked_at",
    "last_used_at",
    "access_log",
    "seal",
}
"""Fields that tell of the wall clock, or of who asked from outside."""


def timeless(value: Any) -> Any:
    """The same without what tells of the wall clock."""
    if isinstance(value, list):
        return [timeless(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: timeless(item) for key, item in value.items() if key not in WALL_TIME}
    if "secret_hash" in kept or "permissions" in kept or "scenario_version" in kept:
        kept.pop("created_at", None)
    return kept


def checkpoint(sim: Sim) -> Any:
    """A checkpoint made anew, not one kept from before."""
    scale = sim.ok("GET", "/simulator/time")["time_scale"]
    sim.ok("POST", "/simulator/time/set-scale", {"scale": scale})
    return timeless(sim.ok("GET", "/simulation/checkpoint"))


def content(file: Any) -> Any:
    """A scenario file but for what an import must change: its time of writing and the events' ids."""
    file = timeless(file)
    for event in file["events"]["events"]:
        event.pop("event_id")
    return file


def states(sim: Sim) -> str:
    """All modality states, as text, so that the order of entries counts."""
    return str(sim.ok("GET", "/scenario/export/environment")["modality_states"])


def readings(sim: Sim) -> list[Any]:
    """What every reader sees."""
    paths = ["/events", "/events/summary", "/simulation/status", "/simulation/holds", "/keys", "/environment/state"]
    queries = {"weather": {"lat": 0, "lon": 0, "from_time": 0}}
    names = ("email", "sms", "chat", "calendar", "contacts", "location", "weather")
    return [
        *(timeless(sim.ok("GET", path)) for path in paths),
        *(sim.ok("POST", f"/{name}/query", queries.get(name, {})) for name in names),
    ]


class Fresh:
    """New simulations that end with the ``with``."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.made: list[Sim] = []

    def __call__(self, seed: str = "one", *, furnished: bool = False) -> Sim:
        """A new simulation; ``furnished`` with some of everything, so that there is something to do actions to."""
        sim = self.server.new_simulation(seed=seed)
        self.made.append(sim)
        if furnished:
            for name in MODALITIES:
                tell(sim, name)
        return sim

    def __enter__(self) -> "Fresh":
        return self

    def __exit__(self, *_: object) -> None:
        for sim in self.made:
            sim.delete_me()


@given(story=actions(ACTIONS, 1, 40))
def test_export_import_export_is_the_identity(server: Server, story: list[Action]) -> None:
    with Fresh(server) as fresh:
        sim, copy, parts = fresh("one", furnished=True), fresh("two"), fresh("three")
        live(sim, story)
        file = sim.export()
        result = copy.ok("POST", "/scenario/import/full", {"scenario": file, "strict_modalities": True})
        assert result["warnings"] == []
        assert content(copy.export()) == content(file)
        copy.ok("POST", "/scenario/import/full", {"scenario": {"scenario": copy.export()}})
        assert content(copy.export()) == content(file)
        environment, events = (sim.ok("GET", f"/scenario/export/{part}") for part in ("environment", "events"))
        parts.ok("POST", "/scenario/import/environment", {"data": environment, "strict_modalities": True})
        parts.ok("POST", "/scenario/import/events", {"data": events})
        assert content(parts.export()) == content(file)


@given(before=actions(ACTIONS, 50, 70), undone=st.integers(0, 5), after=actions(ACTIONS, 1, 20))
def test_what_is_restored_lives_on_like_the_original(
    server: Server, before: list[Action], undone: int, after: list[Action]
) -> None:
    """The same states, ids, order of events, undo and redo, keys and holds, whatever is asked of both afterwards."""
    with Fresh(server) as fresh:
        sim, copy = fresh("one", furnished=True), fresh("two")
        live(sim, before)
        if undone:
            sim.ok("POST", "/simulation/undo", {"count": undone})
        taken = sim.get("/simulation/checkpoint")
        copy.post("/simulation/restore", content=taken.content).raise_for_status()
        assert copy.get("/simulation/checkpoint").content == taken.content
        assert checkpoint(copy) == checkpoint(sim)
        for action in after:
            request = request_of(action, sim)
            assert request_of(action, copy) == request
            method, path, body = request
            one, other = (timeless_answer(simulation, method, path, body) for simulation in (sim, copy))
            assert one == other, action
        assert readings(copy) == readings(sim)
        assert states(copy) == states(sim)
        assert checkpoint(copy) == checkpoint(sim)
        copy.post("/simulation/restore", content=taken.content).raise_for_status()
        assert copy.get("/simulation/checkpoint").content == taken.content


def timeless_answer(sim: Sim, method: str, path: str, body: Any) -> tuple[int, Any]:
    answer = sim.request(method, path, json=body)
    return answer.status_code, timeless({**answer.json(), "simulation_id": None})


@given(story=actions(ACTIONS, 5, 50), count=st.integers(1, 60))
def test_undo_and_redo_are_the_identity(server: Server, story: list[Action], count: int) -> None:
    with Fresh(server) as fresh:
        sim = fresh(furnished=True)
        live(sim, story)
        before, whole = states(sim), checkpoint(sim)
        undone = sim.ok("POST", "/simulation/undo", {"count": count})["undone_count"]
        if undone:
            assert sim.ok("POST", "/simulation/redo", {"count": undone})["redone_count"] == undone
        assert states(sim) == before
        assert checkpoint(sim) == whole


@given(story=actions({**LIVING, **MOVING}, 1, 30))
def test_undoing_everything_leads_back_to_the_start(server: Server, story: list[Action]) -> None:
    with Fresh(server) as fresh:
        sim = fresh()
        empty = states(sim)
        for name in MODALITIES:
            tell(sim, name)
        seen = {states(sim)}
        for action in story:
            live(sim, [action])
            seen.add(states(sim))
        seen.discard(states(sim))
        for _ in range(sim.ok("GET", "/events/summary")["executed"]):
            sim.ok("POST", "/simulation/undo")
            seen.discard(states(sim))
        assert states(sim) == empty
        assert seen == set()


# --- the order of events ----------------------------------------------------------------------------------------------

plans = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3), TEXT, st.booleans()), min_size=1, max_size=25)
"""Events: after how many seconds, with which priority, saying what, and whether it is bound to fail."""


def schedule(sim: Sim, plan: list[tuple[int, int, str, bool]]) -> None:
    events = [
        {
            "scheduled_time": at(seconds),
            "priority": priority,
            "modality": "chat",
            "data": {"operation": "delete_message", "message_id": "none"}
            if fails
            else {"operation": "send_message", "role": "user", "content": f"{number}:{text}"},
        }
        for number, (seconds, priority, text, fails) in enumerate(plan)
    ]
    half = len(events) // 2
    for event in events[:half]:
        sim.ok("POST", "/events", event)
    sim.ok("POST", "/events/batch", {"events": events[half:]})


def in_one_step(sim: Sim, _steps: list[float]) -> None:
    sim.advance(60)


def in_small_steps(sim: Sim, steps: list[float]) -> None:
    for step in steps:
        sim.advance(step)


def by_skipping(sim: Sim, _steps: list[float]) -> None:
    sim.ok("POST", "/simulation/start", {})
    while sim.post("/simulator/time/skip-to-next").status_code == 200:
        pass


def by_setting(sim: Sim, steps: list[float]) -> None:
    sim.ok("POST", "/simulation/start", {})
    elapsed = 0.0
    for step in steps:
        elapsed = min(60.0, elapsed + step)
        sim.ok("POST", "/simulator/time/set", {"target_time": at(elapsed)})


@given(plan=plans, steps=st.lists(st.floats(0.01, 5), max_size=15))
def test_events_run_in_order_however_time_passes(server: Server, plan: list[Any], steps: list[float]) -> None:
    expected = sorted(enumerate(plan), key=lambda item: (item[1][0], -item[1][1], item[0]))
    said = [f"{number}:{text}" for number, (_, _, text, fails) in expected if not fails]
    with Fresh(server) as fresh:
        lived = []
        for pass_time in (in_one_step, in_small_steps, by_skipping, by_setting):
            sim = fresh("the same")
            schedule(sim, plan)
            pass_time(sim, steps)
            sim.set_time(at(60))
            state = sim.state("chat")
            assert [message["content"] for message in state["messages"]] == said, pass_time.__name__
            events = sim.ok("GET", "/events")["events"]
            assert [event["status"] for event in events] == [
                "failed" if item[1][3] else "executed" for item in expected
            ]
            for event in events:
                assert event["executed_at"] == event["scheduled_time"]
            assert [m["timestamp"] for m in state["messages"]] == [at(p[0]) for _, p in expected if not p[3]]
            lived.append((states(sim), events))
        assert all(one == lived[0] for one in lived)
        assert START in {event["created_at"] for event in lived[0][1]}
