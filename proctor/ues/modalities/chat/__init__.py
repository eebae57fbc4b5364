"""Chat: what the user and the assistant say to each other in the simulator's own chat window."""

from proctor.ues.modalities.chat import models, operations, views
from proctor.ues.modality import Action, Modality, operations_in, paged_query

MODALITY = Modality(
    name="chat",
    summary="Conversations between the user and the assistant.",
    state=models.ChatState,
    input=models.ChatInput,
    operations=operations_in(models.ChatInput, "operation", operations),
    state_response=(models.ChatStateResponse,),
    show=views.show,
    digest=views.digest,
    describe=views.describe,
    check=views.check,
    complete=operations.complete,
    query=paged_query("chat", models.ChatQueryRequest, views.query, "messages", models.ChatMessage),
    actions=(
        Action(
            path="send",
            operation="send_message",
            request=models.SendChatMessageRequest,
            build=operations.input_of,
            summary="Say something, as the user or as the assistant; a participant is the assistant.",
            participant=True,
            refuse=operations.refuse_another_role,
        ),
        Action("delete", "delete_message", models.DeleteChatMessageRequest, "Delete one message."),
        Action(
            path="clear",
            operation="clear_conversation",
            request=models.ClearChatRequest,
            build=operations.input_of,
            summary="Delete every message of a conversation.",
        ),
    ),
)
