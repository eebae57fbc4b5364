"""The calendar: appointments, answers, queries, and the calendars themselves. Series have a file of their own."""

from typing import Any

import pytest

from tests.sentences import says
from tests.ues.helpers import START, Sim, at
from tests.ues.stories.calendar import create

EVENT = {"title": "Talk", "start": at(3600), "end": at(7200)}
ANN = {"email": "Ann@Example.com"}


def event(sim: Sim, event_id: str) -> Any:
    return sim.state("calendar")["events"][event_id]


def refused(sim: Sim, path: str, **body: object) -> str:
    """An action that fails and changes nothing. Returns the reason."""
    before = sim.state("calendar")
    answer = sim.ok("POST", path, body)
    assert answer["status"] == "failed", answer
    assert sim.state("calendar") == before
    return str(answer["message"])


def titles(sim: Sim, **body: object) -> list[str]:
    return [found["title"] for found in sim.query("calendar", **body)["events"]]


def load(sim: Sim, **state: object) -> Any:
    return sim.ok("POST", "/scenario/import/environment", {"data": {"modality_states": {"calendar": state}}})


def test_a_new_calendar(sim: Sim) -> None:
    assert sim.state("calendar") == {
        "modality_type": "calendar",
        "last_updated": START,
        "update_count": 0,
        "default_calendar_id": "primary",
        "user_timezone": "UTC",
        "calendars": {
            "primary": {
                "calendar_id": "primary",
                "name": "Personal",
                "color": "#4285f4",
                "visible": True,
                "created_at": START,
                "updated_at": START,
                "event_ids": [],
                "default_reminders": [],
            }
        },
        "events": {},
        "calendar_count": 1,
        "event_count": 0,
    }


def test_what_an_appointment_holds(sim: Sim) -> None:
    event_id = create(sim, "Talk")
    assert event(sim, event_id) == {
        "event_id": event_id,
        "calendar_id": "primary",
        "title": "Talk",
        "start": at(3600),
        "end": at(7200),
        "all_day": False,
        "timezone": "UTC",
        "description": None,
        "location": None,
        "status": "confirmed",
        "organizer": None,
        "attendees": [],
        "recurrence": None,
        "recurrence_exceptions": [],
        "recurrence_id": None,
        "parent_event_id": None,
        "reminders": [],
        "color": None,
        "visibility": "default",
        "transparency": "opaque",
        "attachments": [],
        "conference_link": None,
        "created_at": START,
        "updated_at": START,
        "deleted_at": None,
    }
    assert sim.state("calendar")["calendars"]["primary"]["event_ids"] == [event_id]


FULL: dict[str, Any] = {
    "title": "Talk",
    "start": "2025-02-03T10:00:00+01:00",
    "end": "2025-02-03T11:30:00+01:00",
    "timezone": "Europe/Berlin",
    "description": "On things",
    "location": "Room 1",
    "status": "tentative",
    "organizer": "ann@example.com",
    "attendees": [{"email": "b@x", "display_name": "B", "optional": True, "response": "accepted", "comment": "Yes"}],
    "recurrence_exceptions": ["2025-02-04"],
    "reminders": [{"minutes_before": 0, "type": "both"}, {"minutes_before": 10}],
    "color": "#123456",
    "visibility": "private",
    "transparency": "transparent",
    "attachments": [{"filename": "a", "size": 0, "mime_type": "m", "url": "http://x", "attachment_id": "att"}],
    "conference_link": "https://meet.example/1",
}
STORED = {
    **FULL,
    "start": "2025-02-03T09:00:00+00:00",
    "end": "2025-02-03T10:30:00+00:00",
    "reminders": [{"minutes_before": 0, "type": "both"}, {"minutes_before": 10, "type": "notification"}],
    "attachments": [{**FULL["attachments"][0], "data": None}],
}


def test_every_field_is_kept(sim: Sim) -> None:
    made = event(sim, create(sim, **FULL))
    assert {name: made[name] for name in FULL} == STORED


@pytest.mark.parametrize("name", FULL)
def test_an_update_changes_what_it_names_and_nothing_else(sim: Sim, name: str) -> None:
    first, wanted = {**EVENT, "start": "2025-02-03T08:00:00Z", "end": "2025-02-03T12:00:00Z"}, FULL[name]
    event_id = create(sim, **first)
    before = event(sim, event_id)
    sim.advance(60)
    sim.do("/calendar/update", event_id=event_id, **{name: wanted})
    assert event(sim, event_id) == {**before, name: STORED[name], "updated_at": at(60)}


def test_null_changes_nothing(sim: Sim) -> None:
    event_id = create(sim, **FULL)
    before = event(sim, event_id)
    sim.do("/calendar/update", event_id=event_id, **dict.fromkeys(FULL, None))
    assert event(sim, event_id) == before


def test_a_scheduled_update_keeps_what_it_does_not_name(sim: Sim) -> None:
    """The input's defaults (timezone UTC, confirmed, …) are those of a creation."""
    event_id = create(sim, **FULL)
    data = {"operation": "update", "event_id": event_id, "start": at(0), "end": at(60), "description": None}
    sim.event("calendar", data, seconds=10)
    sim.advance(10)
    changed = event(sim, event_id)
    assert (changed["start"], changed["end"], changed["updated_at"]) == (at(0), at(60), at(10))
    assert {name: changed[name] for name in FULL if name not in ("start", "end")} == {
        name: value for name, value in STORED.items() if name not in ("start", "end")
    }


def test_moving_keeps_the_answers(sim: Sim) -> None:
    event_id = create(sim, "Talk", attendees=[{**ANN, "response": "accepted"}])
    sim.do("/calendar/update", event_id=event_id, start=at(7200), end=at(10800))
    assert event(sim, event_id)["attendees"][0]["response"] == "accepted"


def test_an_appointment_that_would_end_before_it_starts(sim: Sim) -> None:
    event_id = create(sim, "Talk")
    assert sim.post("/calendar/create", json={**EVENT, "end": at(3599)}).status_code == 400
    both = {"event_id": event_id, "start": at(20), "end": at(10)}
    assert sim.post("/calendar/update", json=both).status_code == 400
    assert says().within(refused(sim, "/calendar/update", event_id=event_id, start=at(7201)))
    sim.do("/calendar/update", event_id=event_id, start=at(7200))


def test_deleting(sim: Sim) -> None:
    kept, gone = create(sim, "Kept"), create(sim, "Gone")
    sim.do("/calendar/delete", event_id=gone)
    state = sim.state("calendar")
    assert list(state["events"]) == [kept] == state["calendars"]["primary"]["event_ids"]
    for path in ("delete", "update"):
        assert says(gone).within(refused(sim, f"/calendar/{path}", event_id=gone))


def test_answering(sim: Sim) -> None:
    event_id = create(sim, "Talk", attendees=[ANN, {"email": "ben@example.com"}])
    answer = {"event_id": event_id, "attendee_email": " ann@example.COM "}
    sim.participant().do("/calendar/respond", **answer, response="declined", response_comment="Ill")
    ann, ben = event(sim, event_id)["attendees"]
    assert (ann["response"], ann["comment"], ben["response"]) == ("declined", "Ill", "needs-action")
    sim.do("/calendar/respond", **answer, calendar_id="primary", response="needs-action")
    ann = event(sim, event_id)["attendees"][0]
    assert (ann["response"], ann["comment"]) == ("needs-action", None)


def test_somebody_else_answers_later(sim: Sim) -> None:
    event_id = create(sim, "Talk", attendees=[ANN])
    data = {"operation": "respond", "event_id": event_id, "calendar_id": "primary"}
    data |= {"attendee_email": "ann@example.com", "response": "tentative", "response_comment": "At five?"}
    sim.event("calendar", data, seconds=5)
    sim.advance(5)
    assert event(sim, event_id)["attendees"][0]["comment"] == "At five?"
    assert event(sim, event_id)["updated_at"] == at(5)


def test_who_is_not_invited_can_not_answer(sim: Sim) -> None:
    event_id = create(sim, "Talk", attendees=[ANN])
    answer = {"event_id": event_id, "attendee_email": "ben@example.com", "response": "accepted"}
    assert "ben@example.com" in refused(sim, "/calendar/respond", **answer)
    assert says().within(refused(sim, "/calendar/respond", **{**answer, "event_id": "x"}))
    assert sim.post("/calendar/respond", json={**answer, "response": "maybe"}).status_code == 422


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("create", {}),
        ("create", {**EVENT, "title": None}),
        ("create", {**EVENT, "start": "soon"}),
        ("create", {**EVENT, "status": "maybe"}),
        ("create", {**EVENT, "visibility": "secret"}),
        ("create", {**EVENT, "transparency": "foggy"}),
        ("create", {**EVENT, "attendees": [{"display_name": "Ann"}]}),
        ("create", {**EVENT, "attendees": [{"email": "a@x", "response": "perhaps"}]}),
        ("create", {**EVENT, "reminders": [{"minutes_before": -1}]}),
        ("create", {**EVENT, "reminders": [{"minutes_before": 1, "type": "siren"}]}),
        ("create", {**EVENT, "attachments": [{"filename": "a", "size": -1, "mime_type": "x"}]}),
        ("create", {**EVENT, "recurrence": {"frequency": "hourly"}}),
        ("create", {**EVENT, "recurrence": {"frequency": "daily", "interval": 0}}),
        ("create", {**EVENT, "recurrence": {"frequency": "daily", "end_type": "count"}}),
        ("create", {**EVENT, "recurrence": {"frequency": "daily", "end_type": "until", "count": 2}}),
        ("create", {**EVENT, "recurrence": {"frequency": "monthly", "day_of_month": 32}}),
        ("create", {**EVENT, "recurrence": {"frequency": "yearly", "month_of_year": 13}}),
        ("create", {**EVENT, "recurrence": {"frequency": "weekly", "days_of_week": ["mon"]}}),
        ("update", {"title": "x"}),
        ("update", {"event_id": "x", "recurrence_scope": "some"}),
        ("delete", {}),
        ("respond", {"event_id": "x", "response": "accepted"}),
        ("query", {"limit": 0}),
        ("query", {"limit": 1001}),
        ("query", {"offset": -1}),
        ("query", {"status": "x"}),
        ("calendars/create", {}),
        ("calendars/delete", {}),
    ],
)
def test_what_does_not_fit_is_refused(sim: Sim, path: str, body: dict[str, Any]) -> None:
    assert sim.post(f"/calendar/{path}", json=body).status_code == 422


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "Europe", "../../etc/passwd", "x" * 5000, "a\x00b"])
def test_unknown_time_zones(sim: Sim, name: str) -> None:
    assert "time zone" in refused(sim, "/calendar/create", **EVENT, timezone=name)


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_the_ends_of_time(sim: Sim, moment: str) -> None:
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        for rule in ({"frequency": "daily"}, {"frequency": "weekly", "interval": 2**62}, {"frequency": "monthly"}):
            times = {
                "start": moment,
                "end": moment,
                "timezone": zone,
                "recurrence": rule,
                "all_day": zone > "Pacific/M",
            }
            event_id = create(sim, "Edge", **times)
            for window in ({}, {"start": moment}, {"end": moment}, {"start": moment, "end": moment}):
                sim.query("calendar", expand_recurring=True, **window)
            for scope in ("this", "this_and_future", "all"):
                body = {"event_id": event_id, "recurrence_scope": scope, "recurrence_id": moment}
                sim.ok("POST", "/calendar/update", {**body, "title": scope, "start": moment, "end": moment})
    assert sim.ok("GET", "/events/summary")["failed"] == 0


def test_all_day_appointments(sim: Sim) -> None:
    event_id = create(sim, "Fair", all_day=True, start="2025-01-08T00:00:00Z", end="2025-01-10T00:00:00Z")
    assert event(sim, event_id)["all_day"] is True
    assert titles(sim, start="2025-01-09T12:00:00Z", end="2025-01-09T13:00:00Z") == ["Fair"]
    assert titles(sim, start="2025-01-10T00:00:00Z") == []


def test_ids_that_an_event_gives(sim: Sim) -> None:
    data = {"operation": "create", **EVENT, "event_id": "mine"}
    assert sim.event("calendar", data)["status"] == "executed"
    again = sim.event("calendar", data)
    assert (again["status"], again["error_message"]) == ("failed", "event_id 'mine' is taken")
    assert event(sim, "mine")["title"] == "Talk"


# --- queries ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def week(sim: Sim) -> Sim:
    sim.do("/calendar/calendars/create", name="Work", calendar_id="work")
    create(sim, "Alpha", start=at(0), end=at(100), description="About BETA", attendees=[ANN], location="Zoo")
    create(sim, "beta", start=at(100), end=at(200), status="tentative", calendar_id="work")
    create(sim, "Gamma", start=at(300), end=at(300), location="Bethel")
    return sim


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, "Alpha beta Gamma"),
        ({"sort_order": "desc"}, "Gamma beta Alpha"),
        ({"sort_by": "title", "sort_order": "desc"}, "beta Gamma Alpha"),
        ({"sort_by": "location"}, "beta Gamma Alpha"),
        ({"calendar_ids": ["work", "none"]}, "beta"),
        ({"calendar_ids": []}, ""),
        ({"status": "tentative"}, "beta"),
        ({"has_attendees": True}, "Alpha"),
        ({"has_attendees": False}, "beta Gamma"),
        ({"recurring": True}, ""),
        ({"recurring": False, "expand_recurring": True}, "Alpha beta Gamma"),
        ({"search": "bet"}, "Alpha beta Gamma"),
        ({"search": "ZOO"}, "Alpha"),
        ({"start": at(100)}, "beta Gamma"),
        ({"start": at(99), "end": at(100)}, "Alpha"),
        ({"start": at(300)}, "Gamma"),
        ({"end": at(300)}, "Alpha beta"),
        ({"limit": 1, "offset": 1}, "beta"),
        ({"offset": 3}, ""),
    ],
)
def test_queries(week: Sim, body: dict[str, Any], expected: str) -> None:
    assert titles(week, **body) == expected.split()


def test_the_answer_of_a_query(week: Sim) -> None:
    answer = week.query("calendar", limit=2, search="bet")
    assert (answer["modality_type"], answer["count"], answer["returned_count"]) == ("calendar", 2, 2)
    assert (answer["total_count"], answer["query"]["limit"], answer["query"]["search"]) == (3, 2, "bet")
    for field in ("sort_by", "sort_order"):
        assert week.post("/calendar/query", json={field: "color"}).status_code == 400


def test_the_compact_state(sim: Sim) -> None:
    event_id = create(sim, **FULL)
    state = sim.state("calendar", compact="true")
    shown = state["events"][event_id]
    assert not {"description", "attachments", "created_at"} & set(shown)
    assert (shown["title"], shown["start"], shown["attendees"]) == ("Talk", STORED["start"], STORED["attendees"])
    assert "event_ids" not in state["calendars"]["primary"]
    assert state["event_count"] == 1
