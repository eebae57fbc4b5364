"""Write scenario.json and initial_state.json from ``source/`` and the ground truth.

``python scenarios/reschedule_day/build.py`` writes them, ``--check`` only says whether they are up to date. The
loader reads only the JSON.
"""

import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

import ground_truth as truth  # noqa: E402
from phrases import AGREEMENT, REFUSAL  # noqa: E402
from slots import BERLIN, FOREIGN_TIMES, LONDON, Slot, slot_of  # noqa: E402

from proctor.scenarios.kit import building  # noqa: E402

VERSION = "5"
"""The scenario's version, which results carry; it rises with every change that may affect scores."""

CANARY = "b1156fdf-aea5-4437-8229-87b7cf96225c"
"""A canary: if a model's training data has it, they have this scenario. Keep this file out of training corpora."""

START = "2026-06-10T08:00:00+01:00"
END = "2026-06-10T16:00:00+01:00"
USER_PROMPT = (FOLDER / "source" / "user_prompt.txt").read_text(encoding="utf-8").strip()


def read(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / "source" / f"{name}.toml").read_text(encoding="utf-8"))


DESCRIPTION = read("criteria")["description"]


def scenario() -> dict[str, Any]:
    return {
        "scenario_id": "reschedule_day",
        "name": "Reschedule a day",
        "description": DESCRIPTION,
        "start_time": START,
        "end_time": END,
        "default_time_step": "PT1H",
        "user_prompt": USER_PROMPT,
        "user_character": "ines",
        "characters": characters(),
        "criteria": [_criterion(**fields) for fields in read("criteria")["criteria"]],
        "version": VERSION,
        "canary": CANARY,
        "foreign_times": FOREIGN_TIMES,
        "initial_state": "initial_state.json",
    }


def _criterion(
    criterion_id: str, name: str, description: str, dimension: str, max_score: int, **judge: Any
) -> dict[str, Any]:
    return {
        "criterion_id": criterion_id,
        "name": name,
        "description": description,
        "dimension": dimension,
        "max_score": max_score,
        **({"evaluator_id": criterion_id} if "evaluation_prompt" not in judge else {}),
        **judge,
    }


def initial_state() -> building.State:
    mailbox = read("mailbox")
    known = [_mail(message_id, **fields) for message_id, fields in mailbox["mails"].items()]
    texts = [_text(message_id, **fields) for message_id, fields in mailbox["texts"].items()]
    return building.initial_state(
        start=START,
        description=DESCRIPTION,
        modalities={
            "email": building.mailbox(truth.USER_EMAIL, known, start="2026-06-10T07:15:00+01:00"),
            "sms": building.phone(truth.USER_PHONE, texts, start=texts[-1]["sent_at"]),
            "calendar": calendar(),
            "chat": building.chat_that_asks(USER_PROMPT, "2026-06-10T07:56:00+01:00", start=START),
        },
        events=[
            *(_event(f"ev-{key}", "email", _arriving(key, **mail)) for key, mail in mailbox["arriving_mails"].items()),
            *(_event(f"ev-{key}", "sms", _arriving_text(key, **t)) for key, t in mailbox["arriving_texts"].items()),
            _event("ev-review-moves", "calendar", _REVIEW_MOVES),
        ],
    )


def _event(event_id: str, modality: str, data: dict[str, Any]) -> building.State:
    return building.event(event_id, data["timestamp"], modality, data, start=START)


# The mailbox


def _mail(
    message_id: str,
    thread: str,
    at: datetime,
    sender: str,
    subject: str,
    body: str,
    to: Iterable[str] = (truth.USER_EMAIL,),
    in_reply_to: str | None = None,
    is_read: bool = True,
    is_starred: bool = False,
) -> dict[str, Any]:
    folder = "sent" if sender == truth.USER_EMAIL else "inbox"
    mail = building.mail(
        message_id, at.isoformat(), sender, list(to), subject, body,
        thread_id=thread, in_reply_to=in_reply_to, is_read=is_read, folder=folder,
    )  # fmt: skip
    return {**mail, "is_starred": is_starred}


def _arriving(message_id: str, thread: str, at: datetime, sender: str, subject: str, body: str) -> dict[str, Any]:
    return {
        "operation": "receive",
        "message_id": message_id,
        "thread_id": thread,
        "from_address": sender,
        "to_addresses": [truth.USER_EMAIL],
        "cc_addresses": [],
        "subject": subject,
        "body_text": body,
        "timestamp": at.isoformat(),
    }


# The phone


def _text(message_id: str, other: str, at: datetime, body: str, is_sent: bool = False) -> dict[str, Any]:
    sender, reader = (truth.USER_PHONE, other) if is_sent else (other, truth.USER_PHONE)
    text = building.text(message_id, at.isoformat(), sender, [reader], body, is_outgoing=is_sent)
    return {**text, "thread_id": _name_thread(other), "read_at": None if is_sent else text["read_at"]}


def _name_thread(other: str) -> str:
    return f"sms-{other[-3:]}"


def _arriving_text(message_id: str, other: str, at: datetime, body: str) -> dict[str, Any]:
    return {
        "action": "receive_message",
        "message_data": {
            "message_id": message_id,
            "thread_id": _name_thread(other),
            "from_number": other,
            "to_numbers": [truth.USER_PHONE],
            "body": body,
            "message_type": "sms",
        },
        "timestamp": at.isoformat(),
    }


# The calendar

_REMINDER = {"minutes_before": 10, "type": "notification"}

_REVIEW_MOVES = {
    "operation": "update",
    "event_id": truth.REVIEW_ID,
    "calendar_id": "primary",
    "recurrence_scope": "this",
    "start": truth.REVIEW_START.start.isoformat(),
    "end": truth.REVIEW_END.start.isoformat(),
    "timezone": "Europe/London",
    "timestamp": "2026-06-10T11:20:00+01:00",
}
"""The change that North Thames makes; the rest of the event stays as it is."""


def calendar() -> building.State:
    diary = read("diary")
    return building.calendar_of(
        "Ines Carvalho",
        [_entry(event_id, diary["people"], **fields) for event_id, fields in diary["events"].items()],
        start="2026-06-10T07:50:00+01:00",
        timezone="Europe/London",
        since="2025-01-06T09:00:00+00:00",
        reminders=[_REMINDER],
    )


def _entry(
    event_id: str,
    people: Mapping[str, tuple[str, str]],
    title: str,
    start: datetime,
    minutes: int,
    description: str | None = None,
    location: str | None = None,
    organizer: str = "ines",
    attendees: Iterable[str] = (),
    visibility: str = "default",
    entered: datetime = datetime(2026, 5, 28, 10, 12, tzinfo=LONDON),
) -> dict[str, Any]:
    begins = start.replace(tzinfo=LONDON)
    return {
        "event_id": event_id,
        "calendar_id": "primary",
        "title": title,
        "start": begins.isoformat(),
        "end": (begins + timedelta(minutes=minutes)).isoformat(),
        "timezone": "Europe/London",
        "description": description,
        "location": location,
        "status": "confirmed",
        "organizer": people[organizer][0],
        "attendees": [
            {"email": email, "display_name": name, "response": "accepted"}
            for email, name in (people[key] for key in attendees)
        ],
        "reminders": [_REMINDER],
        "visibility": visibility,
        "created_at": entered.isoformat(),
        "updated_at": entered.isoformat(),
    }


# The people, and their scripted replies


def characters() -> dict[str, dict[str, Any]]:
    cast = read("cast")
    tests: dict[str, Any] = {}
    for name, test in cast["tests"].items():
        tests[name] = _resolved(test, tests)
    return {key: _character(fields, tests) for key, fields in cast["people"].items()}


def _character(fields: dict[str, Any], tests: Mapping[str, Any]) -> dict[str, Any]:
    phrases = fields.pop("phrases", {})
    replies = [
        scripted
        for key in [key for key in fields if key.startswith("by_")]
        for reply in fields.pop(key)
        for scripted in _scripted(key.removeprefix("by_"), reply, phrases, tests)
    ]
    return {**fields, **({"scripted_replies": replies} if replies else {})}


def _scripted(
    modality: str, written: Mapping[str, Any], phrases: Mapping[str, str], tests: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """The scripted replies that one entry of ``cast.toml`` makes."""
    response = {"response": written["response"]} if "response" in written else {}
    for test, slot in _slots_tested(written):
        words = {**phrases, "day": f"{slot:%A} {slot.day} {slot:%B}", "time": f"{slot:%H:%M}"} if slot else phrases
        resolved = _resolved(test, tests)
        asked = {"pattern": resolved} if isinstance(resolved, str) else resolved
        yield {"modality": modality, **asked, "reply": written["reply"].format_map(words).strip(), **response}


def _slots_tested(written: Mapping[str, Any]) -> Iterator[tuple[Any, datetime | None]]:
    """Each test of a reply, with the time that a matching message names."""
    for slot in map(_slot, written.get("takes", ())):
        in_berlin = slot.start.astimezone(BERLIN)
        if written.get("in_berlin"):
            yield {"marked_moment": [f"{in_berlin:%Y-%m-%dT%H:%M}"]}, in_berlin
        yield {"moment": [f"{slot.start:%Y-%m-%dT%H:%M}"]}, in_berlin if written.get("in_berlin") else slot.start
    for clock in written.get("takes_times", ()):
        yield {"time": [clock]}, datetime.combine(datetime.min, time.fromisoformat(clock))
    if "takes" not in written and "takes_times" not in written:
        yield written.get("test", "."), None


def _resolved(test: Any, tests: Mapping[str, Any]) -> Any:
    """A test with its named patterns filled in, and with the patterns for an invitation's start."""
    match test:
        case str():
            return tests.get(test, test.replace("AGREEMENT", AGREEMENT).replace("REFUSAL", REFUSAL))
        case list():
            return [_resolved(part, tests) for part in test]
        case {"starts": starts}:
            return _invitation_pattern(map(_slot, starts))
        case {"starts_on": days}:
            # No good time is near midnight, so the zone doesn't matter.
            return "|".join(rf"\A[^\n]*\n{day}T" for day in days)
        case dict():
            return {key: _resolved(value, tests) for key, value in test.items()}
    return test


def _slot(moment: str) -> Slot:
    return slot_of(datetime.fromisoformat(moment).replace(tzinfo=LONDON))


def _invitation_pattern(slots: Iterable[Slot]) -> str:
    """A pattern for an invitation (title, start, end, … each on a line) that starts at one of the slots."""
    starts = []
    for slot in slots:
        for zone, offset in ((UTC, r"(?:Z|\+00:?00)"), (LONDON, r"\+01:?00"), (BERLIN, r"\+02:?00")):
            local = slot.start.astimezone(zone)
            starts.append(rf"{local:%Y-%m-%dT%H:%M}(?::00(?:\.0+)?)?{offset}")
    return rf"\A[^\n]*\n(?:{'|'.join(starts)})"


if __name__ == "__main__":
    files = {"scenario.json": scenario(), "initial_state.json": initial_state()}
    sys.exit(building.write({FOLDER / name: building.as_json(files[name]) for name in files}, sys.argv[1:]))
