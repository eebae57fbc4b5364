"""What an assistant does most, in a real simulation, with typed answers."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from purple_sdk import PurpleUESClient
from purple_sdk.actions import ActionRecorder
from purple_sdk.ues import AsyncUESClient, NotFoundError, UESClient, UESHost
from tests.purple_sdk.conftest import Simulator
from tests.sentences import says

NOW = datetime(2026, 3, 4, 9, tzinfo=UTC)


@pytest.fixture(scope="module")
def admin(simulator: Simulator) -> Iterator[UESClient]:
    with (
        UESHost(*simulator) as host,
        host.simulation((made := host.create(seed=3)).simulation_id, made.admin_key) as client,
    ):
        yield client


@pytest.fixture
def recorder(admin: UESClient) -> ActionRecorder:
    admin.simulation.stop()
    admin.simulation.clear(reset_time_to=NOW)
    admin.simulation.start()
    return ActionRecorder(NOW)


@pytest.fixture
async def user(admin: UESClient, recorder: ActionRecorder) -> AsyncIterator[PurpleUESClient]:
    headers = admin._runner.exchange.headers
    async with AsyncUESClient(admin.base_url, headers["X-API-Key"], observer=recorder) as ues:
        yield PurpleUESClient(ues)


def receive(admin: UESClient, subject: str, **fields: object) -> None:
    given: dict[str, Any] = {
        "from_address": "ann@x.example",
        "to_addresses": ["user@example.com"],
        "body_text": "B",
        **fields,
    }
    admin.email.receive(subject=subject, **given)


async def test_mail_is_read_labelled_and_answered(
    admin: UESClient, user: PurpleUESClient, recorder: ActionRecorder
) -> None:
    receive(admin, "Lunch?", to_addresses=["user@example.com", "bob@x.example"], cc_addresses=["cy@x.example"])
    receive(admin, "Re: Plan", reply_to_address="office@x.example")
    lunch, plan = await user.get_unread_emails()
    assert (lunch.subject, lunch.from_address, lunch.received_at) == ("Lunch?", "ann@x.example", NOW)
    assert (await user.label_email(lunch.message_id, "food")).succeeded
    assert [mail.message_id for mail in await user.get_emails_by_label("food")] == [lunch.message_id]
    await user.reply_to_email(lunch, "Gladly.", to_all=True)
    await user.reply_to_email(plan.message_id, "Fine.", cc=["cy@x.example"])
    to_all, to_office = admin.email.query(folder="sent", sort_by="sent_at", sort_order="asc")["emails"]
    assert to_all["to_addresses"] == ["ann@x.example", "bob@x.example"]
    assert (to_all["cc_addresses"], to_all["subject"]) == (["cy@x.example"], "Re: Lunch?")
    assert to_office["to_addresses"] == ["office@x.example"]
    assert (to_office["cc_addresses"], to_office["subject"]) == (["cy@x.example"], "Re: Plan")
    await user.mark_email_read(lunch.message_id)
    await user.archive_email(plan.message_id)
    assert await user.get_unread_emails() == []
    reported = ["email.label", "email.send", "email.send", "email.mark_read", "email.archive"]
    assert [entry.action for entry in recorder.entries] == reported
    with pytest.raises(NotFoundError, check=says("gone")):
        await user.reply_to_email("gone", "Hello?")


async def test_a_day_of_appointments(admin: UESClient, user: PurpleUESClient) -> None:
    made = await user.create_event(
        "Stand-up", NOW.replace(hour=10), NOW.replace(hour=11), attendees=["ann@x.example"], location="Room 1"
    )
    assert (made.title, made.start, made.location) == ("Stand-up", NOW.replace(hour=10), "Room 1")
    assert [(one.email, one.response) for one in made.attendees] == [("ann@x.example", "needs-action")]
    await user.create_event("Tomorrow", NOW.replace(day=5), NOW.replace(day=5, hour=10))
    assert [event.title for event in await user.get_todays_events()] == ["Stand-up"]
    assert (await user.move_event(made.event_id, NOW.replace(hour=14), NOW.replace(hour=15))).succeeded
    assert await user.get_events_in_range(NOW.replace(hour=10), NOW.replace(hour=11)) == []
    [moved] = await user.get_todays_events()
    assert (moved.event_id, moved.start) == (made.event_id, NOW.replace(hour=14))
    invitation = admin.calendar.create(
        title="Invited", start=NOW, end=NOW.replace(hour=10), attendees=[{"email": "user@example.com"}]
    )
    event_id = invitation.message.rpartition("calendar_event_id: ")[2].split()[0]
    assert (await user.rsvp_to_event(event_id, "declined", "Away.")).succeeded
    [invited, _] = await user.get_todays_events()
    assert [attendee.response for attendee in invited.attendees] == ["declined"]


async def test_phone_chat_people_and_the_clock(admin: UESClient, user: PurpleUESClient) -> None:
    admin.sms.receive(from_number="+34600000002", to_numbers=["+1234567890"], body="Call me")
    [sms] = await user.get_unread_sms()
    assert (sms.body, sms.direction) == ("Call me", "incoming")
    assert (await user.send_sms(sms.from_number, "Soon.")).succeeded
    admin.chat.send(role="user", content=[{"type": "text", "text": "Hello"}])
    await user.send_chat_message("Hi!")
    assert [(said.role, said.text) for said in await user.get_chat_messages()] == [
        ("user", "Hello"),
        ("assistant", "Hi!"),
    ]
    assert [said.text for said in await user.get_chat_messages(role="user")] == ["Hello"]
    admin.contacts.create(
        first_name="Ann", last_name="Lee", identifiers=[{"identifier_type": "email", "value": "ann@x.example"}]
    )
    [ann] = await user.find_contacts("lee")
    assert (ann.name, [one.value for one in ann.identifiers]) == ("Ann Lee", ["ann@x.example"])
    assert await user.get_current_time() == NOW
    assert "modalities" in await user.get_full_state()


async def test_more_than_a_page_of_mail_is_read_whole(admin: UESClient, user: PurpleUESClient) -> None:
    events = [
        {
            "scheduled_time": NOW.isoformat(),
            "modality": "email",
            "data": {
                "modality_type": "email",
                "timestamp": NOW.isoformat(),
                "operation": "receive",
                "from_address": "ann@x.example",
                "to_addresses": ["user@example.com"],
                "subject": f"Mail {number}",
                "body_text": "B",
            },
        }
        for number in range(501)
    ]
    admin.events.batch(events)
    admin.time.advance(1)
    assert len({mail.message_id for mail in await user.get_unread_emails()}) == 501
