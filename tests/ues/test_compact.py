"""``compact=true``: counts and the newest, in some 20 kB, however much there is and however long it is."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.ues.helpers import Sim, at
from tests.ues.stories.weather import report

MOST_BYTES = 20_000
LONG = "long " * 500


def _mail(number: int, text: str) -> dict[str, Any]:
    times = {"sent_at": at(number), "received_at": at(number)}
    return {
        "message_id": f"m{number}",
        "thread_id": f"t{number}",
        "from_address": "a@b.c",
        "to_addresses": ["u@x"] * 50,
        "subject": f"{number} {text}",
        "body_text": text,
        "labels": [f"l{number % 500}"],
        "folder": f"f{number % 300}",
        **times,
    }


def _text(number: int, text: str) -> dict[str, Any]:
    return {
        "thread_id": f"t{number}",
        "from_number": f"+1555{number:07}",
        "to_numbers": ["+15550000000"],
        "body": text,
        "direction": "incoming",
        "sent_at": at(number),
    }


def _event(number: int, text: str) -> dict[str, Any]:
    return {
        "event_id": f"e{number}",
        "calendar_id": f"c{number % 300}",
        "title": f"{number} {text}",
        "start": at(number),
        "end": at(number + 1),
        "location": text,
        "attendees": [{"email": text}] * 50,
    }


def _chat(number: int, text: str) -> dict[str, Any]:
    return {
        "message_id": f"m{number}",
        "conversation_id": f"c{number % 300} {text}",
        "role": "user",
        "timestamp": at(number),
        "content": f"{number} {text}",
        "metadata": {"a": text},
    }


def _contact(number: int, text: str) -> dict[str, Any]:
    identifiers = [{"identifier_type": "email", "value": text or "x"}] * 30
    return {
        "contact_id": f"c{number}",
        "display_name": f"{number} {text}",
        "identifiers": identifiers,
        "groups": [f"g{number}"],
        "updated_at": at(number),
    }


def _place(number: int, text: str) -> dict[str, Any]:
    told = report() | {"alerts": [{"sender_name": text, "event": text, "start": 1, "end": 2, "description": text}] * 30}
    return {"latitude": 1, "longitude": 1, "current_report": told, "first_seen": at(number), "last_updated": at(number)}


def _table(make: Any, count: int, text: str) -> dict[str, Any]:
    return {f"m{number}": make(number, text) for number in range(count)}


STATES: dict[str, Callable[[int, str], dict[str, Any]]] = {
    "email": lambda count, text: {"emails": _table(_mail, count, text)},
    "sms": lambda count, text: {"user_phone_number": "+15550000000", "messages": _table(_text, count, text)},
    "calendar": lambda count, text: {"events": _table(_event, count, text)},
    "chat": lambda count, text: {"messages": [_chat(number, text) for number in range(count)]},
    "contacts": lambda count, text: {"contacts": _table(_contact, count, text)},
    "weather": lambda count, text: {"locations": _table(_place, count, text)},
}
SHOWN = {"email": "emails", "sms": "messages", "calendar": "events", "chat": "messages", "contacts": "contacts"}


@pytest.mark.parametrize("text", ["", LONG], ids=["short", "long"])
@pytest.mark.parametrize("name", STATES)
def test_a_compact_state_is_small_however_much_there_is(sim: Sim, name: str, text: str) -> None:
    count = 50 if text else 500
    state = STATES[name](count, text)
    sim.ok("POST", "/scenario/import/environment", {"data": {"modality_states": {name: state}}})
    answer = sim.get(f"/{name}/state", params={"compact": "true"})
    assert len(answer.content) <= MOST_BYTES
    told = answer.json()
    counts = {
        "email": "total_email_count",
        "sms": "total_message_count",
        "calendar": "event_count",
        "chat": "total_message_count",
        "contacts": "total_contact_count",
        "weather": "location_count",
    }
    assert told[counts[name]] == count
    newest = {"calendar": "m0", "chat": None}.get(name, f"m{count - 1}")
    shown = told[SHOWN.get(name, "locations")]
    assert len(shown) >= 2
    assert (newest in shown) if newest else shown[-1]["message_id"] == f"m{count - 1}"


def test_the_counts_of_folders_are_of_all_messages(sim: Sim) -> None:
    emails = {key: {**mail, "folder": "inbox"} for key, mail in _table(_mail, 500, "").items()}
    sim.ok("POST", "/scenario/import/environment", {"data": {"modality_states": {"email": {"emails": emails}}}})
    compact = sim.state("email", compact="true")
    assert compact["folder_counts"]["inbox"] == 500
    assert compact["folders"]["inbox"] == list(compact["emails"])
    assert set(compact["threads"]) <= {mail["thread_id"] for mail in compact["emails"].values()}


def test_what_is_over_gives_way_to_what_comes(sim: Sim) -> None:
    for title, start in (("over", -7200), ("long over", -90_000), ("next", 60), ("later", 7200)):
        sim.do("/calendar/create", title=title, start=at(start), end=at(start + 60))
    shown = sim.state("calendar", compact="true")["events"].values()
    assert [event["title"] for event in shown] == ["next", "later", "over", "long over"]
