"""People ask back once where a value can't be read, and answer all else that is asked; never what would be right."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache, partial
from typing import Any

import pytest

from proctor.activities.characters.generator import respond
from proctor.activities.characters.messages import OutgoingMessage, ThreadEntry
from proctor.protocol.scenario import ScenarioConfig
from proctor.scenarios.kit.making import asking
from proctor.scenarios.kit.making.days import Day, make_day
from proctor.scenarios.kit.making.people import Person
from tests.stack import SCENARIOS

UNSURE, STILL_UNSURE = (
    {form for language in ("en", "de") for form in asking.SAY[f"{language}.{name}"]}
    for name in ("unsure", "still_unsure")
)


@lru_cache
def scenario_of(family: str, difficulty: int = 3) -> tuple[Day, ScenarioConfig]:
    day = make_day(SCENARIOS / "families" / family, difficulty, 2)
    return day, ScenarioConfig.admitted(day.scenario())


def answer(
    family: str, person: Person, body: str, *earlier: str, difficulty: int = 3, at: datetime | None = None, **more: Any
) -> str:
    """What a person answers to a mail; empty for silence."""
    day, scenario = scenario_of(family, difficulty)
    user, at = day.user.email, at or day.starts[1]
    thread = [ThreadEntry(sender=user, at=at - timedelta(hours=1), text=text) for text in earlier]
    about = {"modality": "email", "sender": user, "to": [person.email], "body": body, "sent_at": at, **more}
    message = OutgoingMessage(message_id="m", thread=thread, **about)
    reply = asyncio.run(respond(message, person.key, scenario, None, 1, 1))
    return reply.text if reply else ""


def asked(family: str) -> tuple[str, Person]:
    """What the first duty that answers a question is about, and who asked."""
    day, _ = scenario_of(family)
    duty = next(duty for duty in day.duties if duty.asked)
    return duty.acts[0].topic, next(person for person in duty.people if person.key in duty.asked)


def without_a_script(family: str) -> list[Person]:
    """The people of whom a day's duties expect nothing, and who are there."""
    day, scenario = scenario_of(family)
    people = [person for person in day.world.everyone if person.key in scenario.characters and person != day.user]
    replies = {person: scenario.characters[person.key].scripted_replies for person in people}
    return [person for person in people if len(replies[person]) == 3 and not replies[person][0].before]


def test_who_asked_for_an_amount_misses_it_and_asks_once() -> None:
    topic, asker = asked("inbox_flood")
    unread = f"About {topic}: it is in the attached scan."

    reply = answer("inbox_flood", asker, unread)

    assert any(word in reply for word in ("amount", "Betrag"))
    assert not any(map(str.isdigit, reply))
    assert answer("inbox_flood", asker, unread, unread) == ""


@pytest.mark.parametrize(
    "body", ["{topic}: 4,000 euros.", "{topic}: I can't tell you.", "Thanks for your mail on {topic}.", "Hello!"]
)
def test_a_message_that_has_one_refuses_or_thanks_lacks_nothing(body: str) -> None:
    topic, asker = asked("inbox_flood")
    assert answer("inbox_flood", asker, body.format(topic=topic)) == ""


def test_who_asked_for_several_things_does_not_say_which_is_missing() -> None:
    topic, asker = asked("need_to_know")
    reply = answer("need_to_know", asker, f"About {topic}: as we said.")

    assert reply
    assert not any(word in reply.lower() for word in ("amount", "number", "time", "day", "price"))


def test_everybody_else_only_does_not_understand() -> None:
    """The answer of those who should get something is that of all others."""
    day, _ = scenario_of("delegate")
    topic = day.duties[0].acts[0].topic
    quiet = [person for person in without_a_script("delegate") if person.language == "en"]
    replies = {answer("delegate", person, f"About {topic}: as we said.") for person in quiet}

    assert len(quiet) > 5
    assert replies <= {*asking.SAY["en.puzzled"]}
    assert not any(any(map(str.isdigit, reply)) for reply in replies)


def test_a_matter_without_values_is_understood() -> None:
    day, _ = scenario_of("clear_the_day")
    duty = next(duty for duty in day.duties if duty.key == "keep-1")
    act = duty.acts[0]
    assert act.to is not None
    assert answer("clear_the_day", act.to, f"About {act.topic}: {act.values[0]}.") == ""


def test_who_asked_back_once_still_answers_questions() -> None:
    topic, asker = asked("inbox_flood")
    unread = f"About {topic}: could you look at the scan?"
    assert any(word in answer("inbox_flood", asker, unread) for word in ("amount", "Betrag"))
    assert answer("inbox_flood", asker, unread, unread) in UNSURE


@pytest.mark.parametrize(
    "body",
    [
        "Could you join us on the roof?",
        "Could you join us?\n\n> Would you?",
        "I suggest the roof.",
        "Please tell me whether the roof suits you.",
        "Passt Ihnen das Dach?",
        "Ich schlage das Dach vor.",
    ],
)
def test_everybody_answers_what_is_asked_and_proposed(body: str) -> None:
    people = without_a_script("delegate")
    assert len(people) > 15
    for person in people:
        assert answer("delegate", person, body) in UNSURE
        assert answer("delegate", person, body, body) in STILL_UNSURE


@pytest.mark.parametrize(
    ("subject", "body"),
    [
        ("Re: Who comes?", "Everybody comes."),
        ("The roof", "Please let me know if you have any questions."),
        ("The roof", "The proposed roof was accepted, thank you."),
        ("The roof", "On Monday Ada wrote:\n> Is it the roof?\n\nIt is."),
        ("Fwd: The roof", "FYI\n\n---------- Forwarded message ---------\nFrom: Ada\nSubject: Roof\n\nIs it the roof?"),
        ("The roof", "See http://roof.example/?floor=top"),
    ],
)
def test_what_asks_nothing_is_not_answered(subject: str, body: str) -> None:
    day, _ = scenario_of("do_not_disturb")
    assert answer("do_not_disturb", day.stranger, body, subject=subject) == ""


def test_an_invitation_is_not_answered_in_words() -> None:
    day, _ = scenario_of("delegate")
    about: dict[str, Any] = {
        "title": "Roof?",
        "start": day.start,
        "end": day.end,
        "description": "Is it?",
        "attendees": [day.stranger.email],
    }
    assert answer("delegate", day.stranger, "", modality="calendar", operation="create", **about) == ""


def test_each_proposal_that_the_script_does_not_expect_is_answered() -> None:
    day, _ = scenario_of("find_a_slot")
    duty = next(duty for duty in day.duties if duty.replies)
    person = next(person for person in duty.people if person.key in duty.replies)
    midnight = day.clock(0, day=1)
    for quarter in (1, 2, 3):
        for hour in (9, 14):
            at = midnight + timedelta(hours=hour, minutes=15 * quarter)
            proposal = f"{duty.acts[0].topic}: {at:%A} {at.day} {at:%B}, {at:%H:%M}. Thank you, {day.user.first}"
            assert answer("find_a_slot", person, proposal) in UNSURE
            text: dict[str, Any] = {"modality": "sms", "to": [person.phone], "sender": day.user.phone}
            assert not person.phone or answer("find_a_slot", person, proposal, **text) in UNSURE


def test_who_is_said_to_be_away_answers_until_then() -> None:
    day, scenario = scenario_of("flight_cancelled", 4)
    away = {fact.about: fact.at for fact in day.facts if fact.kind == "deputy"}
    (person,) = [person for person in day.world.everyone if person.name in away]
    since = away[person.name]
    assert since is not None
    ask = partial(answer, "flight_cancelled", person, "Could you join us on the roof?", difficulty=4)
    assert ask(at=since - timedelta(minutes=1)) in UNSURE
    assert ask(at=since) == ""
    assert all(reply.before for reply in scenario.characters[person.key].scripted_replies)


def test_the_user_answers_questions_only_where_they_can_be_asked() -> None:
    _, scenario = scenario_of("delegate")
    assert not scenario.user.scripted_replies
    day, scenario = scenario_of("which_alex")
    ask = partial(answer, "which_alex", replace(day.user, key=scenario.user_character), modality="chat", sender=None)
    assert ask("Shall I go on?", to=[]) in UNSURE
    assert ask("I go on.", to=[]) == ""


def test_no_answer_has_a_number() -> None:
    assert not any(map(str.isdigit, "".join([form for forms in asking.SAY.values() for form in forms])))
