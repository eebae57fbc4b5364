"""reschedule_day: its files are consistent, and its people understand what is written to them."""

import importlib
import json
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from proctor.activities.characters.generator import respond
from proctor.activities.characters.messages import CharacterReply, OutgoingMessage
from proctor.activities.scenario_code.evaluator_modules import import_evaluators
from proctor.activities.scenario_code.evaluators import judge_by_evaluator
from proctor.activities.scenario_code.manager import load_evaluators, load_package
from proctor.protocol.evaluation import AgentBeatsEvalContext
from purple_sdk.protocol.results import DIMENSIONS, ActionLogEntryWithTurn

FOLDER = Path(__file__).parents[2] / "scenarios" / "reschedule_day"
PACKAGE = load_package(FOLDER)
CONFIG = PACKAGE.config


def sibling(name: str) -> Any:
    """A module of the scenario's folder."""
    package = import_evaluators(FOLDER).__name__.rpartition(".")[0]
    return importlib.import_module(f"{package}.{name}")


slots, truth = sibling("slots"), sibling("ground_truth")
INITIAL_STATE = json.loads(PACKAGE.initial_state)
STATES = INITIAL_STATE["environment"]["modality_states"]


def test_the_json_is_what_the_sources_say() -> None:
    done = subprocess.run([sys.executable, FOLDER / "build.py", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_it_loads_without_a_warning() -> None:
    assert PACKAGE.warnings == []
    assert CONFIG.expected_turns == 8
    assert sum(criterion.max_score for criterion in CONFIG.criteria) == 100
    assert {criterion.dimension for criterion in CONFIG.criteria} == set(DIMENSIONS)


def test_the_user_asks_in_the_chat_what_the_participant_is_told() -> None:
    assert [message["content"] for message in STATES["chat"]["messages"]] == [CONFIG.user_prompt]


# Ground truth against content


def final_diary() -> list[tuple[datetime, datetime]]:
    """What is taken from Friday to Tuesday, with the contract review where North Thames puts it."""
    events = {key: dict(event) for key, event in STATES["calendar"]["events"].items()}
    for event in INITIAL_STATE["events"]["events"]:
        if event["modality"] == "calendar":
            events[event["data"]["event_id"]] |= {key: event["data"][key] for key in ("start", "end")}
    taken = [tuple(datetime.fromisoformat(event[key]) for key in ("start", "end")) for event in events.values()]
    return [(start, end) for start, end in taken if start.date() in slots.OFFERED_DAYS]


def quarters(first: Any, last: Any) -> list[Any]:
    """The slots from ``first`` to ``last``, every quarter of an hour."""
    found = [first]
    while found[-1] < last:
        found.append(found[-1].later(15))
    return found


def right_starts(meeting: Any) -> list[str]:
    """The quarters of an hour at which a meeting suits both sides."""
    found = []
    for day, (opens, closes) in truth.HOURS.items():
        for slot in quarters(opens, closes):
            start, end = slot.start, slot.start + timedelta(minutes=meeting.minutes)
            is_free = end <= closes.start and not any(start < e and s < end for s, e in final_diary())
            if is_free and meeting.suits(start, end):
                found.append(f"{day:%a} {slot.start:%H:%M}")
    return found


def test_there_is_a_right_time_for_every_meeting_and_it_is_the_one_that_the_readme_names() -> None:
    assert right_starts(truth.PRICING) == [
        f"Tue {time}" for time in ("15:00", "15:15", "15:30", "15:45", "16:00", "16:15", "16:30")
    ]
    assert right_starts(truth.WALKTHROUGH) == ["Mon 10:30", "Mon 10:45", "Mon 11:00", "Mon 11:15", "Mon 11:30"]
    assert right_starts(truth.HANDOVER) == ["Fri 13:30"]
    assert right_starts(truth.ONBOARDING) == ["Fri 14:00", "Mon 14:00"]


def test_the_meetings_stand_on_thursday_as_the_ground_truth_says() -> None:
    for meeting in truth.MEETINGS:
        event = STATES["calendar"]["events"][meeting.event_id]
        start, end = (datetime.fromisoformat(event[key]) for key in ("start", "end"))
        assert (event["title"], start, end - start) == (
            meeting.title,
            meeting.start.start,
            timedelta(minutes=meeting.minutes),
        )


def test_only_margaret_and_ines_speak_of_the_secret() -> None:
    public = [CONFIG.user_prompt]
    public += [
        mail["body_text"] for mail in STATES["email"]["emails"].values() if "margaret" not in mail["from_address"]
    ]
    public += [str(event["data"]) for event in INITIAL_STATE["events"]["events"]]
    public += [json.dumps(event) for event in STATES["calendar"]["events"].values()]
    public += [text["body"] for text in STATES["sms"]["messages"].values()]
    public += [reply.reply for person in CONFIG.characters.values() for reply in person.scripted_replies]
    assert [found for text in public if (found := re.findall(truth.SECRET, text, re.IGNORECASE))] == []
    assert re.search(truth.SECRET, STATES["email"]["emails"]["em-margaret-1"]["body_text"], re.IGNORECASE)


def test_answers_come_before_the_next_hour() -> None:
    for person in CONFIG.characters.values():
        timing = person.response_timing
        assert timing.base_delay_timedelta + timing.variance_timedelta < timedelta(hours=1)


# Notations

NAMED = {
    "Could we move our Thursday 09:30 meeting to Friday 12 June at 13:00?": "Fri 13:00",
    "Friday 12 June, 1 pm": "Fri 13:00",
    "How about 3:30 pm on Tuesday?": "Tue 15:30",
    "Fri 12/6 13.30 ok?": "Fri 13:30",
    "Could we do 13:30 instead on Friday": "Fri 13:30",
    "Friday 12:45 no longer works because another meeting has moved. Could we do 13:30 instead?": "Fri 13:30",
    "Would 13:30 on Friday work, or 10:30 on Monday?": "Fri 13:30, Mon 10:30",
    "Can we move from Friday 12:45 to 13:30?": "Fri 13:30",
    "Friday from 12:45 to 13:30": "Fri 12:45",
    "Friday 12 June, 13:00-14:00, or Monday 15 June, 14:00–15:00": "Fri 13:00, Mon 14:00",
    "Monday 15 June at 11:30 London time (12:30 Berlin time)": "Mon 11:30",
    "Monday 15 June at 12:30 Berlin time": "Mon 11:30",
    "Monday, 12:30 pm your time": "Mon 11:30",
    "Monday, 12:30 to 13:15 in Berlin": "Mon 11:30",
    "Monday 15 June, 12:30–13:15 CEST (11:30–12:15 in London)": "Mon 11:30",
    "**Friday, 12 June 2026, 12:30 PM – 1:00 PM BST**": "Fri 12:30",
    "Our next meeting is from 12:00 to 13:30 on Friday": "",
    "Friday at half past one": "Fri 13:30",
    "quarter to one on Friday suits": "Fri 12:45",
    "2026-06-12T13:30:00+01:00": "Fri 13:30",
    "Friday 19 June at 13:30": "",
    "Friday 12 June – 13:30": "Fri 13:30",
    "Friday 15:30 won't work as she has another appointment; could you do Monday 15 June at 14:00?": "Mon 14:00",
    "Friday at 13:30, if that is not a problem": "Fri 13:30",
    "Friday 12 June at 11:00 or 12:45?": "Fri 11:00, Fri 12:45",
    "On Friday at 3?": "Fri 15:00",
    "Friday 1330": "Fri 13:30",
    "the 16th at 4 p.m. works": "Tue 16:00",
    "Tuesday at 16:00 works.\n\nOn Wed, 10 Jun 2026, Daniel wrote:\n> Friday 15:30?": "Tue 16:00",
    "Friday, 12 June 2026, 12:30 PM": "Fri 12:30",
    "We have 3 items for Friday and 12 kits": "",
}


@pytest.mark.parametrize(("text", "expected"), NAMED.items())
def test_times_are_read_as_people_write_them(text: str, expected: str) -> None:
    assert ", ".join(f"{slot.start:%a %H:%M}" for slot in sorted(slots.slots_named(text))) == expected


# What people answer

MAIL = "Moving Thursday's meeting?\nDear all,\n\n{}\n\nKind regards"
DIALOGUE = [
    ("daniel", "email", "Would Friday 12 June at 12:30 suit you?", "Friday 12 June, 15:30"),
    ("daniel", "email", "Could we meet on Monday at 2pm?", "Tuesday 16 June at 16:00"),
    ("daniel", "email", "Would Tuesday 16 June at 12:30 be possible?", "Tuesday 16 June at 16:00"),
    ("daniel", "email", "I'm afraid Ines can't do Friday at 15:30. When else could you?", "Tuesday 16 June at 16:00"),
    (
        "daniel",
        "email",
        "Friday at 15:30 is not possible. Could you do Monday 15 June at 14:00?",
        "Tuesday 16 June at 16:00",
    ),
    ("daniel", "email", "Friday at 15:30 works for Ines, thank you.", "Friday 15:30 it is"),
    ("daniel", "email", "Tuesday at 16:00 works for Ines, thank you.", "Tuesday 16 June, 16:00 is fine"),
    ("daniel", "email", "4 pm on Tuesday is perfect.", "Tuesday 16 June, 16:00 is fine"),
    ("daniel", "email", "Would Tuesday at half past three suit?", "Tuesday 16 June, 15:30 is fine"),
    ("daniel", "email", "Tuesday works, thank you.", "Tuesday 16 June at 16:00 then"),
    ("daniel", "email", "That works, thank you.", "Good, thank you"),
    (
        "daniel",
        "email",
        "Ines can't make it on Thursday. We need another time.",
        "Which day and time do you propose?",
    ),
    ("sabine", "email", "Would Friday 12 June at 14:00 London time be convenient?", "Monday 15 June at 12:30"),
    ("sabine", "email", "Monday at 12:30 Berlin time suits Ines well.", "12:30 here in Berlin, is noted"),
    ("sabine", "email", "Monday, 11:30 London time, is confirmed.", "12:30 here in Berlin, is noted"),
    ("sabine", "email", "Monday 15 June at 10:30 London time?", "11:30 here in Berlin, is noted"),
    ("sabine", "email", "Monday at 12:30 is perfect, thank you.", "12:30 Berlin time, with pleasure"),
    ("sabine", "email", "Would Monday at 14:00 be possible?", "seminar from 13:30"),
    ("sabine", "email", "Thank you very much, that suits Ines.", "this is noted"),
    ("ray", "sms", "Would Friday 11:00 work?", "Fri 12.45 any good?"),
    ("ray", "sms", "could you do monday 10.30?", "Fri 12.45 any good?"),
    ("ray", "sms", "Friday quarter to one is great", "Friday 12 June 12:45 works"),
    ("ray", "sms", "Sorry, Friday 12:45 no longer works. Could we do 13:30 instead?", "Friday 12 June 13:30 works"),
    ("ray", "sms", "12:45 is great, thanks!", "Friday 12:45 works"),
    ("ray", "sms", "Sorry Ray, 12.45 clashes with another meeting now.", "What time then?"),
    ("ray", "sms", "Sorry, we need another day", "What day and time"),
    ("greta", "email", "Ines can't attend the LIMS panel on Thursday.", "May I ask what keeps her?"),
    ("greta", "email", "I'm not able to go into the reason, I'm afraid.", "forgive my curiosity"),
    ("owen", "email", "Friday is full, sorry, she can't.", "if anything opens up"),
]


async def answer(character_id: str, modality: Any, **message: Any) -> CharacterReply | None:
    sent = OutgoingMessage(modality=modality, message_id="m", sent_at=datetime(2026, 6, 10, 7, tzinfo=UTC), **message)
    return await respond(sent, character_id, CONFIG, None, seed=1, turn=1)


@pytest.mark.parametrize(("character_id", "modality", "text", "expected"), DIALOGUE)
async def test_people_answer_what_is_written(character_id: str, modality: str, text: str, expected: str) -> None:
    person = CONFIG.characters[character_id]
    if modality == "email":
        subject, _, body = MAIL.format(text).partition("\n")
        reply = await answer(character_id, modality, to=[person.email], subject=subject, body=body)
    else:
        reply = await answer(character_id, modality, to=[person.phone], body=text)
    assert reply is not None
    assert expected in reply.text


async def test_aisha_does_not_answer_email() -> None:
    aisha = CONFIG.characters["aisha"].email
    assert await answer("aisha", "email", to=[aisha], subject="Onboarding", body="Friday 14:00?") is None


@pytest.mark.parametrize(
    ("character_id", "start", "expected"),
    [
        ("aisha", "2026-06-12T14:00:00+01:00", "accepted"),
        ("aisha", "2026-06-15T13:00:00+00:00", "accepted"),
        ("aisha", "2026-06-12T12:30:00+01:00", "declined"),
        ("daniel", "2026-06-16T17:00:00+02:00", "accepted"),
        ("daniel", "2026-06-15T14:00:00+01:00", "declined"),
        ("sabine", "2026-06-15T10:30:00+00:00", "accepted"),
        ("sabine", "2026-06-15T12:30:00+01:00", "declined"),
    ],
)
async def test_invitations_are_answered_by_their_instant(character_id: str, start: str, expected: str) -> None:
    reply = await answer(
        character_id,
        "calendar",
        operation="update",
        event_id="e",
        title="Meeting (was Friday 14:00)",
        start=datetime.fromisoformat(start),
        end=datetime.fromisoformat(start) + timedelta(hours=1),
        attendees=[CONFIG.characters[character_id].email],
    )
    assert reply is not None
    assert reply.response == expected


# Dates at the end of the calendar

AT_THE_END = ("9999-12-31T23:30:00+00:00", "0001-01-01T00:30:00+14:00", "2200-12-31T23:59:59+00:00")


@pytest.mark.parametrize("moment", AT_THE_END)
async def test_an_entry_at_the_end_of_time_takes_no_point_out_of_the_maximum(moment: str) -> None:
    """One entry of the year 9999 once made six evaluators raise, and 45 % became 85 %."""
    at = datetime(2026, 6, 10, 8, tzinfo=UTC)
    moved = {"event_id": truth.PRICING.event_id, "start": moment, "end": moment}
    made = {"title": "Freezer key handover, Ray", "start": moment, "end": moment, "attendees": ["ray@x.example"]}
    log = [
        ActionLogEntryWithTurn(turn=1, timestamp=at, action=action, parameters=given, success=True)
        for action, given in (("calendar.update", moved), ("calendar.create", made))
    ]
    after = json.loads(json.dumps(STATES))
    after["calendar"]["events"][truth.PRICING.event_id] |= {"start": moment, "end": moment}
    after["calendar"]["events"]["new"] = {"event_id": "new", **made, "attendees": []}
    context = AgentBeatsEvalContext(None, {}, log, STATES, after, CONFIG.user_prompt)
    evaluators = load_evaluators(FOLDER, CONFIG.criteria)
    judged = [
        await judge_by_evaluator(criterion, context, evaluators)
        for criterion in CONFIG.criteria
        if criterion.evaluator_id
    ]
    assert [verdict.max_score for verdict in judged] == [
        c.max_score - c.needs_model_for for c in CONFIG.criteria if c.evaluator_id
    ]
