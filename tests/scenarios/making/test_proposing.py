"""The search for an hour: one who sends no list answers single proposals, and each of the others has a clock."""

import asyncio
from datetime import datetime

from proctor.local.audit import players
from proctor.local.audit.plays import Stage
from proctor.protocol.scenario import ScenarioConfig
from proctor.scenarios.kit.making.days import Day, make_day
from proctor.scenarios.kit.making.people import Person
from purple_sdk.ues import AsyncUESClient
from tests.stack import SCENARIOS


def day_of(difficulty: int, refused: int = 1) -> Day:
    """A day whose first search has this number of proposals that are turned down."""
    days = (make_day(SCENARIOS / "families" / "find_a_slot", difficulty, seed) for seed in range(1, 20))
    return next(day for day in days if min(day.duties[0].answers).count(" > ") == refused)


def asked_one(day: Day) -> Person:
    return day.duties[0].people[-1]


def test_two_proposals_are_turned_down_and_the_third_is_agreed() -> None:
    day, answers = day_of(4, refused=2), list[str]()
    oracle = players.oracle(day)

    async def turn(number: int, now: datetime, client: AsyncUESClient) -> None:
        await oracle(number, now, client)
        mails = (await client.email.get_state())["emails"].values()
        came = sorted((mail["sent_at"], mail["body_text"]) for mail in mails if mail["from_address"] == one.email)
        answers[:] = [body for at, body in came if datetime.fromisoformat(at) > day.start]

    one = asked_one(day)
    outcome = asyncio.run(Stage(day).play(turn))

    scripted = [reply["reply"] for reply in day.duties[0].replies[one.key] if reply.get("modality") == "email"]
    assert outcome.share == 1
    assert answers == [scripted[1], scripted[2], scripted[0]]
    assert len(set(answers)) == 3


async def test_a_first_proposal_can_be_agreed_at_once() -> None:
    day = day_of(1, refused=0)
    assert (await Stage(day).play(players.oracle(day))).share == 1
    assert [act.id for act in day.duties[0].acts if ".ask-" in act.id] == ["find-1.ask-0"]


def test_who_names_what_was_turned_down_gets_an_answer_to_the_next_proposal() -> None:
    day = day_of(2)
    config = ScenarioConfig.model_validate(day.scenario())
    first, second = (act.values[0] for act in day.duties[0].acts[:2])
    text = config.read(f"{second}? You turned {first} down.")

    replies = config.characters[asked_one(day).key].scripted_replies
    answer = next(reply for reply in replies if reply.holds(text))
    assert answer == replies[0]


def test_each_is_informed_by_their_own_clock() -> None:
    day = day_of(3)
    right = datetime.fromisoformat(min(day.duties[0].answers).rpartition(" > ")[2])
    told = [act for act in day.duties[0].acts if act.id.partition(".")[2].startswith("tell")]

    apart = {act.to.name: datetime.fromisoformat(act.values[0].value) - right for act in told if act.to}
    assert len(apart) == 3
    assert len({*apart.values()}) == 2
    assert all(apart.values())


def test_the_end_of_another_right_hour_takes_no_proposal_back() -> None:
    day = make_day(SCENARIOS / "families" / "find_a_slot", 3, 201)
    duty = day.duties[0]
    lapse = duty.lapse("misses change 1 by Denny")  # its last proposal is the end of another right hour
    outcome = asyncio.run(Stage(day).play(players.with_lapses(day, {duty.key: lapse})))

    assert outcome.held["find-1.asked-0"]
    assert not outcome.held["find-1.asked-1"]
