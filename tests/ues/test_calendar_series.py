"""Changes to recurring events: to one occurrence, to what follows, to all."""

import random
from typing import Any

import pytest

from tests.ues.helpers import Sim
from tests.ues.stories.calendar import create
from tests.ues.test_calendar import event, load, refused
from tests.ues.test_calendar_recurrence import WEEKLY_CALL, days, occurrences, some_rule
from tests.work import NIGHTLY


@pytest.fixture
def call(sim: Sim) -> str:
    return create(sim, **WEEKLY_CALL)


# --- one occurrence ---------------------------------------------------------------------------------------------------

MOVED = {"start": "2025-01-14T10:00:00+01:00", "end": "2025-01-14T11:00:00+01:00"}


def test_changing_one_occurrence(sim: Sim, call: str) -> None:
    sim.do("/calendar/update", event_id=call, recurrence_id="2025-01-13T08:00:00Z", title="Moved", **MOVED)
    assert days(sim, end="2025-01-21") == ["01-06 09:00 Call", "01-14 10:00 Moved", "01-20 09:00 Call"]
    series, own = sim.state("calendar")["events"].values()
    assert series["recurrence_exceptions"] == ["2025-01-13T08:00:00Z"]
    assert (own["parent_event_id"], own["recurrence_id"], own["recurrence"]) == (call, "2025-01-13T08:00:00Z", None)
    assert [e["title"] for e in sim.query("calendar", recurring=True)["events"]] == ["Call", "Moved"]
    sim.do("/calendar/update", event_id=call, recurrence_id="2025-01-13", title="Again")
    assert sim.state("calendar")["event_count"] == 2
    assert days(sim, end="2025-01-15")[1] == "01-14 10:00 Again"
    sim.do("/calendar/update", event_id=own["event_id"], title="By its own id")
    assert days(sim, end="2025-01-15")[1] == "01-14 10:00 By its own id"


def test_one_occurrence_can_not_recur(sim: Sim, call: str) -> None:
    body = {"event_id": call, "recurrence_id": "2025-01-13", "recurrence": {"frequency": "daily"}}
    assert "can't recur" in refused(sim, "/calendar/update", **body)


def test_deleting_one_occurrence(sim: Sim, call: str) -> None:
    sim.do("/calendar/delete", event_id=call, recurrence_id="2025-01-13")
    assert days(sim, end="2025-01-21") == ["01-06 09:00 Call", "01-20 09:00 Call"]
    assert event(sim, call)["recurrence_exceptions"] == ["2025-01-13"]
    for path in ("update", "delete"):
        assert "was deleted" in refused(sim, f"/calendar/{path}", event_id=call, recurrence_id="2025-01-13T08:00:00Z")


@pytest.mark.parametrize("by_own_id", [True, False])
def test_deleting_an_occurrence_that_was_changed(sim: Sim, call: str, by_own_id: bool) -> None:
    sim.do("/calendar/update", event_id=call, recurrence_id="2025-01-13", title="Changed")
    own = list(sim.state("calendar")["events"])[1]
    named = {"event_id": own} if by_own_id else {"event_id": call, "recurrence_id": "2025-01-13"}
    sim.do("/calendar/delete", **named)
    assert days(sim, end="2025-01-21") == ["01-06 09:00 Call", "01-20 09:00 Call"]
    assert event(sim, call)["recurrence_exceptions"] == ["2025-01-13"]


def test_a_file_may_lack_the_exception_of_a_changed_occurrence(sim: Sim) -> None:
    series = {**WEEKLY_CALL, "calendar_id": "primary"}
    times = {"start": "2025-01-15T09:00:00Z", "end": "2025-01-15T10:00:00Z", "title": "Own"}
    own = {**series, **times, "recurrence": None, "parent_event_id": "s", "recurrence_id": "2025-01-13T08:00:00Z"}
    load(sim, events={"s": series, "o": own})
    expected = ["01-06 09:00 Call", "01-15 10:00 Own", "01-20 09:00 Call"]
    assert days(sim, end="2025-01-21") == expected
    sim.do("/calendar/delete", event_id="o")
    assert days(sim, end="2025-01-21") == [expected[0], expected[2]]


@pytest.mark.parametrize("recurrence_id", ["2025-01-14", "2024-12-30", "2025-02-30", "soon", "", "9999-12-31"])
def test_occurrences_that_there_are_not(sim: Sim, call: str, recurrence_id: str) -> None:
    for scope in ("this", "this_and_future"):
        body = {"event_id": call, "recurrence_id": recurrence_id, "recurrence_scope": scope}
        assert "occurrence" in (reason := refused(sim, "/calendar/delete", **body)) or "date" in reason
        refused(sim, "/calendar/update", **body, title="x")


def test_an_attendee_answers_for_one_occurrence(sim: Sim) -> None:
    call = create(sim, **WEEKLY_CALL, attendees=[{"email": "ann@x"}])
    data = {"operation": "respond", "event_id": call, "attendee_email": "ann@x", "response": "declined"}
    sim.event("calendar", {**data, "recurrence_id": "2025-01-13"})
    answers = [found["attendees"][0]["response"] for found in occurrences(sim, end="2025-01-21")]
    assert answers == ["needs-action", "declined", "needs-action"]
    sim.do("/calendar/respond", event_id=call, attendee_email="ann@x", response="accepted")
    answers = [found["attendees"][0]["response"] for found in occurrences(sim, end="2025-01-21")]
    assert answers == ["accepted", "declined", "accepted"]


# --- this and future --------------------------------------------------------------------------------------------------


def test_changing_what_follows(sim: Sim, call: str) -> None:
    sim.do("/calendar/delete", event_id=call, recurrence_id="2025-01-27")
    sim.do("/calendar/update", event_id=call, recurrence_id="2025-02-03T08:00:00Z", location="Own")
    named = {"event_id": call, "recurrence_scope": "this_and_future", "recurrence_id": "2025-01-20"}
    sim.do("/calendar/update", **named, title="New", start="2025-01-21T10:00:00+01:00", end="2025-01-21T11:00:00+01:00")
    assert days(sim, end="2025-02-12") == [
        "01-06 09:00 Call",
        "01-13 09:00 Call",
        "01-21 10:00 New",
        "02-03 09:00 Call",
        "02-11 10:00 New",
    ]
    old, own, new = sim.state("calendar")["events"].values()
    assert old["recurrence"]["end_date"] == "2025-01-19"
    assert old["recurrence_exceptions"] == []
    assert (own["parent_event_id"], own["recurrence_id"]) == (new["event_id"], "2025-02-04T09:00:00+00:00")
    assert new["recurrence_exceptions"] == ["2025-01-28", "2025-02-04T09:00:00+00:00"]
    assert (new["recurrence"]["end_type"], new["parent_event_id"]) == ("never", None)


def test_a_counted_series_is_divided(sim: Sim) -> None:
    rule = {"frequency": "weekly", "end_type": "count", "count": 5}
    call = create(sim, **{**WEEKLY_CALL, "recurrence": rule}, recurrence_exceptions=["2025-01-13"])
    named = {"event_id": call, "recurrence_scope": "this_and_future", "recurrence_id": "2025-01-20"}
    sim.do("/calendar/update", **named, title="New")
    old, new = sim.state("calendar")["events"].values()
    assert (old["recurrence"]["count"], new["recurrence"]["count"]) == (2, 3)
    assert [day[-4:] for day in days(sim, end=None)] == ["Call", " New", " New", " New"]


def test_deleting_what_follows(sim: Sim, call: str) -> None:
    sim.do("/calendar/update", event_id=call, recurrence_id="2025-01-13", title="Earlier")
    sim.do("/calendar/update", event_id=call, recurrence_id="2025-01-27", title="Later")
    named = {"event_id": call, "recurrence_scope": "this_and_future", "recurrence_id": "2025-01-20T08:00:00Z"}
    sim.do("/calendar/delete", **named)
    assert days(sim) == ["01-06 09:00 Call", "01-13 09:00 Earlier"]
    assert sim.state("calendar")["event_count"] == 2


def test_from_the_first_occurrence_on_is_all(sim: Sim, call: str) -> None:
    named = {"event_id": call, "recurrence_scope": "this_and_future", "recurrence_id": "2025-01-06"}
    sim.do("/calendar/update", **named, title="New")
    assert (event(sim, call)["title"], sim.state("calendar")["event_count"]) == ("New", 1)
    sim.do("/calendar/delete", **named)
    assert sim.state("calendar")["events"] == {}


# --- all --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [{}, {"recurrence_scope": "this_and_future"}, {"recurrence_scope": "all"}])
def test_a_series_with_no_occurrence_named_is_meant_as_a_whole(sim: Sim, call: str, named: dict[str, str]) -> None:
    sim.do("/calendar/update", event_id=call, recurrence_id="2025-01-13", title="Own")
    sim.do("/calendar/update", event_id=call, title="New", **named)
    assert event(sim, call)["title"] == "New"
    sim.do("/calendar/delete", event_id=call, **named)
    assert sim.state("calendar")["events"] == {}


def test_moving_a_whole_series(sim: Sim) -> None:
    rule = {"frequency": "weekly", "days_of_week": ["monday", "thursday"]}
    call = create(sim, **{**WEEKLY_CALL, "recurrence": rule}, recurrence_exceptions=["2025-01-13"])
    sim.do("/calendar/update", event_id=call, recurrence_id="2025-01-16", title="Own")
    times = {"start": "2025-01-07T10:00:00+01:00", "end": "2025-01-07T10:30:00+01:00"}
    sim.do("/calendar/update", event_id=call, recurrence_scope="all", **times)
    assert days(sim, end="2025-01-22") == [
        "01-07 10:00 Call",
        "01-10 10:00 Call",
        "01-16 09:00 Own",
        "01-21 10:00 Call",
    ]
    assert event(sim, call)["recurrence"]["days_of_week"] == ["tuesday", "friday"]
    assert event(sim, call)["recurrence_exceptions"] == ["2025-01-14", "2025-01-17"]


def test_all_occurrences_move_as_far_as_the_one_that_is_named(sim: Sim, call: str) -> None:
    times = {"start": "2025-03-31T10:00:00+02:00", "end": "2025-03-31T11:00:00+02:00"}
    sim.do("/calendar/update", event_id=call, recurrence_scope="all", recurrence_id="2025-03-31", **times)
    assert days(sim, end="2025-01-14") == ["01-06 10:00 Call", "01-13 10:00 Call"]
    assert event(sim, call)["end"] == "2025-01-06T10:00:00+00:00"


def test_a_changed_occurrence_leads_to_its_series(sim: Sim, call: str) -> None:
    sim.do("/calendar/update", event_id=call, recurrence_id="2025-01-13", title="Own")
    own = list(sim.state("calendar")["events"])[1]
    sim.do("/calendar/update", event_id=own, recurrence_scope="all", location="Everywhere")
    assert event(sim, call)["location"] == "Everywhere"
    sim.do("/calendar/delete", event_id=own, recurrence_scope="this_and_future")
    assert days(sim) == ["01-06 09:00 Call"]


def test_another_rule_for_the_whole_series(sim: Sim, call: str) -> None:
    sim.do("/calendar/update", event_id=call, recurrence={"frequency": "monthly"})
    assert days(sim, end="2025-04-01") == ["01-06 09:00 Call", "02-06 09:00 Call", "03-06 09:00 Call"]


def test_monthly_and_yearly_days_move_with_the_start(sim: Sim) -> None:
    rule = {"frequency": "yearly", "day_of_month": 6, "month_of_year": 1}
    call = create(sim, **{**WEEKLY_CALL, "recurrence": rule})
    times = {"start": "2025-02-07T09:00:00+01:00", "end": "2025-02-07T10:00:00+01:00"}
    sim.do("/calendar/update", event_id=call, recurrence_scope="all", **times)
    assert [found["start"][:10] for found in occurrences(sim, None, "2027-01-01")] == ["2025-02-07", "2026-02-07"]


def test_the_page_tells_of_the_next_occurrences(sim: Sim, call: str) -> None:
    sim.advance(10 * 86400)
    page = sim.ok("GET", "/environment/state", compact="true")["modalities"]["calendar"]
    assert page["next"] == ["2025-01-20T08:00 Call", "2025-01-27T08:00 Call", "2025-02-03T08:00 Call"]


# --- all of it together -----------------------------------------------------------------------------------------------


def something(chance: random.Random, ids: list[str]) -> dict[str, object]:
    """Some event's data, sensible or not."""
    day = f"2025-01-{chance.randint(1, 31):02}"
    hour = chance.randint(0, 22)
    times = {"start": f"{day}T{hour:02}:00:00+01:00", "end": f"{day}T{hour + 1:02}:00:00+01:00"}
    rule = {name: value for name, value in some_rule(chance).items() if value is not None}
    operation = chance.choice(["create", "update", "update", "update", "delete", "respond"])
    if operation == "create":
        data: dict[str, Any] = {
            "title": day,
            **times,
            "timezone": chance.choice(["UTC", "Europe/Berlin", "Pacific/Apia"]),
        }
        data |= {"recurrence": rule} if chance.random() < 0.8 else {}
        return {"operation": operation, **data, "attendees": [{"email": "a@x"}], "all_day": chance.random() < 0.2}
    data = {"operation": operation, "event_id": chance.choice(ids or ["none"])}
    data["recurrence_scope"] = chance.choice(["this", "this_and_future", "all"])
    if chance.random() < 0.8:
        data["recurrence_id"] = chance.choice([day, f"{day}T09:00:00Z", "2025-02-03", "never"])
    if operation == "update":
        data |= chance.choice([{}, times, {"start": times["start"]}, {"end": times["end"]}, {"timezone": "Asia/Tokyo"}])
        data |= chance.choice([{"title": "new"}, {"recurrence": rule}, {"recurrence_exceptions": [day]}, {}])
    return {**data, "attendee_email": "a@x", "response": "accepted"} if operation == "respond" else data


def states(sim: Sim) -> Any:
    return sim.export()["environment"]["modality_states"]["calendar"]


@pytest.mark.parametrize("seed", range(3 if NIGHTLY else 1))
def test_whatever_is_done_is_consistent_and_can_be_undone(sim: Sim, seed: int) -> None:
    chance = random.Random(seed)
    parent = {**WEEKLY_CALL, "calendar_id": "primary", "parent_event_id": "own", "recurrence_id": "2025-01-13"}
    load(sim, events={"own": parent, "child": {**parent, "recurrence": {"frequency": "daily"}}})
    before, reasons = states(sim), []
    for _ in range(90 if NIGHTLY else 18):
        reasons.append(sim.event("calendar", something(chance, list(sim.state("calendar")["events"])))["error_message"])
        sim.query("calendar", expand_recurring=True, limit=5)
    assert reasons.count(None) > len(reasons) / 3
    assert [reason for reason in reasons if reason and reason.startswith("unexpected")] == []
    assert sim.ok("POST", "/environment/validate")["errors"] == []
    after = states(sim)
    load_twice = sim.server.new_simulation(start=None)
    load(load_twice, **after)
    assert states(load_twice) == after
    load_twice.delete_me()
    sim.ok("POST", "/simulation/undo", {"count": 100})
    assert str(states(sim)) == str(before)
    sim.ok("POST", "/simulation/redo", {"count": 100})
    assert str(states(sim)) == str(after)
