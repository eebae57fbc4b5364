"""The phone's messages."""

from typing import Any

import pytest

from tests.sentences import says
from tests.ues.helpers import START, Sim, at
from tests.ues.stories.sms import ANN, BEN, ME, event


def only(sim: Sim) -> Any:
    (message,) = sim.state("sms")["messages"].values()
    return message


def failed(sim: Sim, action: str, **parts: Any) -> Any:
    """Run an event that can't be carried out; returns why."""
    before = sim.state("sms")
    answer = sim.event("sms", {"action": action, **parts})
    assert answer["status"] == "failed"
    assert sim.state("sms") == before
    return answer["error_message"]


def test_a_message_arrives_and_is_read(sim: Sim) -> None:
    sim.do("/sms/receive", from_number="+1 (555) 111-0001", to_numbers=[ME], body="Hi", sent_at=at(-60))
    message = only(sim)
    assert message == {
        "message_id": message["message_id"],
        "thread_id": message["thread_id"],
        "from_number": "+1 (555) 111-0001",
        "to_numbers": [ME],
        "body": "Hi",
        "attachments": [],
        "reactions": [],
        "message_type": "sms",
        "direction": "incoming",
        "sent_at": at(-60),
        "delivered_at": None,
        "read_at": None,
        "is_read": False,
        "delivery_status": "sent",
        "edited_at": None,
        "is_deleted": False,
        "replied_to_message_id": None,
        "is_spam": False,
    }
    assert sim.state("sms")["unread_count"] == 1
    sim.do("/sms/read", message_ids=[message["message_id"]])
    assert (only(sim)["is_read"], only(sim)["read_at"], sim.state("sms")["unread_count"]) == (True, START, 0)
    sim.do("/sms/unread", message_ids=[message["message_id"]])
    assert (only(sim)["is_read"], sim.state("sms")["unread_count"]) == (False, 1)


def test_the_same_people_share_a_conversation(sim: Sim) -> None:
    sim.do("/sms/receive", from_number=ANN, to_numbers=[ME], body="1")
    sim.do("/sms/send", from_number=ME, to_numbers=["+1-555-111-0001"], body="2")
    sim.do("/sms/receive", from_number=BEN, to_numbers=[ME, ANN], body="3")
    state = sim.state("sms")
    kinds = [(c["conversation_type"], c["message_count"], c["unread_count"]) for c in state["conversations"].values()]
    assert kinds == [("one_on_one", 2, 1), ("group", 1, 1)]
    assert (state["total_message_count"], state["total_conversation_count"], state["user_phone_number"]) == (3, 2, ME)


def test_reactions_edits_and_deletions(sim: Sim) -> None:
    sim.do("/sms/receive", from_number=ANN, to_numbers=[ME], body="Hi")
    key = only(sim)["message_id"]
    sim.do("/sms/react", message_id=key, phone_number=ME, emoji="👍")
    sim.do("/sms/react", message_id=key, phone_number=ME, emoji="❤️")
    (reaction,) = only(sim)["reactions"]
    assert (reaction["emoji"], reaction["message_id"], reaction["timestamp"]) == ("❤️", key, START)
    event(sim, "remove_reaction", reaction_data={"reaction_id": reaction["reaction_id"]})
    event(sim, "edit_message", edit_data={"message_id": key, "new_body": "Hello"})
    assert (only(sim)["reactions"], only(sim)["body"], only(sim)["edited_at"]) == ([], "Hello", START)
    sim.do("/sms/delete", message_ids=[key])
    assert (only(sim)["is_deleted"], sim.state("sms")["unread_count"]) == (True, 0)
    assert "is deleted" in failed(sim, "edit_message", edit_data={"message_id": key, "new_body": "x"})


def test_groups(sim: Sim) -> None:
    event(sim, "create_group", group_data={"thread_id": "g", "group_name": "Trip", "participant_numbers": [ANN]})
    event(sim, "add_participant", participant_data={"thread_id": "g", "phone_number": BEN})
    event(sim, "leave_group", group_data={"thread_id": "g"})
    group = sim.state("sms")["conversations"]["g"]
    assert [(p["phone_number"], p["is_admin"], p["left_at"]) for p in group["participants"]] == [
        (ME, True, START),
        (ANN, False, None),
        (BEN, False, None),
    ]
    assert (group["group_name"], group["created_by"], group["conversation_type"]) == ("Trip", ME, "group")
    assert "already" in failed(sim, "add_participant", participant_data={"thread_id": "g", "phone_number": BEN})
    assert says().within(failed(sim, "leave_group", group_data={"thread_id": "g"}))
    assert "is taken" in failed(sim, "create_group", group_data={"thread_id": "g"})
    sim.do("/sms/conversation", thread_id="g", group_name="Journey", is_archived=True)
    group = sim.state("sms")["conversations"]["g"]
    assert (group["group_name"], group["is_archived"], group["is_muted"]) == ("Journey", True, False)


def test_marking_a_conversation_read(sim: Sim) -> None:
    for body in "ab":
        sim.do("/sms/receive", from_number=ANN, to_numbers=[ME], body=body)
    (thread,) = sim.state("sms")["conversations"]
    sim.do("/sms/conversation", thread_id=thread, mark_all_read=True)
    assert sim.state("sms")["unread_count"] == sim.state("sms")["conversations"][thread]["unread_count"] == 0
    assert sim.query("sms", delivery_status="read")["total_count"] == 2


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/sms/read", {"message_ids": ["nobody's"]}),
        ("/sms/delete", {"message_ids": ["nobody's"]}),
        ("/sms/react", {"message_id": "nobody's", "phone_number": ME, "emoji": "x"}),
        ("/sms/conversation", {"thread_id": "nobody's"}),
        ("/sms/send", {"from_number": ME, "to_numbers": [ANN], "body": "x", "replied_to_message_id": "nobody's"}),
    ],
)
def test_what_is_not_there_fails_the_event(sim: Sim, path: str, body: dict[str, Any]) -> None:
    answer = sim.ok("POST", path, body)
    assert answer["status"] == "failed"
    assert "nobody's" in answer["message"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/sms/send", {"from_number": ME, "to_numbers": [], "body": "x"}),
        ("/sms/send", {"to_numbers": [ANN], "body": "x"}),
        ("/sms/send", {"from_number": ME, "to_numbers": [ANN], "body": "x", "message_type": "fax"}),
        ("/sms/read", {"message_ids": []}),
    ],
)
def test_bad_input_is_refused(sim: Sim, path: str, body: dict[str, Any]) -> None:
    assert sim.post(path, json=body).status_code == 422


@pytest.mark.parametrize(
    "data",
    [
        {"action": "send_message"},
        {"action": "receive_message", "message_data": {}},
        {"action": "edit_message", "edit_data": {"message_id": 5}},
    ],
)
def test_an_event_that_lacks_its_part_is_refused(sim: Sim, data: dict[str, Any]) -> None:
    answer = sim.post("/events/immediate", json={"modality": "sms", "data": data})
    assert (answer.status_code, answer.json()["error"]) == (400, "Bad Request")


@pytest.mark.parametrize(
    ("filters", "bodies"),
    [
        ({}, ["c", "b", "a"]),
        ({"sort_order": "asc", "limit": 2, "offset": 1}, ["b", "c"]),
        ({"direction": "incoming"}, ["c", "a"]),
        ({"from_number": "1 555"}, []),
        ({"from_number": "+1 555 111 0001"}, ["a"]),
        ({"to_number": ANN}, ["b"]),
        ({"body_contains": "B"}, ["b"]),
        ({"is_read": False}, ["c", "a"]),
        ({"has_attachments": True}, ["c"]),
        ({"sent_after": at(1)}, ["c", "b"]),
        ({"sent_before": at(10)}, ["b", "a"]),
        ({"sort_by": "from_number", "sort_order": "asc"}, ["b", "a", "c"]),
    ],
)
def test_queries(sim: Sim, filters: dict[str, Any], bodies: list[str]) -> None:
    sim.do("/sms/receive", from_number=ANN, to_numbers=[ME], body="a")
    sim.advance(10)
    sim.do("/sms/send", from_number=ME, to_numbers=[ANN], body="b")
    sim.advance(10)
    photo = {"filename": "a.png", "size": 5, "mime_type": "image/png"}
    sim.do("/sms/receive", from_number=BEN, to_numbers=[ME], body="c", attachments=[photo])
    answer = sim.ok("POST", "/sms/query", filters)
    assert [message["body"] for message in answer["messages"]] == bodies
    assert answer["returned_count"] == len(bodies)


def test_an_import_makes_up_what_a_file_leaves_out(sim: Sim) -> None:
    message = {
        "thread_id": "t",
        "from_number": "(555) 111-0001",
        "to_numbers": [ME],
        "body": "x",
        "direction": "incoming",
        "sent_at": START,
    }
    state = {"last_updated": START, "user_phone_number": "+1 555 000 0000", "messages": {"m": message}}
    sim.ok("POST", "/scenario/import/environment", {"data": {"modality_states": {"sms": state}}})
    shown = sim.state("sms")
    assert shown["messages"]["m"]["from_number"] == "(555) 111-0001"
    assert shown["conversations"]["t"]["unread_count"] == 1
    assert shown["user_phone_number"] == "+1 555 000 0000"
    assert sim.query("sms", from_number=ANN)["total_count"] == sim.query("sms", to_number="555-000-0000")["total_count"]


def test_the_same_people_share_a_conversation_however_their_numbers_are_written(sim: Sim) -> None:
    sim.do("/sms/receive", from_number="(555) 111-0001", to_numbers=["1 555 000 0000"], body="1")
    sim.do("/sms/send", from_number=ME, to_numbers=[ANN], body="2")
    assert sim.state("sms")["total_conversation_count"] == 1
    assert sim.query("sms", from_number=ANN)["total_count"] == 1
    assert sim.query("sms", to_number="555 111 0001")["total_count"] == 1
    key = sim.query("sms", from_number=ANN)["messages"][0]["message_id"]
    sim.do("/sms/react", message_id=key, phone_number="555-111-0001", emoji="👍")
    sim.do("/sms/react", message_id=key, phone_number=ANN, emoji="❤️")
    assert [r["emoji"] for r in sim.state("sms")["messages"][key]["reactions"]] == ["❤️"]
    event(sim, "remove_reaction", reaction_data={"message_id": key, "phone_number": "1 555 111 0001"})
    assert sim.state("sms")["messages"][key]["reactions"] == []


def test_any_conversation_can_be_renamed(sim: Sim) -> None:
    sim.do("/sms/receive", from_number=ANN, to_numbers=[ME], body="Hi")
    (thread,) = sim.state("sms")["conversations"]
    sim.do("/sms/conversation", thread_id=thread, group_name="Ann")
    assert sim.state("sms")["conversations"][thread]["group_name"] == "Ann"


def test_a_group_of_people_as_a_state_lists_them(sim: Sim) -> None:
    people = [{"phone_number": ME}, {"phone_number": ANN, "is_admin": True}, BEN]
    event(sim, "create_group", group_data={"thread_id": "g", "participants": people, "creator_number": BEN})
    event(sim, "leave_group", participant_data={"thread_id": "g", "phone_number": ANN})
    event(sim, "leave_group", participant_data={"thread_id": "g"})
    group = sim.state("sms")["conversations"]["g"]["participants"]
    assert [(p["phone_number"], p["is_admin"], p["left_at"]) for p in group] == [
        (BEN, True, None),
        (ME, False, START),
        (ANN, True, START),
    ]


def test_the_compact_state_has_no_bodies(sim: Sim) -> None:
    sim.do("/sms/receive", from_number=ANN, to_numbers=[ME], body="the-text")
    assert "the-text" in sim.get("/sms/state").text
    assert "the-text" not in sim.get("/sms/state", params={"compact": "true"}).text


def test_parts_may_be_called_what_a_state_calls_them(sim: Sim) -> None:
    event(sim, "receive_message", message_data={"message_id": "m", "from_number": ANN, "body": "Hi"})
    event(sim, "update_delivery_status", delivery_update_data={"message_id": "m", "delivery_status": "failed"})
    assert only(sim)["delivery_status"] == "failed"
    event(sim, "create_group", group_data={"thread_id": "g", "participants": [ME], "created_by": ANN})
    assert sim.state("sms")["conversations"]["g"]["created_by"] == ANN


def test_when_the_other_side_reads_a_message(sim: Sim) -> None:
    sim.do("/sms/send", from_number=ME, to_numbers=[ANN], body="Hi")
    sent = only(sim)
    assert (sent["is_read"], sent["read_at"], sent["delivery_status"]) == (True, None, "delivered")
    for seconds in (5, 5):
        sim.advance(seconds)
        sim.do("/sms/read", message_ids=[sent["message_id"]])
        assert (only(sim)["read_at"], only(sim)["delivery_status"]) == (at(5), "read")
    assert sim.state("sms")["unread_count"] == 0
