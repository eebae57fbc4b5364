"""Email: the user's mailbox with folders, labels, threads and drafts."""

from proctor.ues.modalities.email import files, models, operations, views
from proctor.ues.modality import Action, Modality, Read, operations_in, paged_query, read_by_id


def _mark(path: str, operation: str, summary: str) -> Action:
    return Action(path, operation, models.EmailMarkRequest, summary, participant=True)


MODALITY = Modality(
    name="email",
    summary="The user's mailbox: messages, threads, folders, labels and drafts.",
    state=models.EmailState,
    input=models.EmailInput,
    event_fields={"receive": ("from_address", "subject", "body_text")},
    neighbours=("contacts",),
    operations=operations_in(models.EmailInput, "operation", operations),
    state_response=(
        models.EmailStateResponse,
        models.EmailSummaryStateResponse,
        models.EmailCompactStateResponse,
    ),
    state_params=models.EmailStateParams,
    show=views.show,
    news=views.news,
    digest=views.digest,
    describe=views.describe,
    check=views.check,
    hidden=frozenset({"files"}),
    complete=operations.complete,
    query=paged_query("email", models.EmailQueryRequest, views.query, "emails", models.Email),
    reads=(
        read_by_id(
            "email", "emails", "email", "message_id", models.Email, "EmailIdParams", also=", with its whole body"
        ),
        Read(
            path="attachment",
            response=models.AttachmentResponse,
            run=files.read_attachment,
            summary="Read the content of a file that is attached to an email.",
            params=models.AttachmentParams,
            permission="email:query",
        ),
    ),
    actions=(
        Action(
            path="send",
            operation="send",
            request=models.SendEmailRequest,
            summary="Send an email as the user.",
            participant=True,
            refuse=operations.refuse_another_sender,
        ),
        Action(
            path="receive",
            operation="receive",
            request=models.ReceiveEmailRequest,
            build=operations.input_of_receive,
            summary="Let an email arrive in the user's inbox.",
        ),
        Action(
            path="reply",
            operation="send",
            request=models.ReplyEmailRequest,
            build=operations.input_of_reply,
            summary="Answer an email as the user, in its thread: its sender, or everybody with to_all.",
            permission="email:send",
            participant=True,
        ),
        Action(
            path="forward",
            operation="send",
            request=models.ForwardEmailRequest,
            build=operations.input_of_forward,
            summary="Pass an email on as the user, with its text and files.",
            permission="email:send",
            participant=True,
        ),
        _mark("read", "mark_read", "Mark emails as read."),
        _mark("unread", "mark_unread", "Mark emails as unread."),
        _mark("star", "star", "Star emails of the user."),
        _mark("unstar", "unstar", "Remove the star from emails."),
        _mark("archive", "archive", "Move emails to the archive."),
        _mark("delete", "delete", "Move emails to the trash; those in it are deleted for good."),
        Action("label", "add_label", models.EmailLabelRequest, "Put labels on emails.", participant=True),
        Action("unlabel", "remove_label", models.EmailLabelRequest, "Take labels off emails.", participant=True),
        Action(
            path="move",
            operation="move",
            request=models.EmailMoveRequest,
            summary="Move emails to a folder, which is made when it is new.",
            participant=True,
        ),
    ),
)
