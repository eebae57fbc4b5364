"""A day's planning."""

from tests.ues.helpers import Sim, at

ME, ANN = "user@example.com", "ann@example.com"


def create(sim: Sim, title: str, **fields: object) -> str:
    """Enter an appointment of an hour and return its id."""
    before = set(sim.state("calendar")["events"])
    sim.do("/calendar/create", **{"title": title, "start": at(3600), "end": at(7200), **fields})
    event_id: str
    (event_id,) = set(sim.state("calendar")["events"]) - before
    return event_id


def tell(sim: Sim) -> None:
    """Enter, move, answer and delete appointments; keep a second calendar for a while."""
    paper = {"filename": "a.pdf", "size": 3, "mime_type": "application/pdf"}
    people = [{"email": ME, "response": "accepted"}, {"email": ANN, "display_name": "Ann"}]
    review = create(sim, "Review 🗓", attendees=people, attachments=[paper], reminders=[{"minutes_before": 5}])
    lunch = create(sim, "Lunch", all_day=True, timezone="Europe/Berlin")
    sim.do("/calendar/update", event_id=review, start=at(7200), end=at(9000), location="Room 2")
    sim.do("/calendar/respond", event_id=review, attendee_email=ANN, response="tentative", response_comment="Late")
    sim.do("/calendar/calendars/create", name="Work", color="#ff0000")
    work = sim.ok("GET", "/calendar/calendars")["calendars"][-1]["calendar_id"]
    create(sim, "In work", calendar_id=work)
    sim.do("/calendar/calendars/set-default", calendar_id=work)
    sim.do("/calendar/calendars/update", calendar_id=work, name="Office", visible=False)
    sim.do("/calendar/calendars/set-default", calendar_id="primary")
    sim.do("/calendar/calendars/delete", calendar_id=work)
    sim.do("/calendar/delete", event_id=lunch)
    plan_series(sim)


def plan_series(sim: Sim) -> None:
    """Enter a daily meeting; change and delete some of its occurrences, and how it goes on."""
    daily = create(sim, "Stand-up", recurrence={"frequency": "daily", "end_type": "count", "count": 20})
    on = {"event_id": daily, "recurrence_scope": "this"}
    sim.do("/calendar/update", **on, recurrence_id="2025-01-08", title="Long stand-up")
    sim.do("/calendar/delete", **on, recurrence_id="2025-01-09")
    sim.do("/calendar/update", **on, recurrence_id="2025-01-16", location="Outside")
    following = {"event_id": daily, "recurrence_scope": "this_and_future"}
    sim.do("/calendar/update", **following, recurrence_id="2025-01-15", start=day(9, 11), end=day(9, 12))
    sim.do("/calendar/delete", **following, recurrence_id="2025-01-13")
    sim.do("/calendar/update", event_id=daily, recurrence_scope="all", start=day(1, 10), end=day(1, 11))


def day(number: int, hour: int) -> str:
    """An instant some days after the 6th of January."""
    return f"2025-01-{6 + number:02}T{hour:02}:00:00+00:00"
