"""A small model of clock, events and history beside the simulator: whatever is done to both, they agree.

The model knows nothing of how the simulator works. It is the contract's sentences on time, events, undo, reset, import
and checkpoints, as code; ``HYPOTHESIS_PROFILE=nightly`` tries many more stories (see ``conftest.py``).
"""

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.ues.helpers import Server, at


@dataclass(eq=False)
class Planned:
    """An event: when, how urgent, what it says, and whether it is bound to fail. Seconds since the start."""

    event_id: str
    at: int
    priority: int
    text: str
    fails: bool
    status: str = "pending"
    ran_at: int | None = None


@dataclass
class Expectation:
    """What must be true of a simulation."""

    now: int = 0
    running: bool = False
    events: list[Planned] = field(default_factory=list)
    """In order of creation."""
    said: list[str] = field(default_factory=list)
    done: list[Planned] = field(default_factory=list)
    undone: list[Planned] = field(default_factory=list)
    holds: list[str] = field(default_factory=list)

    def ordered(self) -> list[Planned]:
        return sorted(self.events, key=lambda event: (event.at, -event.priority))

    def pending(self) -> list[Planned]:
        return [event for event in self.ordered() if event.status == "pending"]

    def execute(self, event: Planned) -> None:
        event.ran_at = max(self.now, event.at)
        event.status = "failed" if event.fails else "executed"
        if not event.fails:
            self.said.append(event.text)
            self.done.append(event)
            self.undone.clear()

    def move(self, to: int) -> list[Planned]:
        ran = []
        while self.pending() and self.pending()[0].at <= to:
            event = self.pending()[0]
            self.now = max(self.now, event.at)
            self.execute(event)
            ran.append(event)
        self.now = to
        return ran

    def begin_anew(self) -> None:
        """After an import: nothing can be undone."""
        self.done, self.undone = [], []


plan = st.tuples(st.integers(-2, 9), st.sampled_from([0, 50, 51, 100]), st.booleans())
"""An event's distance from now in seconds, its priority, and whether it is to fail."""

HANDLING = st.sampled_from(["ignore", "delete", "apply"])


class Story(RuleBasedStateMachine):
    """Does everything to the simulator and to the model."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self.sim = server.new_simulation(seed="model")
        self.expected = Expectation()
        self.kept: list[tuple[bytes, Expectation]] = []
        self.told = 0

    def teardown(self) -> None:
        self.sim.delete_me()

    # --- asking -------------------------------------------------------------------------------------------------------

    def post(self, path: str, body: Any, status: int = 200) -> Any:
        answer = self.sim.post(path, json=body)
        assert answer.status_code == status, f"{path} {body}: {answer.status_code} {answer.text}"
        return answer.json()

    def planned(self, drawn: tuple[int, int, bool]) -> Planned:
        self.told += 1
        return Planned("", self.expected.now + drawn[0], drawn[1], str(self.told), drawn[2])

    def body(self, event: Planned) -> dict[str, Any]:
        good = {"role": "user", "content": event.text}
        bad = {"operation": "delete_message", "message_id": "nobody's"}
        when = {"scheduled_time": at(event.at), "priority": event.priority}
        return {"modality": "chat", "data": bad if event.fails else good, **when}

    # --- events -------------------------------------------------------------------------------------------------------

    @rule(drawn=plan)
    def schedule(self, drawn: tuple[int, int, bool]) -> None:
        event = self.planned(drawn)
        if event.at < self.expected.now:
            self.post("/events", self.body(event), 400)
        else:
            event.event_id = self.post("/events", self.body(event))["event_id"]
            self.expected.events.append(event)

    @rule(drawn=st.lists(plan, max_size=4), stop=st.booleans(), dry=st.booleans())
    def batch(self, drawn: list[tuple[int, int, bool]], stop: bool, dry: bool) -> None:
        events = [self.planned(item) for item in drawn]
        sound = [event.at >= self.expected.now for event in events]
        looked_at = sound.index(False) + 1 if stop and False in sound else len(events)
        made = 0 if dry else sum(sound[:looked_at])
        failed = looked_at - sum(sound[:looked_at])
        status = 200 if dry else 201 if not failed else 400 if stop and not made else 207
        body = {"events": [self.body(event) for event in events], "stop_on_first_error": stop, "validate_only": dry}
        answer = self.post("/events/batch", body, status)
        assert [item["success"] for item in answer["events"]] == sound[:looked_at]
        assert (answer["total_created"], answer["total_failed"]) == (made, failed)
        for event, item in zip(events, answer["events"], strict=False):
            if item["event_id"] is not None:
                event.event_id = item["event_id"]
                self.expected.events.append(event)

    @rule(fails=st.booleans())
    def act(self, fails: bool) -> None:
        event = self.planned((0, 100, fails))
        path = "/chat/delete" if fails else "/chat/send"
        answer = self.post(path, self.body(event)["data"])
        event.event_id = answer["event_id"]
        self.expected.events.append(event)
        self.expected.execute(event)
        assert answer["status"] == event.status

    @rule(path=st.sampled_from(["/events", "/events/immediate", "/chat/send", "/sms/send"]))
    def be_refused(self, path: str) -> None:
        body = {"modality": "chat", "scheduled_time": at(10**6), "data": {"role": "nobody"}}
        self.post(path, body, 400 if path.startswith("/events") else 422)

    @precondition(lambda self: self.expected.events)
    @rule(which=st.integers(0, 100))
    def cancel(self, which: int) -> None:
        event = self.expected.events[which % len(self.expected.events)]
        answer = self.sim.delete(f"/events/{event.event_id}")
        assert answer.status_code == (200 if event.status == "pending" else 409)
        if event.status == "pending":
            event.status = "cancelled"

    # --- time ---------------------------------------------------------------------------------------------------------

    @rule(way=st.sampled_from(["advance", "set", "skip-to-next"]), seconds=st.integers(-1, 6))
    def pass_time(self, way: str, seconds: int) -> None:
        before, pending = self.expected.now, self.expected.pending()
        body: Any = None
        refused = 0
        target = before + seconds
        if way == "advance":
            body, refused = {"seconds": seconds}, 422 if seconds <= 0 else 0
        elif way == "set":
            body, refused = {"target_time": at(target)}, 400 if seconds < 0 else 0
        elif pending:
            target = max(before, pending[0].at)
        else:
            refused = 404
        if not self.expected.running and refused != 422:
            refused = 400
        if self.expected.holds and refused != 422:
            refused = 409
        answer = self.post(f"/simulator/time/{way}", body, refused or 200)
        if refused:
            return
        ran = self.expected.move(target)
        assert (answer["previous_time"], answer["current_time"]) == (at(before), at(target))
        succeeded = sum(event.status == "executed" for event in ran)
        assert answer.get("events_executed", answer.get("executed_events")) == succeeded
        if way == "advance":
            assert [item["event_id"] for item in answer["execution_details"]] == [event.event_id for event in ran]

    @rule()
    def hold(self) -> None:
        answer = self.post("/simulation/hold", {"agent_id": "a", "reason": "r", "timeout_seconds": 300})
        self.expected.holds.append(answer["hold_id"])
        assert answer["active_hold_count"] == len(self.expected.holds)

    @rule()
    def release(self) -> None:
        while self.expected.holds:
            answer = self.post(f"/simulation/release/{self.expected.holds.pop()}", None)
            assert answer["active_hold_count"] == len(self.expected.holds)

    # --- history ------------------------------------------------------------------------------------------------------

    @rule(way=st.sampled_from(["undo", "redo"]), count=st.integers(1, 4))
    def move_in_history(self, way: str, count: int) -> None:
        expected = self.expected
        source, target = (expected.done, expected.undone) if way == "undo" else (expected.undone, expected.done)
        moved = [source.pop() for _ in range(min(count, len(source)))]
        target.extend(moved)
        for event in moved:
            if way == "undo":
                expected.said.remove(event.text)
            else:
                expected.said.append(event.text)
        answer = self.post(f"/simulation/{way}", {"count": count})
        shown = answer["undone_events" if way == "undo" else "redone_events"]
        assert [item["event_id"] for item in shown] == [event.event_id for event in moved]
        assert (answer["can_undo"], answer["can_redo"]) == (bool(expected.done), bool(expected.undone))

    @rule()
    def reset(self) -> None:
        expected = self.expected
        undone = len(expected.done)
        for event in expected.done:
            expected.said.remove(event.text)
        for event in expected.events:
            event.status, event.ran_at = "pending", None
        expected.done, expected.undone, expected.running = [], [], False
        answer = self.post("/simulation/reset", None)
        assert (answer["events_undone"], answer["cleared_events"]) == (undone, len(expected.events))

    @rule(start=st.booleans())
    def start_or_stop(self, start: bool) -> None:
        if start:
            self.post("/simulation/start", {}, 409 if self.expected.running else 200)
        else:
            self.post("/simulation/stop", None)
        self.expected.running = start

    @rule(seconds=st.integers(0, 5))
    def clear(self, seconds: int) -> None:
        answer = self.post("/simulation/clear", {"reset_time_to": at(seconds)})
        assert answer["events_removed"] == len(self.expected.events)
        self.expected = Expectation(now=seconds)

    # --- files and checkpoints ----------------------------------------------------------------------------------------

    @rule()
    def import_all(self) -> None:
        body = {"scenario": self.sim.export()}
        self.post("/scenario/import/full", body, 409 if self.expected.running else 200)
        if not self.expected.running:
            self.take_over_new_ids(self.expected.events)
            self.expected.begin_anew()

    @rule(shift=st.integers(-2, 4), handling=HANDLING)
    def import_environment(self, shift: int, handling: str) -> None:
        expected = self.expected
        data = self.sim.ok("GET", "/scenario/export/environment")
        data["time_state"]["current_time"] = at(expected.now + shift)
        body = {"data": data, "historic_event_handling": handling}
        self.post("/scenario/import/environment", body, 409 if expected.running else 200)
        if expected.running:
            return
        expected.now += shift
        overdue = [event for event in expected.pending() if event.at < expected.now]
        if handling == "delete":
            expected.events = [event for event in expected.events if event not in overdue]
        elif handling == "apply":
            for event in overdue:
                expected.execute(event)
        expected.begin_anew()

    @rule(drawn=st.lists(plan, max_size=2), merge=st.booleans())
    def import_events(self, drawn: list[tuple[int, int, bool]], merge: bool) -> None:
        events = [self.planned(item) for item in drawn]
        body = {"data": {"events": [self.body(event) for event in events]}, "merge": merge}
        self.post("/scenario/import/events", body, 409 if self.expected.running else 200)
        if not self.expected.running:
            self.expected.events = [*(self.expected.events if merge else ()), *events]
            self.take_over_new_ids(events)
            self.expected.begin_anew()

    def take_over_new_ids(self, events: list[Planned]) -> None:
        """The last of the log's events in order of creation are these; none of their old ids is known any more."""
        exported = self.sim.ok("GET", "/scenario/export/events")["events"]
        new = [event["event_id"] for event in exported[len(exported) - len(events) :]]
        assert not {event.event_id for event in events} & set(new)
        for event, event_id in zip(events, new, strict=True):
            event.event_id = event_id

    @rule()
    def keep(self) -> None:
        self.kept.append((self.sim.get("/simulation/checkpoint").content, deepcopy(self.expected)))

    @precondition(lambda self: self.kept)
    @rule(which=st.integers(0, 100))
    def restore(self, which: int) -> None:
        content, expected = self.kept[which % len(self.kept)]
        self.sim.post("/simulation/restore", content=content).raise_for_status()
        self.expected = deepcopy(expected)

    # --- agreeing -----------------------------------------------------------------------------------------------------

    @invariant()
    def the_simulator_is_as_the_model_says(self) -> None:
        expected, sim = self.expected, self.sim
        listed = sim.ok("GET", "/events")["events"]
        assert [(e["event_id"], e["status"], e["executed_at"]) for e in listed] == [
            (e.event_id, e.status, None if e.ran_at is None else at(e.ran_at)) for e in expected.ordered()
        ]
        # Their order is the chat's affair: an undone message may come back among others.
        assert sorted(m["content"] for m in sim.state("chat")["messages"]) == sorted(expected.said)
        status = sim.ok("GET", "/simulation/status")
        pending = expected.pending()
        assert (status["current_time"], status["is_running"]) == (at(expected.now), expected.running)
        assert status["next_event_time"] == (at(pending[0].at) if pending else None)
        for name in ("pending", "executed", "failed"):
            assert status[f"{name}_events"] == sum(event.status == name for event in expected.events)
        assert [hold["hold_id"] for hold in sim.ok("GET", "/simulation/holds")["holds"]] == expected.holds


def test_the_simulator_agrees_with_the_model(server: Server) -> None:
    class OnServer(Story):
        def __init__(self) -> None:
            super().__init__(server)

    run_state_machine_as_test(OnServer, settings=settings(stateful_step_count=30))
