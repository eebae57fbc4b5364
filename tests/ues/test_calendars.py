"""The calendars themselves, and what scenario files may leave out."""

from tests.sentences import says
from tests.ues.helpers import START, Sim, at
from tests.ues.stories.calendar import create
from tests.ues.test_calendar import EVENT, event, load, refused, titles


def test_keeping_calendars(sim: Sim) -> None:
    sim.do("/calendar/calendars/create", name="Work", color="#00ff00", default_reminders=[{"minutes_before": 7}])
    listed = sim.participant().ok("GET", "/calendar/calendars")
    assert (listed["count"], listed["default_calendar_id"]) == (2, "primary")
    work = listed["calendars"][1]
    assert work == {
        "calendar_id": work["calendar_id"],
        "name": "Work",
        "color": "#00ff00",
        "visible": True,
        "event_count": 0,
        "created_at": START,
        "updated_at": START,
    }
    here = {"calendar_id": work["calendar_id"]}
    reminded = create(sim, "Reminded", **here)
    assert event(sim, reminded)["reminders"] == [{"minutes_before": 7, "type": "notification"}]
    assert event(sim, create(sim, "Unreminded", **here, reminders=[]))["reminders"] == []
    sim.advance(9)
    sim.do("/calendar/calendars/update", **here, name="Office", visible=False)
    changed = sim.ok("GET", "/calendar/calendars")["calendars"][1]
    assert changed == {**work, "name": "Office", "visible": False, "event_count": 2, "updated_at": at(9)}
    sim.do("/calendar/calendars/delete", **here)
    assert sim.ok("GET", "/calendar/calendars")["count"] == 1
    assert sim.state("calendar")["events"] == {}


def test_the_default_calendar(sim: Sim) -> None:
    sim.do("/calendar/calendars/create", name="Work", calendar_id="work")
    sim.do("/calendar/calendars/set-default", calendar_id="work")
    assert sim.ok("GET", "/calendar/calendars")["default_calendar_id"] == "work"
    assert event(sim, create(sim, "Unsaid"))["calendar_id"] == "work"
    assert event(sim, create(sim, "Said", calendar_id="primary"))["calendar_id"] == "primary"
    assert "default" in refused(sim, "/calendar/calendars/delete", calendar_id="work")
    sim.do("/calendar/calendars/delete", calendar_id="primary")
    assert event(sim, create(sim, "Primary is the default now", calendar_id="primary"))["calendar_id"] == "work"


def test_calendars_that_are_not_there(sim: Sim) -> None:
    for path in ("update", "delete", "set-default"):
        assert "no calendar 'x'" in refused(sim, f"/calendar/calendars/{path}", calendar_id="x")
    assert "taken" in refused(sim, "/calendar/calendars/create", name="n", calendar_id="primary")


def test_a_calendar_that_a_new_event_names_is_made(sim: Sim) -> None:
    event_id = create(sim, "Talk", calendar_id="team talks")
    made = sim.state("calendar")["calendars"]["team talks"]
    assert (made["name"], made["color"], made["event_ids"]) == ("Team Talks", "#4285f4", [event_id])
    assert event(sim, event_id)["calendar_id"] == "team talks"
    sim.ok("POST", "/simulation/undo")
    assert list(sim.state("calendar")["calendars"]) == ["primary"]


def test_the_answer_names_the_new_event(sim: Sim) -> None:
    message = sim.do("/calendar/create", **EVENT)["message"]
    (event_id,) = sim.state("calendar")["events"]
    assert message.endswith(f"calendar_event_id: {event_id}")


def test_an_event_is_looked_for_in_its_calendar(sim: Sim) -> None:
    sim.do("/calendar/calendars/create", name="Work", calendar_id="work")
    event_id = create(sim, "Talk", calendar_id="work")
    sim.do("/calendar/update", event_id=event_id, title="Left out")
    sim.do("/calendar/update", event_id=event_id, title="Named", calendar_id="work")
    assert says("work").within(refused(sim, "/calendar/delete", event_id=event_id, calendar_id="home"))
    sim.do("/calendar/delete", event_id=event_id)


def test_a_participant_keeps_appointments_but_not_calendars(sim: Sim) -> None:
    participant = sim.participant()
    create(participant, "Mine")
    for path in ("create", "update", "delete", "set-default"):
        answer = participant.post(f"/calendar/calendars/{path}", json={})
        assert answer.status_code == 403
        assert f"calendar:calendars:{path.removeprefix('set-')}" in answer.text


# --- scenario files ---------------------------------------------------------------------------------------------------


def test_a_file_may_leave_much_out(sim: Sim) -> None:
    least = {"calendar_id": "club", "title": "Old", "start": "2025-01-07T10:00:00", "end": "2025-01-07T11:00:00"}
    nulls = dict.fromkeys(
        ("event_id", "timezone", "status", "attendees", "reminders", "attachments", "recurrence_exceptions", "all_day"),
    )
    events = {
        "bare": least,
        "nulls": {**least, **nulls, "calendar_id": "primary", "deleted_at": None, "created_at": None, "new": 1},
        "series": {**least, "recurrence": {"frequency": "daily", "end_type": "count", "count": None}},
        "file": {**least, "attachments": [{"filename": "a", "size": 1, "mime_type": "m"}]},
    }
    assert load(sim, events=events, calendars=None, user_timezone=None)["warnings"] == []
    assert sim.ok("POST", "/environment/validate")["errors"] == []
    state = sim.state("calendar")
    assert {key: value["event_ids"] for key, value in state["calendars"].items()} == {
        "primary": ["nulls"],
        "club": ["bare", "series", "file"],
    }
    assert (state["events"]["nulls"]["timezone"], state["events"]["nulls"]["attendees"]) == ("UTC", [])
    assert state["events"]["bare"]["start"] == "2025-01-07T10:00:00+00:00"
    assert state["events"]["series"]["recurrence"]["end_type"] == "never"
    assert state["events"]["file"]["attachments"][0]["attachment_id"] == "file-attachment-1"
    once = sim.export()["environment"]["modality_states"]["calendar"]
    load(sim, **once)
    assert sim.export()["environment"]["modality_states"]["calendar"] == once


def test_what_a_file_says_was_deleted(sim: Sim) -> None:
    gone = {"calendar_id": "primary", "title": "Gone", "start": START, "end": START, "deleted_at": START}
    load(sim, events={"gone": gone, "here": {**gone, "title": "Here", "deleted_at": None}})
    assert (list(sim.state("calendar")["events"]), titles(sim)) == (["here"], ["Here"])
    assert sim.ok("GET", "/calendar/calendars")["calendars"][0]["event_count"] == 1
    assert says("gone").within(refused(sim, "/calendar/update", event_id="gone", title="x"))
    assert "gone" in sim.export()["environment"]["modality_states"]["calendar"]["events"]


def test_inconsistent_files_are_told(sim: Sim) -> None:
    broken = {"calendar_id": "primary", "title": "B", "start": at(9), "end": at(0), "timezone": "Mars/Olympus"}
    load(sim, events={"b": broken})
    errors = " ".join(sim.ok("POST", "/environment/validate")["errors"])
    assert says().within(errors)
    assert "Mars/Olympus" in errors
    assert titles(sim, start=at(5)) == ["B"]
