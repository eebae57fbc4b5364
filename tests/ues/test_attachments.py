"""Attached files: read by their mail, over REST, client and MCP; stored once, however many checkpoints there are."""

from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest

from proctor.ues import checkpoint
from proctor.ues.problems import Invalid
from proctor.ues.scenario import import_full
from proctor.ues.simulation import Simulation
from purple_sdk.ues import UESClient
from tests.sentences import says
from tests.ues.helpers import START, Sim, at
from tests.ues.test_mcp import ask

TABLE, PICTURE = b"item,price\ntea,3.50\n", b"\x89PNG\r\n\x1a\n" + bytes(3000)


def name_of(content: bytes) -> str:
    return sha256(content).hexdigest()


def attached(number: int, name: str, mime_type: str, content: bytes) -> dict[str, Any]:
    about = {"attachment_id": f"a-{number}", "filename": name, "mime_type": mime_type}
    return {**about, "size": len(content), "sha256": name_of(content)}


FILES = {
    name_of(TABLE): {"content": b64encode(TABLE).decode()},
    name_of(PICTURE): {"content": b64encode(PICTURE).decode(), "text": "A receipt over 3.50"},
}
MAIL = {
    "from_address": "ann@example.com",
    "to_addresses": ["user@example.com"],
    "subject": "Receipts",
    "body_text": "Attached.",
    "attachments": [attached(1, "a.csv", "text/csv", TABLE), attached(2, "b.png", "image/png", PICTURE)],
}
LATER = {
    "scheduled_time": at(3600),
    "modality": "email",
    "data": {"operation": "receive", "message_id": "later", **MAIL},
}
STATE: dict[str, Any] = {
    "environment": {
        "time_state": {"current_time": START},
        "modality_states": {
            "email": {
                "emails": {
                    "now": {**MAIL, "message_id": "now", "thread_id": "t", "sent_at": START, "received_at": START}
                },
                "files": FILES,
            }
        },
    },
    "events": {"events": [LATER]},
}


@pytest.fixture
def mailed(sim: Sim) -> Sim:
    sim.ok("POST", "/scenario/import/full", {"scenario": STATE})
    sim.ok("POST", "/simulation/start", {"auto_advance": False})
    return sim


def test_a_participant_reads_an_attached_file(mailed: Sim) -> None:
    user = mailed.participant()
    table = user.ok("GET", "/email/attachment", message_id="now", attachment_id="a-1")
    assert table == {
        "message_id": "now",
        "attachment_id": "a-1",
        "filename": "a.csv",
        "mime_type": "text/csv",
        "sha256": name_of(TABLE),
        "size": len(TABLE),
        "text": TABLE.decode(),
        "content": b64encode(TABLE).decode(),
    }
    with UESClient(str(mailed.base_url), user.secret) as client:
        assert client.email.attachment("now", "a-2")["text"] == "A receipt over 3.50"


def test_over_mcp_text_is_text_and_a_picture_an_image(mailed: Sim) -> None:
    user = mailed.participant()

    def blocks(number: int) -> list[dict[str, Any]]:
        arguments = {"message_id": "now", "attachment_id": f"a-{number}"}
        found: list[dict[str, Any]] = ask(user, "tools/call", name="email_attachment", arguments=arguments)["content"]
        return found

    assert [block["type"] for block in blocks(1)] == ["text", "text"]
    assert blocks(1)[1]["text"] == TABLE.decode()
    about, text, image = blocks(2)
    assert "b.png" in about["text"]
    assert text["text"] == "A receipt over 3.50"
    assert (image["type"], image["mimeType"], image["data"]) == ("image", "image/png", b64encode(PICTURE).decode())


def test_a_file_is_readable_only_through_a_mail_that_has_come(mailed: Sim) -> None:
    user = mailed.participant()
    assert user.get("/email/attachment", params={"message_id": "later", "attachment_id": "a-1"}).status_code == 404
    content = b64encode(PICTURE).decode()
    for path in ("/email/state", "/environment/state", "/environment/modalities/email"):
        assert content not in user.get(path).text
    mailed.ok("POST", "/simulator/time/advance", {"seconds": 3600})
    assert user.ok("GET", "/email/attachment", message_id="later", attachment_id="a-1")["text"] == TABLE.decode()


def test_a_forwarded_mail_has_its_files_and_a_file_of_the_participant_has_no_content(mailed: Sim) -> None:
    user = mailed.participant()
    user.do("/email/forward", message_id="now", to_addresses=["bob@example.com"])
    own = {"filename": "x.csv", "size": 3, "mime_type": "text/csv", "sha256": name_of(TABLE)}
    user.do("/email/reply", message_id="now", body_text="Mine.", attachments=[own])
    forwarded, replied = [email for email in user.state("email")["emails"].values() if email["folder"] == "sent"]
    read = {"message_id": forwarded["message_id"], "attachment_id": "a-1"}
    assert user.ok("GET", "/email/attachment", **read)["text"] == TABLE.decode()
    [attachment] = replied["attachments"]
    read = {"message_id": replied["message_id"], "attachment_id": attachment["attachment_id"]}
    refused = user.get("/email/attachment", params=read)
    assert refused.status_code == 404
    assert says().within(refused.text)


def simulation() -> Simulation:
    made = Simulation("one", "the-admin-key-of-this-test", "seed")
    import_full(made, STATE, strict=True)
    return made


def test_checkpoints_share_files_however_small_they_are() -> None:
    made = simulation()
    first = checkpoint.take_in_parts(made)
    contents = [content for content in first.new.values() if FILES[name_of(TABLE)]["content"].encode() in content]
    assert len(contents) == 1
    assert FILES[name_of(TABLE)]["content"].encode() not in first.manifest
    checkpoint.note_stored(made, first.digest)
    made.clock.move_to_text(at(60))
    made.note_change()
    second = checkpoint.take_in_parts(made)
    assert second.digest != first.digest
    assert second.new == {}
    other = Simulation("two", "the-admin-key-of-this-test", "seed")
    checkpoint.restore(other, second.manifest, first.new)
    assert other.states["email"]["files"] == made.states["email"]["files"]


def test_a_file_with_another_name_than_its_hash_is_refused() -> None:
    wrong = {"environment": {"modality_states": {"email": {"files": {"0" * 64: FILES[name_of(TABLE)]}}}}}
    with pytest.raises(Invalid, check=says("256")):
        import_full(Simulation("one", "the-admin-key-of-this-test", "seed"), wrong, strict=True)
