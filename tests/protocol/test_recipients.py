"""Recipients are read in one place: characters, judges, rubrics and the kit agree on who they are."""

from datetime import UTC, datetime
from typing import Any

from proctor.activities.characters.messages import OutgoingMessage
from proctor.activities.judging.records import make_records
from proctor.activities.judging.rubric import text_written
from proctor.protocol.evaluation import AgentBeatsEvalContext
from proctor.protocol.recipients import read_bare_recipients, read_recipients
from proctor.scenarios.kit.messages import messages_known, messages_sent
from purple_sdk.protocol.results import ActionLogEntryWithTurn

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
MAIL = {"to_addresses": ["Ann <Ann@x.org>"], "cc_addresses": ["ben@x.org"], "bcc_addresses": "cleo@x.org"}
ALL = ("Ann <Ann@x.org>", "ben@x.org", "cleo@x.org")
BARE = {"ann@x.org", "ben@x.org", "cleo@x.org"}


def test_recipients_are_all_who_are_written_to_and_invited() -> None:
    assert read_recipients(MAIL) == list(ALL)
    assert read_bare_recipients(MAIL) == BARE
    assert read_bare_recipients({"to_numbers": ["00 1 (555) 222-0001", None]}) == {"+15552220001"}
    invitation = {"attendees": [{"email": "Ann@x.org"}, "ben@x.org", {"name": "no address"}]}
    assert read_recipients(invitation) == ["Ann@x.org", "ben@x.org"]
    assert read_bare_recipients({"attendee_email": "Ann@x.org"}) == {"ann@x.org"}
    assert read_recipients({"subject": "for no one"}) == []


def test_every_reader_of_a_mail_counts_to_cc_and_bcc() -> None:
    entry = ActionLogEntryWithTurn(
        turn=1, timestamp=NOON, action="email.send", parameters={**MAIL, "body_text": "hello"}, success=True
    )
    mail: dict[str, Any] = {
        **MAIL,
        "bcc_addresses": ["cleo@x.org"],
        "from_address": "me@x.org",
        "sent_at": "2026-03-02",
    }
    state = {"email": {"emails": {"m": mail}}}
    ctx = AgentBeatsEvalContext(None, {}, [entry], state, state, user_prompt="")
    written = text_written(entry)
    assert written is not None
    assert written.recipients == ALL
    assert {record.to for record in make_records(ctx) if record.kind in ("writing", "state")} == {ALL}
    assert [message.people for message in messages_sent(ctx)] == [BARE]
    assert [people for _, people, _ in messages_known(ctx)] == [BARE | {"me@x.org"}]
    sent = OutgoingMessage(
        modality="email", message_id="m", to=[ALL[0]], cc=[ALL[1]], bcc=[ALL[2]], sender="me@x.org", sent_at=NOON
    )
    assert set(sent.recipients) == BARE
