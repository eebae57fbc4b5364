"""The mailbox."""

from typing import Any

import pytest

from tests.ues.helpers import START, Sim, at, receive

SEND = {"from_address": "user@example.com", "to_addresses": ["bob@example.com"], "subject": "Plan", "body_text": "Text"}


def email(sim: Sim, message_id: str) -> Any:
    return sim.state("email")["emails"][message_id]


def act(sim: Sim, operation: str, **fields: Any) -> Any:
    """Carry out an operation that only events can ask for; returns the email that it made, if any."""
    before = set(sim.state("email")["emails"])
    event = sim.event("email", {"operation": operation, **fields})
    assert event["status"] == "executed", event
    made = set(sim.state("email")["emails"]) - before
    return email(sim, made.pop()) if made else None


def test_an_empty_mailbox(sim: Sim) -> None:
    assert sim.state("email") == {
        "modality_type": "email",
        "current_time": START,
        "user_email_address": "user@example.com",
        "emails": {},
        "threads": {},
        "folders": {name: [] for name in ("inbox", "sent", "drafts", "archive", "trash", "spam")},
        "labels": {},
        "total_email_count": 0,
        "unread_count": 0,
        "starred_count": 0,
    }


def test_receiving(sim: Sim) -> None:
    answer = sim.ok(
        "POST",
        "/email/receive",
        {
            "from_address": "ann@example.com",
            "to_addresses": ["user@example.com"],
            "cc_addresses": ["bob@example.com"],
            "subject": "Hello",
            "body_text": "Text",
            "attachments": [{"filename": "a.pdf", "size": 3, "mime_type": "application/pdf"}],
            "priority": "high",
            "sent_at": "2025-01-06T09:30:00+01:00",
        },
    )
    assert set(answer) == {"event_id", "scheduled_time", "status", "message", "modality"}
    assert (answer["status"], answer["modality"], answer["scheduled_time"]) == ("executed", "email", START)
    state = sim.state("email")
    ((message_id, got),) = state["emails"].items()
    ((thread_id, thread),) = state["threads"].items()
    assert got.pop("attachments")[0].keys() == {"filename", "size", "mime_type", "content_id", "attachment_id"}
    assert got == {
        "message_id": message_id,
        "thread_id": thread_id,
        "from_address": "ann@example.com",
        "to_addresses": ["user@example.com"],
        "cc_addresses": ["bob@example.com"],
        "bcc_addresses": [],
        "reply_to_address": None,
        "subject": "Hello",
        "body_text": "Text",
        "body_html": None,
        "in_reply_to": None,
        "references": [],
        "sent_at": at(-1800),
        "received_at": START,
        "is_read": False,
        "is_starred": False,
        "priority": "high",
        "folder": "inbox",
        "labels": [],
    }
    assert thread == {
        "thread_id": thread_id,
        "subject": "Hello",
        "participant_addresses": ["ann@example.com", "user@example.com", "bob@example.com"],
        "message_ids": [message_id],
        "created_at": at(-1800),
        "last_message_at": at(-1800),
        "message_count": 1,
        "unread_count": 1,
    }
    assert state["folders"]["inbox"] == [message_id]
    assert (state["total_email_count"], state["unread_count"], state["starred_count"]) == (1, 1, 0)


def test_sending_becomes_an_event_with_priority_100(sim: Sim) -> None:
    answer = sim.do("/email/send", **SEND)
    (sent,) = sim.state("email")["emails"].values()
    assert (sent["folder"], sent["is_read"], sent["sent_at"]) == ("sent", True, START)
    event = sim.ok("GET", f"/events/{answer['event_id']}")
    assert (event["priority"], event["agent_id"], event["data"]["operation"]) == (100, "admin", "send")


@pytest.mark.parametrize(
    "change",
    [
        {"to_addresses": []},
        {"to_addresses": None},
        {"to_addresses": [1]},
        {"subject": None},
        {"body_text": 5},
        {"priority": "urgent"},
        {"attachments": [{"filename": "a", "size": 0, "mime_type": "x"}]},
        {"attachments": [{"filename": "a", "size": 1e30, "mime_type": "x"}]},
    ],
)
def test_bad_emails_are_refused(sim: Sim, change: dict[str, Any]) -> None:
    answer = sim.post("/email/send", json={**SEND, **change})
    assert answer.status_code == 422
    assert answer.json()["error"] == "Validation Error"
    assert set(answer.json()["detail"][0]) == {"type", "loc", "msg", "input"}
    assert answer.json()["detail"][0]["loc"][:2] == ["body", next(iter(change))]
    assert sim.ok("GET", "/events")["total"] == 0


def test_threads_follow_answers(sim: Sim) -> None:
    first = receive(sim, "Trip")
    answer = receive(sim, "Re: Trip", in_reply_to=first)
    by_reference = receive(sim, "Re: Trip", references=["unknown", first])
    other = receive(sim, "Trip")
    named = receive(sim, "Trip", thread_id=email(sim, first)["thread_id"])
    thread = sim.state("email")["threads"][email(sim, first)["thread_id"]]
    assert thread["message_ids"] == [first, answer, by_reference, named]
    assert (thread["message_count"], thread["unread_count"], thread["subject"]) == (4, 4, "Trip")
    assert email(sim, other)["thread_id"] != email(sim, first)["thread_id"]


def test_reply_reply_all_and_forward(sim: Sim) -> None:
    original = receive(
        sim,
        "Trip",
        to_addresses=["user@example.com", "bob@example.com"],
        cc_addresses=["cy@example.com", "USER@example.com"],
        reply_to_address="office@example.com",
        attachments=[{"filename": "map.png", "size": 9, "mime_type": "image/png"}],
    )
    reply = act(sim, "reply", message_id=original, body_text="Yes")
    assert (reply["to_addresses"], reply["cc_addresses"], reply["subject"]) == (["office@example.com"], [], "Re: Trip")
    assert (reply["in_reply_to"], reply["references"]) == (original, [original])
    assert (reply["thread_id"], reply["folder"]) == (email(sim, original)["thread_id"], "sent")
    to_all = act(sim, "reply_all", message_id=original, body_text="Yes")
    assert to_all["to_addresses"] == ["office@example.com"]
    assert to_all["cc_addresses"] == ["bob@example.com", "cy@example.com"]
    forward = act(sim, "forward", message_id=original, to_addresses=["dee@example.com"], body_text="See below")
    assert forward["subject"] == "Fwd: Trip"
    assert forward["body_text"].startswith("See below")
    assert "The text of Trip" in forward["body_text"]
    assert forward["attachments"][0]["filename"] == "map.png"
    again = act(sim, "reply", message_id=reply["message_id"], body_text="One more thing")
    assert again["to_addresses"] == ["office@example.com"]
    assert again["subject"] == "Re: Trip"
    for operation in ("reply", "reply_all", "forward"):
        assert sim.event("email", {"operation": operation, "message_id": "nope"})["status"] == "failed"


def test_drafts(sim: Sim) -> None:
    act(sim, "save_draft", message_id="d1", subject="Draft", body_text="one", to_addresses=[])
    act(sim, "save_draft", message_id="d1", subject="Draft", body_text="two")
    state = sim.state("email")
    assert (state["folders"]["drafts"], state["emails"]) == (["d1"], {})
    assert sim.query("email", folder="drafts")["emails"][0]["body_text"] == "two"
    assert sim.event("email", {"operation": "send_draft", "message_id": "d1"})["status"] == "failed"
    sent = act(sim, "send_draft", message_id="d1", to_addresses=["bob@example.com"])
    assert (sent["message_id"], sent["folder"], sent["body_text"]) == ("d1", "sent", "two")
    assert sim.state("email")["folders"]["drafts"] == []
    act(sim, "save_draft", message_id="d2")
    sim.do("/email/delete", message_ids=["d2"])
    assert sim.query("email", folder="drafts")["total_count"] == 0


def test_marking_moving_and_labelling(sim: Sim) -> None:
    one, two = receive(sim, "one"), receive(sim, "two")
    sim.do("/email/read", message_ids=[one, two])
    assert sim.state("email")["unread_count"] == 0
    sim.do("/email/unread", message_ids=[two])
    assert sim.state("email")["threads"][email(sim, two)["thread_id"]]["unread_count"] == 1
    sim.do("/email/star", message_ids=[one])
    assert (email(sim, one)["is_starred"], sim.state("email")["starred_count"]) == (True, 1)
    sim.do("/email/unstar", message_ids=[one])
    assert email(sim, one)["is_starred"] is False
    sim.do("/email/label", message_ids=[one, two], labels=["work", "work"])
    assert (email(sim, one)["labels"], sim.state("email")["labels"]) == (["work"], {"work": [one, two]})
    sim.do("/email/unlabel", message_ids=[one], labels=["work", "absent"])
    assert sim.state("email")["labels"] == {"work": [two]}
    sim.do("/email/move", message_ids=[one], folder="projects")
    assert sim.state("email")["folders"]["projects"] == [one]
    sim.do("/email/archive", message_ids=[one])
    assert (sim.state("email")["folders"]["projects"], email(sim, one)["folder"]) == ([], "archive")
    act(sim, "mark_spam", message_ids=[one])
    assert email(sim, one)["folder"] == "spam"
    act(sim, "mark_not_spam", message_ids=[one])
    assert email(sim, one)["folder"] == "inbox"
    sim.do("/email/delete", message_ids=[one])
    assert email(sim, one)["folder"] == "trash"
    thread_id = email(sim, one)["thread_id"]
    sim.do("/email/delete", message_ids=[one])
    state = sim.state("email")
    assert one not in state["emails"]
    assert thread_id not in state["threads"]
    assert state["folders"]["trash"] == []
    assert sim.ok("POST", "/environment/validate")["valid"] is True


@pytest.mark.parametrize("path", ["read", "unread", "star", "unstar", "archive", "delete", "label", "unlabel", "move"])
def test_an_unknown_email_makes_the_event_fail_as_a_whole(sim: Sim, path: str) -> None:
    known = receive(sim)
    before = sim.state("email")
    answer = sim.ok("POST", f"/email/{path}", {"message_ids": [known, "nope"], "labels": ["x"], "folder": "x"})
    assert answer["status"] == "failed"
    assert "nope" in answer["message"]
    assert sim.state("email") == before
    assert sim.post(f"/email/{path}", json={"message_ids": [], "labels": ["x"], "folder": "x"}).status_code == 422


def test_queries(sim: Sim) -> None:
    one = receive(sim, "Alpha", labels=["ignored"])
    sim.advance(60)
    attachment = {"filename": "a", "size": 1, "mime_type": "x"}
    two = receive(sim, "Beta", from_address="Bob@Example.com", attachments=[attachment], priority="low")
    sim.advance(60)
    sim.do("/email/send", **SEND)
    (three,) = sim.state("email")["folders"]["sent"]
    sim.do("/email/label", message_ids=[one, two], labels=["a"])
    sim.do("/email/label", message_ids=[two], labels=["b"])
    sim.do("/email/star", message_ids=[one])

    def found(**body: Any) -> list[str]:
        answer = sim.query("email", **body)
        assert answer["returned_count"] == len(answer["emails"])
        return [item["message_id"] for item in answer["emails"]]

    assert found() == [three, two, one]
    assert found(sort_order="asc") == [one, two, three]
    assert found(sort_by="subject", sort_order="asc") == [one, two, three]
    assert found(folder="inbox") == [two, one]
    assert found(is_read=True) == [three]
    assert found(is_starred=True) == [one]
    assert found(from_address="bob@example.com") == [two]
    assert found(to_address="BOB@example.com") == [three]
    assert found(subject_contains="ALP") == [one]
    assert found(body_contains="text of b") == [two]
    assert found(has_attachments=True) == [two]
    assert found(has_attachments=False) == [three, one]
    assert found(labels=["a", "b"]) == [two]
    assert found(thread_id=sim.state("email")["emails"][one]["thread_id"]) == [one]
    assert found(priority="low") == [two]
    assert found(received_after=at(60)) == [three, two]
    assert found(received_before="2025-01-06T10:01:00+01:00") == [two, one]
    assert found(sent_after=at(61), sent_before=at(200)) == [three]
    paged = sim.query("email", limit=1, offset=1)
    assert (paged["total_count"], paged["returned_count"], paged["emails"][0]["message_id"]) == (3, 1, two)
    assert paged["query"]["limit"] == 1
    assert paged["query"]["offset"] == 1
    for bad in ({"limit": 0}, {"limit": 1001}, {"offset": -1}, {"sort_order": "up"}, {"priority": "x"}):
        assert sim.post("/email/query", json=bad).status_code == 422
    assert sim.post("/email/query", json={"sort_by": "colour"}).status_code == 400
    assert found(from_address="BOB@") == [two]
    assert found(to_address="example") == [three, two, one]
    assert found(from_address="Bob <bob@example.com>") == [two]


def test_summary_and_compact_states(sim: Sim) -> None:
    message_id = receive(sim, "Hello", body_text="B" * 500)
    summary = sim.state("email", summary="true")
    assert summary["emails"][message_id]["body_preview"] == "B" * 100
    assert (summary["statistics"]["total_emails"], summary["folders"]["inbox"]["count"]) == (1, 1)
    compact = sim.state("email", compact="true")
    full = sim.state("email")
    assert compact.keys() == full.keys() | {"folder_counts", "label_counts"}
    assert (compact["folder_counts"]["inbox"], compact["folders"]["inbox"]) == (1, [message_id])
    assert "B" * 10 not in str(compact)
    assert compact["emails"][message_id]["subject"] == "Hello"


def test_an_import_fills_in_what_a_file_leaves_out(sim: Sim) -> None:
    bare = {"from_address": "a@b.c", "to_addresses": ["u@x"], "subject": "s", "body_text": "t"}
    times = {"sent_at": "2025-01-01T10:00:00Z", "received_at": "2025-01-01T12:00:00+02:00"}
    emails = {
        "m1": {**bare, **times, "message_id": "m1", "thread_id": "t1", "labels": ["work"], "unknown": 1},
        "m2": {**bare, **times, "message_id": "m2", "thread_id": "t1", "folder": "archive", "is_read": True},
    }
    body = {"scenario": {"environment": {"modality_states": {"email": {"emails": emails}}}}}
    sim.ok("POST", "/scenario/import/full", body)
    state = sim.state("email")
    assert (state["folders"]["inbox"], state["folders"]["archive"]) == (["m1"], ["m2"])
    assert state["labels"] == {"work": ["m1"]}
    assert state["threads"]["t1"]["message_ids"] == ["m1", "m2"]
    assert state["threads"]["t1"]["unread_count"] == 1
    assert state["emails"]["m1"]["received_at"] == "2025-01-01T10:00:00+00:00"
    assert sim.ok("POST", "/environment/validate") | {"checked_at": ""} == {
        "valid": True,
        "errors": [],
        "checked_at": "",
    }


def test_addresses_with_a_name_before_them(sim: Sim) -> None:
    to = ["The User <user@example.com>", "Bob <bob@example.com>"]
    key = receive(sim, "Trip", from_address="Ann <ann@example.com>", to_addresses=to)
    for filters in ({"from_address": "ANN@example.com"}, {"to_address": "user@example.com"}):
        assert [found["message_id"] for found in sim.query("email", **filters)["emails"]] == [key]
    to_all = act(sim, "reply_all", message_id=key, body_text="Yes", cc_addresses=["ann@example.com"])
    assert (to_all["to_addresses"], to_all["cc_addresses"]) == (["Ann <ann@example.com>"], ["Bob <bob@example.com>"])


def test_an_answer_may_bring_its_own_id(sim: Sim) -> None:
    original = receive(sim, "Trip")
    answer = act(sim, "reply", message_id="the-answer", in_reply_to=original, body_text="Yes")
    assert (answer["message_id"], answer["in_reply_to"]) == ("the-answer", original)
    assert answer["thread_id"] == email(sim, original)["thread_id"]
    assert "needs message_id" in sim.event("email", {"operation": "reply", "body_text": "x"})["error_message"]


def test_nothing_arrives_as_a_draft(sim: Sim) -> None:
    """In a file it would be one, and an export has to come back as it was."""
    data = {
        "operation": "receive",
        "from_address": "ann@example.com",
        "subject": "x",
        "body_text": "",
        "folder": "drafts",
    }
    assert "draft" in sim.event("email", data)["error_message"]
    assert sim.state("email")["emails"] == {}


def test_a_draft_is_changed_as_it_is_sent(sim: Sim) -> None:
    act(sim, "save_draft", message_id="d", subject="Draft", body_text="one", priority="high")
    image = {"filename": "a.png", "size": 5, "mime_type": "image/png"}
    changes = {"to_addresses": ["bob@example.com"], "reply_to_address": "office@example.com", "attachments": [image]}
    sent = act(sim, "send_draft", message_id="d", **changes)
    assert [item["filename"] for item in sent["attachments"]] == ["a.png"]
    assert (sent["reply_to_address"], sent["priority"], sent["body_text"]) == ("office@example.com", "high", "one")


def test_high_priority_comes_before_normal_and_low(sim: Sim) -> None:
    for priority in ("normal", "high", "low"):
        receive(sim, priority, priority=priority)
    for order, expected in (("desc", ["high", "normal", "low"]), ("asc", ["low", "normal", "high"])):
        found = sim.query("email", sort_by="priority", sort_order=order)["emails"]
        assert [email["subject"] for email in found] == expected


@pytest.mark.parametrize("operation", ["mark_read", "star", "archive", "move", "delete", "add_label", "mark_spam"])
def test_an_operation_on_no_email_at_all_fails(sim: Sim, operation: str) -> None:
    done = sim.event("email", {"operation": operation, "folder": "x", "labels": ["x"]})
    assert (done["status"], "needs message_ids" in done["error_message"]) == ("failed", True)
