"""What must not be done: false orders, invitations that give a surprise away, messages to a user who is busy."""

import asyncio
from functools import lru_cache
from typing import Any

import pytest

from proctor.local.audit import conditions, players
from proctor.local.audit.plays import Outcome, Stage, perform
from proctor.scenarios.kit.checks import EntryCheck
from proctor.scenarios.kit.making.days import Day, make_day
from proctor.scenarios.kit.making.duty import Act
from purple_sdk.ues import AsyncUESClient
from purple_sdk.ues.errors import ServerError
from tests.stack import SCENARIOS


@lru_cache
def day_of(family: str, difficulty: int) -> Day:
    return make_day(SCENARIOS / "families" / family, difficulty, 2)


def played(day: Day, key: str, lapse: str) -> Outcome:
    (duty,) = [candidate for candidate in day.duties if candidate.key == key]
    return asyncio.run(Stage(day).play(players.with_lapses(day, {key: duty.lapse(lapse)})))


def lost(outcome: Outcome) -> set[str]:
    return {check for check, holds in outcome.held.items() if not holds}


@pytest.mark.parametrize("number", [1, 2, 3])
def test_who_obeys_a_false_order_loses_its_check_and_did_more_than_was_asked(number: int) -> None:
    day = day_of("poisoned_inbox", 2)

    outcome = played(day, f"orders-{number}", "obeys false order 2")

    assert lost(outcome) == {f"orders-{number}.left-2"}
    assert len(outcome.damage.harms) == 1


def test_who_forwards_the_ordered_mail_to_somebody_else_has_not_forwarded_it() -> None:
    day = day_of("poisoned_inbox", 2)
    (key,) = [duty.key for duty in day.duties if duty.title.startswith("Forward")]

    outcome = played(day, key, "forwarded to somebody else")

    assert f"{key}.done" in lost(outcome)
    assert outcome.damage.costs == {"sent": 5}


def test_a_forwarded_mail_is_looked_for_before_it_is_forwarded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    day, failed = day_of("poisoned_inbox", 2), list[Act]()

    async def fails_after(act: Act, day: Day, client: AsyncUESClient, voice: int = 0) -> None:
        await perform(act, day, client, voice)
        if act.action == "email.forward" and not failed:
            failed.append(act)
            raise ServerError("failed after the mail was sent", 500, None)

    monkeypatch.setattr(conditions, "perform", fails_after)
    outcome = asyncio.run(Stage(day).play(players.oracle(day, do=conditions.carefully())))

    assert failed
    assert outcome.share == 1


def test_an_invitation_gives_the_surprise_away_without_a_word() -> None:
    day = day_of("the_surprise", 1)
    (duty,) = [candidate for candidate in day.duties if candidate.key == "ask-1"]

    assert lost(played(day, "ask-1", "invites them")) == {check.id for check in duty.checks}


def test_who_was_invited_and_uninvited_has_heard_of_the_surprise() -> None:
    day = day_of("the_surprise", 1)
    (duty,) = [candidate for candidate in day.duties if candidate.key == "ask-1"]
    (check,) = [candidate for candidate in duty.checks if isinstance(candidate, EntryCheck)]
    oracle = players.oracle(day)

    async def invites(number: int, now: Any, client: Any) -> None:
        await oracle(number, now, client)
        if now == day.starts[-1]:
            event = (await client.calendar.get_state())["events"][check.event_id]
            guests = [{"email": attendee["email"]} for attendee in event["attendees"]]
            for attendees in ([*guests, {"email": check.absent[0]}], guests):
                await client.calendar.update(event_id=check.event_id, attendees=attendees)

    assert check.id in lost(asyncio.run(Stage(day).play(invites)))


def test_the_user_writes_in_the_chat_at_noon() -> None:
    day = day_of("handover", 1)
    read: list[list[str]] = []

    async def look(number: int, now: Any, client: Any) -> None:
        read.append(
            [message["content"] for message in (await client.chat.get_state())["messages"] if message["role"] == "user"]
        )

    asyncio.run(Stage(day).play(look))

    noon = [record.body for record in day.records if record.kind == "chat"]
    assert len(noon) == 2
    assert [len(words) for words in read] == [1 if start < day.clock(12) else 3 for start in day.starts]
    assert set(noon) <= set(read[-1])


def test_too_many_messages_lose_the_budget_only() -> None:
    assert lost(played(day_of("do_not_disturb", 1), "rest", "disturbs too often")) == {"rest.budget"}


def test_what_can_wait_is_said_in_the_last_round_and_not_before() -> None:
    assert lost(played(day_of("do_not_disturb", 1), "matter-1", "disturbs with what can wait")) == {"matter-1.waits-1"}
