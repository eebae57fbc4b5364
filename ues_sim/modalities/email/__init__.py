"""Email: the user's mailbox with folders, labels, threads and drafts."""

from ues_sim.modalities.email import models, operations, views
from ues_sim.modality import Action, Modality, Query


def _mark(path: str, operation: str, summary: str) -> Action:
    return Action(path=path, operation=operation, request=models.EmailMarkRequest, summary=summary, participant=True)


MODALITY = Modality(
    name="email",
    summary="The user's mailbox: messages, threads, folders, labels and drafts.",
    state=models.EmailState,
    input=models.EmailInput,
    neighbours=("contacts",),
    operations={
        "receive": operations.receive,
        "send": operations.send,
        "reply": operations.reply,
        "reply_all": operations.reply_all,
        "forward": operations.forward,
        "save_draft": operations.save_draft,
        "send_draft": operations.send_draft,
        "mark_read": operations.mark_read,
        "mark_unread": operations.mark_unread,
        "star": operations.star,
        "unstar": operations.unstar,
        "move": operations.move,
        "delete": operations.delete,
        "archive": operations.archive,
        "add_label": operations.add_label,
        "remove_label": operations.remove_label,
        "mark_spam": operations.mark_spam,
        "mark_not_spam": operations.mark_not_spam,
    },
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
    complete=operations.complete,
    query=Query(request=models.EmailQueryRequest, response=models.EmailQueryResponse, run=views.query),
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
        _mark("read", "mark_read", "Mark emails as read."),
        _mark("unread", "mark_unread", "Mark emails as unread."),
        _mark("star", "star", "Star emails."),
        _mark("unstar", "unstar", "Take the star off emails."),
        _mark("archive", "archive", "Move emails to the archive."),
        _mark("delete", "delete", "Move emails to the trash; those in it are deleted for good."),
        Action(
            path="label",
            operation="add_label",
            request=models.EmailLabelRequest,
            summary="Put labels on emails.",
            participant=True,
        ),
        Action(
            path="unlabel",
            operation="remove_label",
            request=models.EmailLabelRequest,
            summary="Take labels off emails.",
            participant=True,
        ),
        Action(
            path="move",
            operation="move",
            request=models.EmailMoveRequest,
            summary="Move emails to a folder, which is made when it is new.",
            participant=True,
        ),
    ),
)
