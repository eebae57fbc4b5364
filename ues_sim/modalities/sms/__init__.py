"""SMS: the user's phone messages, one to one and in groups."""

from typing import Any

from ues_sim.modalities.sms import groups, models, operations, views
from ues_sim.modality import Action, Modality, State, operations_in, paged_query, read_by_id
from ues_sim.schema import JsonObject


def _in(part: str, **fixed: Any) -> Any:
    """How a request becomes the input: all its fields in that part, with what is fixed."""

    def build(request: Any, _state: State) -> JsonObject:
        return {part: {**request.model_dump(exclude_none=True), **fixed}}

    return build


MODALITY = Modality(
    name="sms",
    summary="The user's phone messages, one to one and in groups.",
    state=models.SMSState,
    input=models.SMSInput,
    discriminator="action",
    neighbours=("contacts",),
    operations=operations_in(models.SMSInput, "action", operations, groups),
    initial=lambda now: {"last_updated": now, "user_phone_number": "+15550000000"},
    state_response=(models.SMSStateResponse, models.SMSCompactStateResponse),
    show=views.show,
    news=views.news,
    digest=views.digest,
    describe=views.describe,
    check=views.check,
    complete=views.complete,
    query=paged_query("sms", models.SMSQueryRequest, views.query, "messages", models.SMSMessage),
    reads=(read_by_id("sms", "messages", "message", "message_id", models.SMSMessage, "SMSIdParams"),),
    actions=(
        Action(
            path="send",
            operation="send_message",
            request=models.SendSMSRequest,
            build=_in("message_data"),
            summary="Send a message as the user.",
            participant=True,
            refuse=operations.refuse_another_sender,
        ),
        Action(
            path="receive",
            operation="receive_message",
            request=models.ReceiveSMSRequest,
            build=_in("message_data"),
            summary="Let a message arrive on the user's phone.",
        ),
        Action(
            path="read",
            operation="update_delivery_status",
            request=models.SMSMarkRequest,
            build=_in("delivery_update_data", new_status="read"),
            summary="Mark messages as read.",
            participant=True,
        ),
        Action(
            path="unread",
            operation="update_delivery_status",
            request=models.SMSMarkRequest,
            build=_in("delivery_update_data", new_status="unread"),
            summary="Mark messages as unread.",
            participant=True,
        ),
        Action(
            path="delete",
            operation="delete_message",
            request=models.SMSDeleteRequest,
            build=_in("delete_data"),
            summary="Delete messages from the phone.",
            participant=True,
        ),
        Action(
            path="react",
            operation="add_reaction",
            request=models.SMSReactRequest,
            build=_in("reaction_data"),
            summary="React to a message with an emoji.",
            participant=True,
            refuse=operations.refuse_anothers_reaction,
        ),
        Action(
            path="conversation",
            operation="update_conversation",
            request=models.SMSConversationRequest,
            build=_in("conversation_update_data"),
            summary="Mute, pin, archive or rename a conversation.",
        ),
    ),
)
