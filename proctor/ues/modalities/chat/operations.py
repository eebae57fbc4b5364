"""The operations of events on the chat."""

from proctor.ues.modalities.chat.models import ChatInput, ClearChatRequest, ConversationMetadata, SendChatMessageRequest
from proctor.ues.modality import Change, State
from proctor.ues.schema import JsonObject


def _place(state: State, message_id: str) -> int | None:
    return next((n for n, message in enumerate(state["messages"]) if message["message_id"] == message_id), None)


def _conversation_id(state: State, payload: ChatInput) -> str:
    """The conversation that is named, else the state's default one."""
    named = "conversation_id" in payload.model_fields_set
    return payload.conversation_id if named else str(state["default_conversation_id"])


def make_input(request: SendChatMessageRequest | ClearChatRequest, state: State) -> JsonObject:
    """Return the input of a request that may omit the conversation."""
    fields = request.model_dump()
    if "conversation_id" not in request.model_fields_set:
        fields["conversation_id"] = state["default_conversation_id"]
    return fields


def refuse_another_role(request: SendChatMessageRequest, _state: State) -> str | None:
    """Return the reason why a participant may not send this message; None if it is sent as the assistant."""
    if request.role == "assistant":
        return None
    return f"You are the assistant: role {request.role!r} is not yours to speak in; send it with role 'assistant'."


def send_message(change: Change, payload: ChatInput) -> None:
    """Add a message, and its conversation if missing. Drops the oldest messages beyond ``max_history_size``."""
    message_id = payload.message_id or change.draw_id()
    conversation_id = _conversation_id(change.state, payload)
    if payload.message_id is not None and _place(change.state, message_id) is not None:
        raise change.fail(f"message_id {message_id!r} is taken")
    change.append(
        ("messages",),
        {
            "message_id": message_id,
            "conversation_id": conversation_id,
            "role": payload.role,
            "content": payload.content,
            "timestamp": payload.timestamp,
            "metadata": payload.metadata,
        },
    )
    known = change.state["conversations"].get(conversation_id) or _new_conversation(conversation_id, payload.timestamp)
    roles = known["participant_roles"]
    change.put(
        ("conversations", conversation_id),
        {
            **known,
            "last_message_at": max(known["last_message_at"], payload.timestamp),
            "message_count": known["message_count"] + 1,
            "participant_roles": roles if payload.role in roles else [*roles, payload.role],
        },
    )
    while len(change.state["messages"]) > max(1, change.state["max_history_size"]):
        _remove(change, 0)


def _new_conversation(conversation_id: str, at: str) -> JsonObject:
    return ConversationMetadata(conversation_id=conversation_id, created_at=at, last_message_at=at).model_dump()


def delete_message(change: Change, payload: ChatInput) -> None:
    place = _place(change.state, payload.message_id or "")
    if place is None:
        raise change.fail(f"there is no chat message {payload.message_id!r}")
    _remove(change, place)


def clear_conversation(change: Change, payload: ChatInput) -> None:
    """Remove a conversation with its messages; without effect if it doesn't exist."""
    messages, conversation_id = change.state["messages"], _conversation_id(change.state, payload)
    for place in reversed(range(len(messages))):
        if messages[place]["conversation_id"] == conversation_id:
            change.remove(("messages", place))
    if conversation_id in change.state["conversations"]:
        change.remove(("conversations", conversation_id))


def _remove(change: Change, place: int) -> None:
    conversation_id = change.state["messages"][place]["conversation_id"]
    change.remove(("messages", place))
    conversation = change.state["conversations"].get(conversation_id)
    if conversation is not None:
        change.put(("conversations", conversation_id, "message_count"), max(0, conversation["message_count"] - 1))


def complete(state: State) -> None:
    """Derive conversations that a scenario file omits, and count the messages of all conversations."""
    conversations = state["conversations"]
    for conversation in conversations.values():
        conversation["message_count"] = 0
    for message in state["messages"]:
        name = message["conversation_id"]
        conversation = conversations.setdefault(name, _new_conversation(name, message["timestamp"]))
        conversation["message_count"] += 1
        conversation["last_message_at"] = max(conversation["last_message_at"], message["timestamp"])
        if message["role"] not in conversation["participant_roles"]:
            conversation["participant_roles"].append(message["role"])
