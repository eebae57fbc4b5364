"""SMS: the user's phone messages, one to one and in groups."""

from collections.abc import Callable
from typing import Any

from proctor.ues.modalities.sms import groups, models, operations, views
from proctor.ues.modality import Action, Modality, State, operations_in, paged_query, read_by_id
from proctor.ues.schema import JsonObject, Request


def _action(
    path: str,
    operation: str,
    request: type[Request],
    summary: str,
    *,
    participant: bool = True,
    refuse: Callable[[Any, State], str | None] | None = None,
    **fixed: Any,
) -> Action:
    """An action whose request has the fields of the operation's own object, but for those that are ``fixed``."""

    def build(request: Any, _state: State) -> JsonObject:
        return {models.PARTS[operation][0]: {**request.model_dump(exclude_none=True), **fixed}}

    return Action(path, operation, request, summary, build=build, participant=participant, refuse=refuse)


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
        _action(
            "send",
            "send_message",
            models.SendSMSRequest,
            "Send a message as the user.",
            refuse=operations.refuse_another_sender,
        ),
        _action(
            "receive",
            "receive_message",
            models.ReceiveSMSRequest,
            "Let a message arrive on the user's phone.",
            participant=False,
        ),
        _action("read", "update_delivery_status", models.SMSMarkRequest, "Mark messages as read.", new_status="read"),
        _action(
            "unread", "update_delivery_status", models.SMSMarkRequest, "Mark messages as unread.", new_status="unread"
        ),
        _action("delete", "delete_message", models.SMSDeleteRequest, "Delete messages from the phone."),
        _action(
            "react",
            "add_reaction",
            models.SMSReactRequest,
            "React to a message with an emoji.",
            refuse=operations.refuse_anothers_reaction,
        ),
        _action(
            "conversation",
            "update_conversation",
            models.SMSConversationRequest,
            "Mute, pin, archive or rename a conversation.",
            participant=False,
        ),
    ),
)
