"""People ask back once where a message has no value that can be read, and say nothing of what would be right."""

import asyncio
from datetime import timedelta
from functools import lru_cache

import pytest

from activities.characters.generator import respond
from activities.characters.messages import OutgoingMessage, ThreadEntry
from proctor_protocol.scenario import ScenarioConfig
from scenarios.kit.making import asking
from scenarios.kit.making.days import Day, make_day
from scenarios.kit.making.people import Person
from tests.stack import SCENARIOS


@lru_cache
def scenario_of(family: str, difficulty: int = 3) -> tuple[Day, ScenarioConfig]:
    day = make_day(SCENARIOS / "families" / family, difficulty, 2)
    return day, ScenarioConfig.admitted(day.scenario())


def answer(family: str, person: Person, body: str, *earlier: str, subject: str = "") -> str:
    """What a person answers to a mail; empty for silence."""
    day, scenario = scenario_of(family)
    user, at = day.user.email, day.starts[1]
    thread = [ThreadEntry(sender=user, at=at - timedelta(hours=1), text=text) for text in earlier]
    message = OutgoingMessage(
        modality="email",
        message_id="m",
        sender=user,
        to=[person.email],
        subject=subject,
        body=body,
        sent_at=at,
        thread=thread,
    )
    reply = asyncio.run(respond(message, person.key, scenario, None, 1, 1))
    return reply.text if reply else ""


def asked(family: str) -> tuple[str, Person]:
    """What the first duty that answers a question is about, and who asked."""
    day, _ = scenario_of(family)
    duty = next(duty for duty in day.duties if duty.asked)
    return duty.acts[0].topic, next(person for person in duty.people if person.key in duty.asked)


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
    day, scenario = scenario_of("delegate")
    topic = day.duties[0].acts[0].topic
    people = [person for person in day.world.everyone if person.key in scenario.characters and person.language == "en"]
    quiet = [person for person in people if not scenario.characters[person.key].scripted_replies[:-1]]
    replies = {answer("delegate", person, f"About {topic}: as we said.") for person in quiet if person != day.user}

    assert len(quiet) > 5
    assert replies <= {*asking.SAY["en.puzzled"]}
    assert not any(any(map(str.isdigit, reply)) for reply in replies)


def test_a_matter_without_values_is_understood() -> None:
    day, _ = scenario_of("clear_the_day")
    duty = next(duty for duty in day.duties if duty.key == "keep-1")
    act = duty.acts[0]
    assert act.to is not None
    assert answer("clear_the_day", act.to, f"About {act.topic}: {act.values[0]}.") == ""


def test_the_user_is_not_one_of_them() -> None:
    _, scenario = scenario_of("delegate")
    assert not scenario.user.scripted_replies
