"""What one participant sends reaches the other one's user: played in two stages, with the simulator's own API."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

from proctor.local.audit.plays import Stage, Turn
from proctor.scenarios.kit.making.days import Day, make_day
from purple_sdk.ues import AsyncUESClient
from tests.stack import SCENARIOS

HOST, GUEST = make_day(SCENARIOS / "families" / "two_assistants", 1, 7).sides
SOON = HOST.clock(12)


def in_turn(number: int, act: Any) -> Turn:
    """Does something in a turn, counted from 0."""

    async def turn(now_at: int, now: datetime, client: AsyncUESClient) -> None:
        if now_at == number:
            await act(client)

    return turn


def played(side: Day, player: Turn, hears: Stage | None = None) -> Stage:
    """A side's stage after a play, in which all arrives that another one has sent."""
    stage = Stage(side)
    for arrivals, sent in zip(stage.arrivals, hears.sent if hears else [], strict=False):
        arrivals += [delivery.message for delivery in sent]
    asyncio.run(stage.play(player))
    return stage


async def _calls(client: AsyncUESClient) -> None:
    await client.calendar.create(
        title="Coffee",
        start=SOON.isoformat(),
        end=(SOON + timedelta(hours=1)).isoformat(),
        attendees=[{"email": GUEST.user.email}],
    )
    await client.sms.send(to_numbers=[GUEST.user.phone or ""], body="Coffee at twelve?")
    await client.email.send(
        to_addresses=[GUEST.user.email], cc_addresses=["else@where.example"], subject="Coffee", body_text="At twelve?"
    )
    await client.chat.send(role="assistant", content="I have asked.")


def coffee_in(stage: Stage) -> dict[str, Any] | None:
    events = stage.states()["calendar"]["events"].values()
    return next((event for event in events if event["title"].startswith("Coffee")), None)


def test_mails_texts_and_invitations_arrive_with_their_ids() -> None:
    host = played(HOST, in_turn(0, _calls))
    assert [(delivery.role, delivery.message.modality) for delivery in host.sent[0]] == [
        ("guest", "calendar"),
        ("guest", "sms"),
        ("guest", "email"),
    ]
    guest = played(GUEST, in_turn(9, _calls), host)
    states = guest.states()
    mail = next(mail for mail in states["email"]["emails"].values() if mail["subject"] == "Coffee")
    assert (mail["from_address"], mail["cc_addresses"], mail["folder"]) == (
        HOST.user.email,
        ["else@where.example"],
        "inbox",
    )
    assert mail["message_id"] in host.states()["email"]["emails"]
    text = next(text for text in states["sms"]["messages"].values() if text["body"] == "Coffee at twelve?")
    assert (text["from_number"], text["direction"]) == (HOST.user.phone, "incoming")
    event, own = coffee_in(guest), coffee_in(host)
    assert event is not None
    assert own is not None
    assert (event["event_id"], event["organizer"]) == (own["event_id"], HOST.user.email)


def test_changes_and_answers_of_invitations_arrive_too() -> None:
    host = played(HOST, in_turn(0, _calls))

    async def accepts(client: AsyncUESClient) -> None:
        event = coffee_in(host)
        assert event is not None
        await client.calendar.respond(event_id=event["event_id"], response="accepted", attendee_email=GUEST.user.email)

    guest = played(GUEST, in_turn(1, accepts), host)
    assert [(delivery.role, delivery.message.operation) for delivery in guest.sent[1]] == [("host", "respond")]
    again = played(HOST, in_turn(0, _calls), guest)
    event = coffee_in(again)
    assert event is not None
    assert [attendee["response"] for attendee in event["attendees"]] == ["accepted"]

    async def moves(client: AsyncUESClient) -> None:
        (found,) = [
            candidate
            for candidate in (await client.calendar.get_state())["events"].values()
            if candidate["title"] == "Coffee"
        ]
        await client.calendar.update(event_id=found["event_id"], title="Coffee, cold", location="Roof")

    async def both(number: int, now: datetime, client: AsyncUESClient) -> None:
        await in_turn(0, _calls)(number, now, client)
        await in_turn(2, moves)(number, now, client)

    moved = coffee_in(played(GUEST, in_turn(9, _calls), played(HOST, both)))
    assert moved is not None
    assert moved["location"] == "Roof"


def test_characters_do_not_reply_for_the_other_side() -> None:
    async def asks(client: AsyncUESClient) -> None:
        await client.email.send(to_addresses=[GUEST.user.email], subject="Lunch", body_text="Does Tuesday suit you?")

    host = played(HOST, in_turn(0, asks))
    inbox = [mail for mail in host.states()["email"]["emails"].values() if mail["from_address"] == GUEST.user.email]
    assert not inbox
    assert host.config.colleagues == {"guest": "user_of_guest"}
