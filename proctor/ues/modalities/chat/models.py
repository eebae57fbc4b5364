"""Chat's shapes: state, input, requests and answers."""

from typing import Any, Literal

from pydantic import Field, model_validator

from proctor.ues.schema import (
    InputModel,
    Int,
    JsonObject,
    QueryRequest,
    Record,
    Request,
    Response,
    StateModel,
    nullable,
)
from proctor.ues.times import Instant

Role = Literal["user", "assistant"]
Content = str | list[dict[str, Any]]
"""Text, or a list of content parts, each a JSON object."""


class ChatMessage(Record):
    """One message."""

    message_id: str
    conversation_id: str
    role: str
    content: Content
    timestamp: Instant
    metadata: JsonObject = Field(default_factory=dict)


class ConversationMetadata(Record):
    """What is known about a conversation besides its messages."""

    conversation_id: str
    created_at: Instant
    last_message_at: Instant
    message_count: Int = 0
    participant_roles: list[str] = Field(default_factory=list)


class ChatState(StateModel):
    """Chat under ``modality_states``."""

    modality_type: str = "chat"
    messages: list[ChatMessage] = Field(default_factory=list)
    conversations: dict[str, ConversationMetadata] = Field(default_factory=dict)
    max_history_size: Int = 1000
    default_conversation_id: str = "default"


class ChatInput(InputModel):
    """An event's ``data`` for chat."""

    modality_type: str = "chat"
    operation: Literal["send_message", "delete_message", "clear_conversation"] = "send_message"
    role: Role | None = None
    content: Content | None = None
    message_id: str | None = None
    conversation_id: str = "default"
    metadata: JsonObject = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fields_of_the_operation(self) -> "ChatInput":
        if self.operation == "send_message" and (self.role is None or self.content is None):
            raise ValueError("send_message needs role and content")
        if self.operation == "delete_message" and self.message_id is None:
            raise ValueError("delete_message needs message_id")
        return self


class SendChatMessageRequest(Request):
    """What ``POST /chat/send`` takes."""

    role: Role = Field(description="Who speaks. A participant is the assistant; user is refused.")
    content: Content = Field(description="Text, or a list of content parts.")
    conversation_id: str = Field(
        default="default", description="Conversation to write to; default is the one with the user."
    )
    metadata: JsonObject = Field(default_factory=dict, description="Any further data to keep with the message.")


class DeleteChatMessageRequest(Request):
    """What ``POST /chat/delete`` takes."""

    message_id: str


class ClearChatRequest(Request):
    """What ``POST /chat/clear`` takes."""

    conversation_id: str = "default"


class ChatQueryRequest(QueryRequest):
    """What ``POST /chat/query`` takes."""

    conversation_id: str | None = nullable("Only this conversation.")
    role: Role | None = nullable("Only messages of the user or of the assistant.")
    since: Instant | None = nullable("Sent at or after this instant (ISO 8601 with offset).")
    until: Instant | None = nullable("Sent at or before this instant (ISO 8601 with offset).")
    search: str | None = nullable("Text to look for in the content, in any case.")
    sort_by: Literal["timestamp", "role", "conversation_id"] | None = Field(
        default="timestamp", description="timestamp, role or conversation_id."
    )
    sort_order: Literal["asc", "desc"] | None = Field(default="asc", description="asc (oldest first) or desc.")


class ChatStateResponse(Response):
    """What ``GET /chat/state`` answers. Compact, the messages carry no metadata, and only
    the last 20 are shown that fit into some 20 kB, long ones cut.
    """

    modality_type: str = "chat"
    current_time: Instant
    conversations: dict[str, ConversationMetadata]
    messages: list[ChatMessage]
    total_message_count: int
    conversation_count: int
    max_history_size: int
