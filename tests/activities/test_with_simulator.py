"""The simulator's real events become actions, and characters' answers become mail, over real HTTP."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from proctor.activities.characters.generator import reply_event
from proctor.activities.characters.messages import CharacterReply, OutgoingMessage
from proctor.activities.participant.action_report import compare
from proctor.activities.scenario_code.initial_states import read_initial_state
from proctor.activities.simulation.turns import entries_from_events
from proctor.protocol.scenario import ScenarioConfig
from purple_sdk.protocol.results import ReportedAction
from purple_sdk.ues import AsyncUESClient
from tests.programs import serving

START = datetime.fromisoformat("2026-03-02T09:00:00+01:00")


@pytest.fixture(scope="module")
def simulator() -> Iterator[str]:
    with serving("proctor.ues", "--port", "0", "--single", UES_ADMIN_KEY="admin-key-of-this-test") as (address, _):
        yield address


async def test_actions_are_read_and_answers_arrive(simulator: str, scenario: ScenarioConfig) -> None:
    state, _ = read_initial_state(
        {
            "environment": {
                "time_state": {"current_time": START.isoformat()},
                "modality_states": {
                    "email": {"last_updated": START.isoformat(), "user_email_address": "ana@home.example"}
                },
            }
        },
        scenario,
    )
    async with AsyncUESClient(simulator, "admin-key-of-this-test") as admin:
        await admin.scenario.import_full(state)
        await admin.simulation.start()
        permissions = ["email:send", "email:archive", "chat:send"]
        key = await admin.keys.create(name="participant", permissions=permissions, key_id="participant")
        async with AsyncUESClient(simulator, key.secret) as participant:
            sent = await participant.email.send(
                from_address="ana@home.example", to_addresses=["ben@work.example"], subject="Thursday", body_text="Ten?"
            )
            await participant.chat.send(role="assistant", content="I asked Ben.")
            assert sent.status == "executed"

        events = [event.model_dump() for event in (await admin.events.list()).events]
        actions = entries_from_events(events, "participant", 1)
        assert [(entry.action, entry.success, entry.timestamp) for entry in actions] == [
            ("email.send", True, START),
            ("chat.send_message", True, START),
        ]
        assert actions[0].parameters["body_text"] == "Ten?"
        assert not {"operation", "timestamp", "input_id", "modality_type", "body_html"} & set(actions[0].parameters)
        reports = [
            ReportedAction(
                turn=1, timestamp=START, success=True, action="email.send_email", parameters={"body": "Ten?"}
            ),
            ReportedAction(
                turn=1, timestamp=START, success=True, action="email.archive", parameters={"message_id": "m"}
            ),
        ]
        report = compare(reports, actions)
        assert (report.unreported, report.never_happened) == ([actions[1]], [reports[1]])

        [mail] = (await admin.email.get_state())["emails"].values()
        message = OutgoingMessage(
            modality="email",
            message_id=mail["message_id"],
            thread_id=mail["thread_id"],
            sender=mail["from_address"],
            to=mail["to_addresses"],
            subject=mail["subject"],
            body=mail["body_text"],
            sent_at=START,
        )
        reply = CharacterReply(
            character_id="ben", modality="email", text="Ten is fine.", delay_seconds=60, subject="Re: Thursday"
        )
        modality, data = reply_event(reply, message, scenario)
        due = START + timedelta(seconds=reply.delay_seconds)
        await admin.events.create(scheduled_time=due, modality=modality, data={**data, "timestamp": due.isoformat()})
        await admin.time.advance(61)
        emails = (await admin.email.get_state())["emails"].values()
        [answer] = [email for email in emails if email["from_address"] == "Ben@Work.example"]
        assert (answer["thread_id"], answer["in_reply_to"], answer["folder"]) == (
            mail["thread_id"],
            mail["message_id"],
            "inbox",
        )
        assert answer["subject"] == "Re: Thursday"
        assert datetime.fromisoformat(answer["received_at"]) == due
