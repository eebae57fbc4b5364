"""What one participant sends arrives whole in the simulation of another role's user."""

import json
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import pytest

from proctor.activities.characters.outgoing import outgoing_messages
from proctor.activities.simulation.delivering import arrival_events
from purple_sdk.ues import AsyncUESClient
from tests.programs import serving

START = datetime.fromisoformat("2026-03-02T09:00:00+00:00")
ANA, BEN, CARL = "ana@home.example", "ben@work.example", "carl@work.example"
NUMBERS = ("+34600000001", "+34600000002", "+34600000003")
PLAN = b"10:00 talk\n"
FILE = {"filename": "plan.txt", "size": len(PLAN), "mime_type": "text/plain", "sha256": sha256(PLAN).hexdigest()}
KEY = "admin-key-of-this-test"


@pytest.fixture(scope="module")
def simulators() -> Iterator[list[str]]:
    one = serving("proctor.ues", "--port", "0", "--single", "--seed", "ana", UES_ADMIN_KEY=KEY)
    other = serving("proctor.ues", "--port", "0", "--single", "--seed", "ben", UES_ADMIN_KEY=KEY)
    with one as (ana, _), other as (ben, _):
        yield [ana, ben]


@pytest.fixture
async def both(simulators: list[str]) -> AsyncIterator[tuple[AsyncUESClient, AsyncUESClient]]:
    """Ana's and Ben's simulations. Ana has a mail with a file, and both simulations have the file's content."""
    async with AsyncExitStack() as stack:
        clients = []
        for address, mail, phone in zip(simulators, (ANA, BEN), NUMBERS, strict=False):
            files = {FILE["sha256"]: {"content": b64encode(PLAN).decode()}}
            states = {"email": {"user_email_address": mail, "files": files}, "sms": {"user_phone_number": phone}}
            time = {"current_time": START.isoformat(), "last_wall_time_update": START.isoformat()}
            client = await stack.enter_async_context(AsyncUESClient(address, KEY))
            await client.scenario.import_full(
                {
                    "metadata": {},
                    "environment": {"time_state": time, "modality_states": states},
                    "events": {"events": []},
                }
            )
            await client.simulation.start()
            clients.append(client)
        received = {
            "operation": "receive",
            "message_id": "m",
            "from_address": CARL,
            "subject": "The plan",
            "body_text": "Here.",
        }
        await clients[0].events.create(
            scheduled_time=START + timedelta(seconds=1), modality="email", data={**received, "attachments": [FILE]}
        )
        await clients[0].time.advance(2)
        yield clients[0], clients[1]
        for client in clients:
            await client.simulation.stop()


async def deliver(ana: AsyncUESClient, ben: AsyncUESClient) -> None:
    """Bring what Ana sent to Ben, whether it is for him or not."""
    events = [event.model_dump(mode="json") for event in (await ana.events.list()).events]
    states = {
        "email": dict(await ana.email.get_state()),
        "sms": dict(await ana.sms.get_state()),
        "calendar": dict(await ana.calendar.get_state()),
    }
    states = json.loads(json.dumps(states, default=lambda model: model.model_dump(mode="json")))
    for message in outgoing_messages(states, events):
        for event in arrival_events(message):
            data = {**event.data, "timestamp": event.scheduled_time.isoformat()}
            await ben.events.create(scheduled_time=event.scheduled_time, modality=event.modality, data=data)
    await ben.time.advance(90)


async def test_a_forwarded_file_can_be_read_there(both: tuple[AsyncUESClient, AsyncUESClient]) -> None:
    ana, ben = both
    await ana.email.forward("m", to_addresses=[BEN], body_text="For you.")
    await deliver(ana, ben)
    (mail,) = (await ben.email.query())["emails"]
    (attached,) = mail["attachments"]
    assert (attached["filename"], attached["sha256"]) == ("plan.txt", FILE["sha256"])
    read = await ben.email.attachment(message_id=mail["message_id"], attachment_id=attached["attachment_id"])
    assert read["text"] == PLAN.decode()


async def test_a_mail_has_its_html_body_and_reply_address_and_no_hidden_copies(
    both: tuple[AsyncUESClient, AsyncUESClient],
) -> None:
    ana, ben = both
    more: dict[str, Any] = {"body_html": "<p>Tuesday?</p>", "reply_to_address": CARL}
    await ana.email.send(
        from_address=ANA, to_addresses=[CARL], bcc_addresses=[BEN], subject="A day", body_text="Tuesday?", **more
    )
    await deliver(ana, ben)
    (mail,) = (await ben.email.query())["emails"]
    assert {name: mail[name] for name in more} == more
    assert (mail["to_addresses"], mail["bcc_addresses"]) == ([CARL], [])


async def test_a_text_to_several_arrives_in_a_group_in_which_all_can_be_answered(
    both: tuple[AsyncUESClient, AsyncUESClient],
) -> None:
    ana, ben = both
    await ana.sms.send(from_number=NUMBERS[0], to_numbers=list(NUMBERS[1:]), body="Ten o'clock?")
    await deliver(ana, ben)
    (text,) = (await ben.sms.get_state())["messages"].values()
    assert (text["from_number"], text["to_numbers"], text["is_read"]) == (NUMBERS[0], list(NUMBERS[1:]), False)
    (group,) = (await ben.sms.get_state())["conversations"].values()
    assert {person["phone_number"] for person in group["participants"]} == set(NUMBERS)

    await ben.sms.send(from_number=NUMBERS[1], to_numbers=[NUMBERS[0], NUMBERS[2]], body="Fine.")
    assert len((await ben.sms.get_state())["conversations"]) == 1


async def test_an_invitation_to_a_series_arrives_as_one(both: tuple[AsyncUESClient, AsyncUESClient]) -> None:
    ana, ben = both
    at = START + timedelta(days=1)
    await ana.calendar.create(
        title="Standup",
        start=at,
        end=at + timedelta(hours=1),
        timezone="Europe/Madrid",
        attendees=[{"email": BEN}],
        recurrence={"frequency": "daily", "end_type": "count", "count": 3},
    )
    (event,) = (await ana.calendar.get_state())["events"].values()
    await deliver(ana, ben)
    there = (await ben.calendar.get_state())["events"][event["event_id"]]
    assert (there["timezone"], there["recurrence"]) == ("Europe/Madrid", event["recurrence"])
