"""Random actions in every modality, for the property tests: what is done is drawn, whom it is done to is found in the
state, so that most actions succeed and some fail as they would in life.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from tests.ues.helpers import START, Sim, at
from tests.ues.stories.weather import report

PEOPLE = ["ann@example.com", "ben@example.com", "Cas <cas@example.com>", "user@example.com"]
NUMBERS = ["+15550000000", "+15551110001", "555 111 0002", "+49 30 1234"]
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Nowhere/Land"]


@dataclass(frozen=True)
class Action:
    """What to do (a name of ``ACTIONS``), and the chances that decide on its particulars."""

    name: str
    number: int
    text: str
    flag: bool


class Contents:
    """What there is in a simulation to do something to. An unknown id stands in where there is nothing."""

    def __init__(self, sim: Sim) -> None:
        self.exported = sim.ok("GET", "/scenario/export/environment")
        self.states = self.exported["modality_states"]
        self.now = self.exported["time_state"]["current_time"]
        self.sim = sim

    def _any(self, choices: list[str], number: int) -> str:
        return choices[number % len(choices)] if choices else "nothing"

    def email(self, number: int) -> str:
        return self._any(list(self.states["email"]["emails"]), number)

    def draft(self, number: int) -> str:
        return self._any(list(self.states["email"]["drafts"]), number)

    def sms(self, number: int) -> str:
        return self._any(list(self.states["sms"]["messages"]), number)

    def thread(self, number: int) -> str:
        return self._any(list(self.states["sms"]["conversations"]), number)

    def chat(self, number: int) -> str:
        return self._any([message["message_id"] for message in self.states["chat"]["messages"]], number)

    def meeting(self, number: int) -> str:
        return self._any(list(self.states["calendar"]["events"]), number)

    def calendar(self, number: int) -> str:
        return self._any(list(self.states["calendar"]["calendars"]), number)

    def contact(self, number: int) -> str:
        return self._any(list(self.states["contacts"]["contacts"]), number)

    def pending(self, number: int) -> str:
        events = self.sim.ok("GET", "/events", status="pending")["events"]
        return self._any([event["event_id"] for event in events], number)


Request = tuple[str, str, Any]
"""Method, path, body."""


def post(path: str, **body: Any) -> Request:
    return "POST", path, body


def event(modality: str, **data: Any) -> Request:
    return post("/events/immediate", modality=modality, data=data)


def _mail(d: Action) -> dict[str, Any]:
    return {
        "from_address": PEOPLE[d.number % 4],
        "to_addresses": [PEOPLE[(d.number + 1) % 4], PEOPLE[(d.number // 3) % 4]],
        "subject": d.text,
        "body_text": d.text * 3,
        "labels": ["work"] if d.flag else [],
    }


def _sms(d: Action) -> dict[str, Any]:
    to = [NUMBERS[(d.number + 1) % 4], *([NUMBERS[(d.number + 2) % 4]] if d.flag else [])]
    return {"from_number": NUMBERS[d.number % 4], "to_numbers": to, "body": d.text or "?"}


def _meeting(d: Action) -> dict[str, Any]:
    repeats = {"frequency": ["daily", "weekly", "monthly", "yearly"][d.number % 4], "end_type": "count", "count": 5}
    return {
        "title": d.text or "Untitled",
        "start": at(d.number * 60),
        "end": at(d.number * 60 + 1800),
        "timezone": ZONES[d.number % 4],
        "attendees": [{"email": PEOPLE[d.number % 2]}],
        **({"recurrence": repeats} if d.flag else {}),
    }


def _later(d: Action, w: Contents) -> Request:
    data: dict[str, Any] = {"operation": "send_message", "role": "user", "content": d.text}
    modality = "chat"
    if d.flag:
        modality, data = "email", {"operation": "receive", **_mail(d)}
    return post(
        "/events", modality=modality, data=data, scheduled_time=_after(w.now, d.number % 50), priority=d.number % 101
    )


def _after(now: str, seconds: int) -> str:
    return (datetime.fromisoformat(now) + timedelta(seconds=seconds)).isoformat()


def _scope(d: Action) -> dict[str, Any]:
    scope = ["this", "this_and_future", "all"][d.number % 3]
    return {"recurrence_scope": scope, **({"recurrence_id": START[:10]} if d.flag else {})}


LIVING: dict[str, Callable[[Action, Contents], Request]] = {
    "mail comes": lambda d, w: post("/email/receive", **_mail(d)),
    "mail comes in answer": lambda d, w: post("/email/receive", **_mail(d), in_reply_to=w.email(d.number)),
    "mail goes": lambda d, w: post("/email/send", **{k: v for k, v in _mail(d).items() if k != "labels"}),
    "mail is read": lambda d, w: post("/email/read", message_ids=[w.email(d.number)]),
    "mail is unread": lambda d, w: post("/email/unread", message_ids=[w.email(d.number)]),
    "mail is starred": lambda d, w: post("/email/star", message_ids=[w.email(d.number), w.email(d.number + 1)]),
    "mail is filed": lambda d, w: post("/email/move", message_ids=[w.email(d.number)], folder=d.text or "x"),
    "mail is archived": lambda d, w: post("/email/archive", message_ids=[w.email(d.number)]),
    "mail is deleted": lambda d, w: post("/email/delete", message_ids=[w.email(d.number)]),
    "mail is labelled": lambda d, w: post("/email/label", message_ids=[w.email(d.number)], labels=[d.text or "x", "y"]),
    "mail loses a label": lambda d, w: post("/email/unlabel", message_ids=[w.email(d.number)], labels=["work", "y"]),
    "mail is answered": lambda d, w: event(
        "email", operation="reply_all" if d.flag else "reply", message_id=w.email(d.number), body_text=d.text
    ),
    "mail is forwarded": lambda d, w: event(
        "email", operation="forward", message_id=w.email(d.number), to_addresses=[PEOPLE[0]], body_text=d.text
    ),
    "a draft is kept": lambda d, w: event(
        "email", operation="save_draft", subject=d.text, to_addresses=[PEOPLE[1]], body_text="so far"
    ),
    "a draft goes": lambda d, w: event("email", operation="send_draft", message_id=w.draft(d.number)),
    "sms comes": lambda d, w: post("/sms/receive", **_sms(d)),
    "sms goes": lambda d, w: post("/sms/send", **_sms(d)),
    "sms is read": lambda d, w: post("/sms/unread" if d.flag else "/sms/read", message_ids=[w.sms(d.number)]),
    "sms is deleted": lambda d, w: post("/sms/delete", message_ids=[w.sms(d.number)]),
    "sms is liked": lambda d, w: post(
        "/sms/react", message_id=w.sms(d.number), phone_number=NUMBERS[d.number % 4], emoji="👍"
    ),
    "sms is edited": lambda d, w: event(
        "sms", action="edit_message", edit_data={"message_id": w.sms(d.number), "new_body": d.text}
    ),
    "a conversation is kept tidy": lambda d, w: post(
        "/sms/conversation", thread_id=w.thread(d.number), is_muted=d.flag, draft_message=d.text
    ),
    "a group is made": lambda d, w: event(
        "sms", action="create_group", group_data={"group_name": d.text, "participant_numbers": NUMBERS[1:3]}
    ),
    "somebody joins": lambda d, w: event(
        "sms",
        action="add_participant",
        participant_data={"thread_id": w.thread(d.number), "phone_number": NUMBERS[d.number % 4]},
    ),
    "the user leaves": lambda d, w: event("sms", action="leave_group", group_data={"thread_id": w.thread(d.number)}),
    "chat": lambda d, w: post(
        "/chat/send",
        role="user" if d.flag else "assistant",
        content=d.text,
        conversation_id=f"c{d.number % 3}",
        metadata={"n": d.number},
    ),
    "chat is deleted": lambda d, w: post("/chat/delete", message_id=w.chat(d.number)),
    "chat is cleared": lambda d, w: post("/chat/clear", conversation_id=f"c{d.number % 3}"),
    "a meeting is made": lambda d, w: post("/calendar/create", **_meeting(d)),
    "a meeting moves": lambda d, w: post(
        "/calendar/update", event_id=w.meeting(d.number), **{**_meeting(d), "recurrence": None}, **_scope(d)
    ),
    "a meeting goes": lambda d, w: post("/calendar/delete", event_id=w.meeting(d.number), **_scope(d)),
    "a meeting is answered": lambda d, w: post(
        "/calendar/respond",
        event_id=w.meeting(d.number),
        attendee_email=PEOPLE[d.number % 2],
        response="accepted" if d.flag else "declined",
    ),
    "a calendar is made": lambda d, w: post("/calendar/calendars/create", name=d.text or "x"),
    "a calendar goes": lambda d, w: post("/calendar/calendars/delete", calendar_id=w.calendar(d.number)),
    "a calendar is the default": lambda d, w: post("/calendar/calendars/set-default", calendar_id=w.calendar(d.number)),
    "a contact is made": lambda d, w: post(
        "/contacts/create",
        first_name=d.text or "x",
        identifiers=[{"identifier_type": "email", "value": PEOPLE[d.number % 2]}],
        groups=["team"] if d.flag else [],
    ),
    "a contact changes": lambda d, w: post(
        "/contacts/update",
        contact_id=w.contact(d.number),
        nickname=d.text,
        add_groups=["law"],
        add_identifiers=[{"identifier_type": ["phone", "web"][d.number % 2], "value": d.text or " "}],
        **({"display_name": d.text} if d.flag else {}),
    ),
    "a contact is blocked": lambda d, w: post(
        "/contacts/block" if d.flag else "/contacts/unblock", contact_id=w.contact(d.number)
    ),
    "a contact goes": lambda d, w: post("/contacts/delete", contact_id=w.contact(d.number)),
    "contacts are merged": lambda d, w: post(
        "/contacts/merge", primary_contact_id=w.contact(d.number), secondary_contact_id=w.contact(d.number // 7)
    ),
    "the user moves": lambda d, w: post(
        "/location/update", latitude=d.number % 90, longitude=-(d.number % 180), named_location=d.text
    ),
    "the weather changes": lambda d, w: post(
        "/weather/update", latitude=d.number % 5, longitude=0, report=report(temp=250 + d.number % 50)
    ),
    "the user goes abroad": lambda d, w: event(
        "time", timezone=ZONES[d.number % 5], format_preference="24h" if d.flag else "12h"
    ),
}
"""What happens in the modalities, by name."""

MOVING: dict[str, Callable[[Action, Contents], Request]] = {
    "something is planned": _later,
    "a plan is dropped": lambda d, w: ("DELETE", f"/events/{w.pending(d.number)}", None),
    "time passes": lambda d, w: post("/simulator/time/advance", seconds=d.number % 40 + 0.5),
    "time skips": lambda d, w: post("/simulator/time/skip-to-next"),
}
"""What moves the clock, and what it will meet."""

STEERING: dict[str, Callable[[Action, Contents], Request]] = {
    "undo": lambda d, w: post("/simulation/undo", count=d.number % 7 + 1),
    "redo": lambda d, w: post("/simulation/redo", count=d.number % 7 + 1),
    "hold": lambda d, w: post("/simulation/hold", agent_id="a", reason=d.text, timeout_seconds=300),
    "scale": lambda d, w: post("/simulator/time/set-scale", scale=d.number % 9 + 1),
    "pause": lambda d, w: post("/simulator/time/pause" if d.flag else "/simulator/time/resume"),
    "start": lambda d, w: post("/simulation/start", time_scale=d.number % 3 + 1),
    "stop": lambda d, w: post("/simulation/stop"),
    "a key": lambda d, w: post(
        "/keys", name="n", permissions=["chat:send"], key_id=f"k{d.number}", secret=f"secret-of-the-key-{d.number}"
    ),
}
"""What is done to the simulation itself."""

ACTIONS = {**LIVING, **MOVING, **STEERING}

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


def actions(names: dict[str, Any], least: int, most: int) -> st.SearchStrategy[list[Action]]:
    """Some actions of those names, in a row."""
    action = st.builds(
        Action, name=st.sampled_from(sorted(names)), number=st.integers(0, 999), text=TEXT, flag=st.booleans()
    )
    return st.lists(action, min_size=least, max_size=most)


def request_of(action: Action, sim: Sim) -> Request:
    """The request that an action means in this simulation as it is now."""
    return ACTIONS[action.name](action, Contents(sim))


def live(sim: Sim, actions: list[Action]) -> None:
    """Do them all. Whatever comes of it, the server must have known what to answer."""
    for action in actions:
        method, path, body = request_of(action, sim)
        answer = sim.request(method, path, json=body)
        assert answer.status_code < 500, (action, answer.text)
        assert answer.status_code != 422, (action, body, answer.text)
