"""The chat."""

from typing import Any

import pytest

from tests.ues.helpers import START, Sim, at


def contents(sim: Sim) -> list[str]:
    return [message["content"] for message in sim.state("chat")["messages"]]


def test_sending(sim: Sim) -> None:
    assert sim.state("chat") == {
        "modality_type": "chat",
        "current_time": START,
        "conversations": {},
        "messages": [],
        "total_message_count": 0,
        "conversation_count": 0,
        "max_history_size": 1000,
    }
    sim.do("/chat/send", role="user", content="Hello", metadata={"a": [1]})
    sim.advance(5)
    sim.do("/chat/send", role="assistant", content=[{"type": "text", "text": "Hi"}])
    sim.do("/chat/send", role="user", content="Elsewhere", conversation_id="other")
    state = sim.state("chat")
    first = state["messages"][0]
    assert first == {
        "message_id": first["message_id"],
        "conversation_id": "default",
        "role": "user",
        "content": "Hello",
        "timestamp": START,
        "metadata": {"a": [1]},
    }
    assert state["conversations"]["default"] == {
        "conversation_id": "default",
        "created_at": START,
        "last_message_at": at(5),
        "message_count": 2,
        "participant_roles": ["user", "assistant"],
    }
    assert (state["total_message_count"], state["conversation_count"]) == (3, 2)


@pytest.mark.parametrize(
    "body", [{}, {"role": "user"}, {"role": "system", "content": "x"}, {"role": "user", "content": 5}]
)
def test_bad_messages_are_refused(sim: Sim, body: dict[str, Any]) -> None:
    assert sim.post("/chat/send", json=body).status_code == 422
    assert sim.post("/events/immediate", json={"modality": "chat", "data": body}).status_code == 400


def test_deleting_and_clearing(sim: Sim) -> None:
    for n in range(3):
        sim.do("/chat/send", role="user", content=str(n))
    sim.do("/chat/send", role="user", content="kept", conversation_id="other")
    middle = sim.state("chat")["messages"][1]["message_id"]
    sim.do("/chat/delete", message_id=middle)
    assert contents(sim) == ["0", "2", "kept"]
    assert sim.state("chat")["conversations"]["default"]["message_count"] == 2
    again = sim.ok("POST", "/chat/delete", {"message_id": middle})
    assert again["status"] == "failed"
    sim.do("/chat/clear")
    assert contents(sim) == ["kept"]
    assert list(sim.state("chat")["conversations"]) == ["other"]
    sim.ok("POST", "/simulation/undo", {"count": 2})
    assert contents(sim) == ["0", "1", "2", "kept"]


def test_the_oldest_messages_give_way(sim: Sim) -> None:
    state = {"max_history_size": 2, "last_updated": START}
    sim.ok("POST", "/scenario/import/environment", {"data": {"modality_states": {"chat": state}}})
    for n in range(4):
        sim.do("/chat/send", role="user", content=str(n))
    assert contents(sim) == ["2", "3"]
    assert sim.state("chat")["conversations"]["default"]["message_count"] == 2


def test_queries(sim: Sim) -> None:
    sim.do("/chat/send", role="user", content="Alpha")
    sim.advance(5)
    sim.do("/chat/send", role="assistant", content=[{"type": "text", "text": "Beta"}])
    sim.advance(5)
    sim.do("/chat/send", role="user", content="Gamma", conversation_id="other")

    def found(**body: Any) -> list[str]:
        times = {START: "alpha", at(5): "beta", at(10): "gamma"}
        return [times[message["timestamp"]] for message in sim.query("chat", **body)["messages"]]

    assert found() == ["alpha", "beta", "gamma"]
    assert found(sort_order="desc", limit=2) == ["gamma", "beta"]
    assert found(role="user") == ["alpha", "gamma"]
    assert found(conversation_id="other") == ["gamma"]
    assert found(search="BET") == ["beta"]
    assert found(since=at(5), until=at(6)) == ["beta"]
    assert found(sort_by="role", sort_order="asc") == ["beta", "alpha", "gamma"]
    assert found(offset=2) == ["gamma"]
    answer = sim.query("chat", role="user", limit=1)
    assert (answer["total_count"], answer["returned_count"], answer["query"]["role"]) == (2, 1, "user")
    assert sim.post("/chat/query", json={"sort_by": "content"}).status_code == 422


def test_a_message_without_a_conversation_goes_into_the_default_one(sim: Sim) -> None:
    state = {"default_conversation_id": "main", "last_updated": START}
    sim.ok("POST", "/scenario/import/environment", {"data": {"modality_states": {"chat": state}}})
    sim.do("/chat/send", role="user", content="a")
    sim.event("chat", {"role": "user", "content": "b"})
    sim.do("/chat/send", role="user", content="c", conversation_id="default")
    assert [message["conversation_id"] for message in sim.state("chat")["messages"]] == ["main", "main", "default"]
    sim.do("/chat/clear")
    assert contents(sim) == ["c"]
