"""SMS's models: state, input, requests and answers."""

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, ValidationError, model_validator

from proctor.ues.schema import InputModel, Int, QueryRequest, Record, Request, Response, StateModel, nullable
from proctor.ues.times import Instant

MessageType = Literal["sms", "rcs"]
DeliveryStatus = Literal["sending", "sent", "delivered", "failed", "read"]
MessageIds = Annotated[list[str], Field(min_length=1, description="message_id of each message, at least one.")]
Numbers = Annotated[list[str], Field(min_length=1)]


class GroupParticipant(Record):
    """A member of a conversation; ``left_at`` is the time at which they left."""

    phone_number: str
    is_admin: bool = False
    joined_at: Instant
    left_at: Instant | None = None


class MessageAttachment(Record):
    """A picture, a voice note or a file, without its bytes. ``size`` is in bytes, ``duration`` in seconds."""

    filename: str
    size: Int
    mime_type: str
    attachment_id: str | None = None
    thumbnail_url: str | None = None
    duration: Int | None = None


class MessageReaction(Record):
    """A person's emoji on a message."""

    reaction_id: str | None = None
    message_id: str
    phone_number: str
    emoji: str
    timestamp: Instant


class SMSMessage(Record):
    """One message."""

    message_id: str = ""
    thread_id: str
    from_number: str
    to_numbers: list[str]
    body: str
    attachments: list[MessageAttachment] = Field(default_factory=list)
    reactions: list[MessageReaction] = Field(default_factory=list)
    message_type: str = "sms"
    direction: str
    sent_at: Instant
    delivered_at: Instant | None = None
    read_at: Instant | None = None
    is_read: bool = False
    delivery_status: str = "sent"
    edited_at: Instant | None = None
    is_deleted: bool = False
    replied_to_message_id: str | None = None
    is_spam: bool = False


class SMSConversation(Record):
    """The messages between the same people. ``conversation_type`` is ``one_on_one`` or ``group``."""

    thread_id: str = ""
    conversation_type: str
    participants: list[GroupParticipant]
    group_name: str | None = None
    group_photo_url: str | None = None
    created_at: Instant
    created_by: str | None = None
    last_message_at: Instant
    message_count: Int = 0
    unread_count: Int = 0
    is_pinned: bool = False
    is_muted: bool = False
    is_archived: bool = False
    draft_message: str | None = None


class SMSState(StateModel):
    """SMS under ``modality_states``."""

    modality_type: str = "sms"
    messages: dict[str, SMSMessage] = Field(default_factory=dict)
    conversations: dict[str, SMSConversation] = Field(default_factory=dict)
    max_messages_per_conversation: Int = 10000
    user_phone_number: str


class MessageData(Record):
    """``message_data``: a message to send or receive."""

    message_id: str | None = None
    thread_id: str | None = None
    from_number: str | None = None
    to_numbers: list[str] = Field(default_factory=list)
    body: str = ""
    message_type: str = "sms"
    attachments: list[MessageAttachment] = Field(default_factory=list)
    replied_to_message_id: str | None = None
    sent_at: Instant | None = None


class DeliveryUpdateData(Record):
    """``delivery_update_data``: the delivery status of messages; ``read`` and ``unread`` also set the read mark."""

    message_id: str | None = None
    message_ids: list[str] = Field(default_factory=list)
    new_status: Literal["sending", "sent", "delivered", "failed", "read", "unread"] = Field(
        validation_alias=AliasChoices("new_status", "delivery_status")
    )


class ReactionData(Record):
    """``reaction_data``: an emoji and its author; for a removal, ``reaction_id`` alone is enough."""

    message_id: str | None = None
    reaction_id: str | None = None
    phone_number: str | None = None
    emoji: str | None = None


class EditData(Record):
    """``edit_data``: a message's new text."""

    message_id: str
    new_body: str | None = None
    body: str | None = None


class DeleteData(Record):
    """``delete_data``: messages to delete."""

    message_id: str | None = None
    message_ids: list[str] = Field(default_factory=list)


class Invited(Record):
    """A future member of a group."""

    phone_number: str
    is_admin: bool = False


class GroupData(Record):
    """``group_data``: a group to make, change or leave. Its members are numbers, or entries as in a state."""

    thread_id: str | None = None
    group_name: str | None = None
    group_photo_url: str | None = None
    creator_number: str | None = Field(default=None, validation_alias=AliasChoices("creator_number", "created_by"))
    phone_number: str | None = None
    participant_numbers: list[str] = Field(default_factory=list)
    participants: list[str | Invited] = Field(default_factory=list)

    @property
    def people(self) -> list[Invited]:
        named = [*self.participant_numbers, *self.participants]
        return [Invited(phone_number=one) if isinstance(one, str) else one for one in named]


class ParticipantData(Record):
    """``participant_data``: a person who joins or leaves a group."""

    thread_id: str
    phone_number: str
    is_admin: bool = False


class ConversationUpdateData(Record):
    """``conversation_update_data``: the user's settings of a conversation; a field that is None doesn't change."""

    thread_id: str
    is_pinned: bool | None = None
    is_muted: bool | None = None
    is_archived: bool | None = None
    group_name: str | None = None
    draft_message: str | None = None
    mark_all_read: bool = False


PARTS: dict[str, tuple[str, type[Record]]] = {
    "send_message": ("message_data", MessageData),
    "receive_message": ("message_data", MessageData),
    "update_delivery_status": ("delivery_update_data", DeliveryUpdateData),
    "add_reaction": ("reaction_data", ReactionData),
    "remove_reaction": ("reaction_data", ReactionData),
    "edit_message": ("edit_data", EditData),
    "delete_message": ("delete_data", DeleteData),
    "create_group": ("group_data", GroupData),
    "update_group": ("group_data", GroupData),
    "leave_group": ("group_data", GroupData),
    "add_participant": ("participant_data", ParticipantData),
    "remove_participant": ("participant_data", ParticipantData),
    "update_conversation": ("conversation_update_data", ConversationUpdateData),
}
"""The input's object that each action reads, and the object's model. The contract names only the objects. A field that
a state has, too, has the same name in both (``delivery_status``, ``created_by``, ``participants``); some have a second
name. The person who leaves a group may also be in ``participant_data``."""


class SMSInput(InputModel):
    """An event's ``data`` for SMS: the action and its object."""

    modality_type: str = "sms"
    action: Literal[
        "send_message",
        "receive_message",
        "update_delivery_status",
        "add_reaction",
        "remove_reaction",
        "edit_message",
        "delete_message",
        "create_group",
        "update_group",
        "add_participant",
        "remove_participant",
        "leave_group",
        "update_conversation",
    ]
    message_data: dict[str, Any] | None = None
    delivery_update_data: dict[str, Any] | None = None
    reaction_data: dict[str, Any] | None = None
    edit_data: dict[str, Any] | None = None
    delete_data: dict[str, Any] | None = None
    group_data: dict[str, Any] | None = None
    participant_data: dict[str, Any] | None = None
    conversation_update_data: dict[str, Any] | None = None

    @property
    def part(self) -> tuple[str, type[Record]]:
        """The name of the object that the action reads, and its model."""
        if self.action == "leave_group" and self.group_data is None and self.participant_data is not None:
            return "participant_data", GroupData
        return PARTS[self.action]

    @model_validator(mode="after")
    def _has_its_action_s_object(self) -> "SMSInput":
        name, kind = self.part
        value = getattr(self, name)
        if value is None:
            raise ValueError(f"{self.action} needs {name}")
        try:
            kind.model_validate(value)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise ValueError(f"{name}.{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        if self.action == "receive_message" and not value.get("from_number"):
            raise ValueError("receive_message needs message_data.from_number")
        return self


class MessageAttachmentRequest(Request):
    """An attachment to send or receive. ``size`` is in bytes, ``duration`` in seconds."""

    filename: str = Field(description="File name with extension.")
    size: Annotated[Int, Field(gt=0)] = Field(description="Size in bytes, at least 1.")
    mime_type: str = Field(description="Media type, such as image/jpeg.")
    thumbnail_url: str | None = nullable("Address of a preview image.")
    duration: Annotated[Int, Field(ge=0)] | None = nullable("Length of audio or video in seconds.")


class SendSMSRequest(Request):
    """The body of ``POST /sms/send``."""

    from_number: str = Field(
        description="The user's own phone number; any other is refused. sms_state shows it as user_phone_number."
    )
    to_numbers: Numbers = Field(description="Phone numbers of the recipients, at least one; several make a group.")
    body: str = Field(description="Text of the message.")
    message_type: MessageType = Field(default="sms", description="sms or rcs.")
    attachments: list[MessageAttachmentRequest] = Field(
        default_factory=list, description="Files to attach: name, size and type, without their content."
    )
    replied_to_message_id: str | None = nullable("message_id of the message that this one answers.")


class ReceiveSMSRequest(SendSMSRequest):
    """The body of ``POST /sms/receive``."""

    sent_at: Instant | None = None


class SMSMarkRequest(Request):
    """The body of ``POST /sms/read`` and ``/sms/unread``."""

    message_ids: MessageIds


class SMSDeleteRequest(Request):
    """The body of ``POST /sms/delete``."""

    message_ids: MessageIds


class SMSReactRequest(Request):
    """The body of ``POST /sms/react``."""

    message_id: str = Field(description="Id of the message to react to.")
    phone_number: str = Field(description="The user's own phone number; any other is refused.")
    emoji: str = Field(description="One emoji. It replaces the user's earlier reaction.")


class SMSConversationRequest(Request):
    """The body of ``POST /sms/conversation``: mute, pin, archive, rename. An omitted field doesn't change."""

    thread_id: str
    is_pinned: bool | None = None
    is_muted: bool | None = None
    is_archived: bool | None = None
    group_name: str | None = None
    draft_message: str | None = None
    mark_all_read: bool = False


class SMSQueryRequest(QueryRequest):
    """The body of ``POST /sms/query``."""

    thread_id: str | None = nullable("Id of the conversation, from a message's thread_id.")
    from_number: str | None = nullable("Sender's phone number, in any spelling.")
    to_number: str | None = nullable("Phone number of one of the recipients, in any spelling.")
    body_contains: str | None = nullable("Text in the message, in any case.")
    search_text: str | None = nullable("Same as body_contains.")
    message_type: MessageType | None = nullable("sms or rcs.")
    direction: Literal["incoming", "outgoing"] | None = nullable("incoming (to the user) or outgoing (from the user).")
    is_read: bool | None = nullable("true for read messages only, false for unread only.")
    has_attachments: bool | None = nullable("true for messages with attachments only, false for the others.")
    delivery_status: DeliveryStatus | None = nullable("sending, sent, delivered, failed or read.")
    is_deleted: bool | None = nullable("true for deleted messages only, false for the others.")
    is_spam: bool | None = nullable("true for spam only, false for the others.")
    sent_after: Instant | None = nullable("Sent at or after this instant (ISO 8601 with offset).")
    sent_before: Instant | None = nullable("Sent at or before this instant (ISO 8601 with offset).")
    sort_by: str | None = nullable("sent_at (the default), from_number, direction or another field of a message.")


class SMSStateResponse(Response):
    """The answer of ``GET /sms/state``."""

    modality_type: str = "sms"
    current_time: Instant
    user_phone_number: str
    messages: dict[str, SMSMessage]
    conversations: dict[str, SMSConversation]
    total_message_count: int
    unread_count: int
    total_conversation_count: int


class CompactSMSMessage(Response):
    """One message in short."""

    message_id: str
    thread_id: str
    from_number: str
    to_numbers: list[str]
    message_type: str
    direction: str
    sent_at: Instant
    is_read: bool
    delivery_status: str
    is_deleted: bool
    replied_to_message_id: str | None = None
    is_spam: bool


class SMSCompactStateResponse(SMSStateResponse):
    """The answer of ``GET /sms/state?compact=true``: the newest messages and conversations that fit into some 20 kB,
    without bodies, attachments and reactions. The counts are those of all messages.
    """

    messages: dict[str, CompactSMSMessage]  # type: ignore[assignment]
