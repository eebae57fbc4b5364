"""The user answers the participant, where the scenario says so: in the chat, and by what else it names."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.language_models.chat_models import BaseChatModel
from pydantic import ValidationError

from proctor.activities.characters.addressing import answerable, characters_addressed
from proctor.activities.characters.generator import reply_event, respond
from proctor.activities.characters.messages import OutgoingMessage, ThreadEntry
from proctor.activities.characters.outgoing import outgoing_messages
from proctor.protocol.scenario import ScenarioConfig
from tests.activities.scenario_code import scenario_data
from tests.openai_endpoint import OpenAIEndpoint
from tests.sentences import says

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
REPLIES = [
    {"all": ["room", r"\?"], "before": NOON.isoformat(), "reply": "The hall.", "again": "The hall, as I said!"},
    {"all": ["room", r"\?"], "reply": "Now I want the library."},
]


def _scenario(*channels: str) -> ScenarioConfig:
    data = scenario_data(user_talks=channels)
    data["characters"]["ana"] |= {"scripted_replies": REPLIES, "special_instructions": "You want the hall."}
    return ScenarioConfig.model_validate(data)


TALKING = _scenario("chat")


def _chat(body: str = "Which room?", **changes: Any) -> OutgoingMessage:
    fields = {"modality": "chat", "message_id": "c2", "thread_id": "default", "sender": "assistant"}
    at = NOON - timedelta(hours=1)
    return OutgoingMessage.model_validate(fields | {"body": body, "sent_at": at} | changes)


def _said(sender: str, text: str) -> ThreadEntry:
    return ThreadEntry(sender=sender, at=NOON - timedelta(hours=2), text=text)


async def _answer(message: OutgoingMessage) -> str | None:
    reply = await respond(message, "ana", TALKING, None, 1, 1)
    return reply.text if reply else None


def _mail(**changes: Any) -> OutgoingMessage:
    fields = {"modality": "email", "message_id": "m", "sender": "ana@home.example", "to": ["ana@home.example"]}
    return OutgoingMessage.model_validate(fields | {"subject": "Room?", "sent_at": NOON} | changes)


def test_the_user_is_reached_by_the_channels_that_the_scenario_names() -> None:
    silent, by_mail = _scenario(), _scenario("email")
    assert characters_addressed(_chat(), TALKING) == ["ana"]
    assert characters_addressed(_mail(), by_mail) == ["ana"]
    assert characters_addressed(_mail(to=["ben@work.example", "ANA@home.example"]), by_mail) == ["ben", "ana"]
    for message, scenario in ((_chat(), silent), (_chat(), by_mail), (_mail(), silent), (_mail(), TALKING)):
        assert characters_addressed(message, scenario) == []
    assert answerable([_chat()], silent) == []


def test_a_channel_needs_an_address() -> None:
    data = scenario_data(user_talks=["sms"])
    del data["characters"]["ana"]["phone"]
    with pytest.raises(ValidationError, check=says("user_talks", "sms")):
        ScenarioConfig.model_validate(data)


async def test_the_user_answers_is_impatient_and_changes_their_mind_at_a_moment() -> None:
    asked = _said("assistant", "Which room do you want?")
    assert await _answer(_chat()) == "The hall."
    assert await _answer(_chat(thread=[asked, _said("user", "The hall.")])) == "The hall, as I said!"
    assert await _answer(_chat(thread=[_said("user", "Is there a room?"), _said("assistant", "Yes.")])) == "The hall."
    assert await _answer(_chat(sent_at=NOON)) == "Now I want the library."
    assert await _answer(_chat("I booked the room.")) is None


def test_what_the_assistant_says_in_the_chat_is_read_off_the_simulation() -> None:
    def message(name: str, role: str, content: Any, minutes: int = 0, conversation: str = "default") -> dict[str, Any]:
        at = (NOON + timedelta(minutes=minutes)).isoformat()
        fields = {"message_id": name, "role": role, "content": content, "timestamp": at}
        return {**fields, "conversation_id": conversation}

    def event(content: Any, role: str = "assistant", **changes: Any) -> dict[str, Any]:
        data = {"role": role, "content": content}
        fields = {"event_id": "e", "modality": "chat", "status": "executed", "scheduled_time": NOON.isoformat()}
        return {**fields, "data": data, **changes}

    parts = [{"type": "text", "text": "Hello?"}]
    messages = [
        message("brief", "user", "Find a room.", -60),
        message("other", "user", "Not here.", -60, "second"),
        message("c1", "assistant", "Which room?"),
        message("c2", "assistant", "Which room?"),
        message("c3", "assistant", parts),
        message("late", "user", "The hall.", 20),
    ]
    done = [event("Which room?"), event("Which room?"), event(parts), event("no", status="failed"), event("x", "user")]
    sent = outgoing_messages({"chat": {"messages": messages}}, done)
    assert [chat_message.message_id for chat_message in sent] == ["c1", "c2", "c3"]
    assert [entry.text for entry in sent[1].thread] == ["Find a room.", "Which room?"]
    assert (sent[2].body, sent[0].sender, sent[0].thread_id) == ("Hello?", "assistant", "default")


async def test_the_answer_goes_into_the_same_conversation() -> None:
    message = _chat(thread_id="second")
    reply = await respond(message, "ana", TALKING, None, 1, 1)
    assert reply is not None
    assert reply_event(reply, message, TALKING) == (
        "chat",
        {"operation": "send_message", "role": "user", "content": "The hall.", "conversation_id": "second"},
    )


async def test_a_model_plays_the_user_by_brief_and_instructions(endpoint: OpenAIEndpoint, llm: BaseChatModel) -> None:
    endpoint.answer("you decided", {"text": "The hall, please."})
    endpoint.answer("would you answer", {"should_respond": True, "reason": "asked"})
    reply = await respond(_chat(), "ana", TALKING, llm, 1, 1)
    assert reply is not None
    assert (reply.text, reply.modality) == ("The hall, please.", "chat")
    for words in (TALKING.user_prompt, "You want the hall.", "a chat message from your assistant", "Which room?"):
        assert words in endpoint.prompts[0]
