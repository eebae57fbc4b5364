"""Email's shapes: state, input, requests and answers."""

from base64 import b64decode
from binascii import Error
from hashlib import sha256
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from proctor.ues.modality import StateParams
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

Priority = Literal["high", "normal", "low"]
MessageIds = Annotated[list[str], Field(min_length=1, description="message_id of each message, at least one.")]


class Email(Record):
    """One message in the mailbox."""

    message_id: str
    thread_id: str
    from_address: str
    to_addresses: list[str]
    cc_addresses: list[str] = Field(default_factory=list)
    bcc_addresses: list[str] = Field(default_factory=list)
    reply_to_address: str | None = None
    subject: str
    body_text: str
    body_html: str | None = None
    attachments: list[Any] = Field(default_factory=list)
    in_reply_to: str | None = None
    references: list[str] = Field(default_factory=list)
    sent_at: Instant
    received_at: Instant
    is_read: bool = False
    is_starred: bool = False
    priority: str = "normal"
    folder: str = "inbox"
    labels: list[str] = Field(default_factory=list)


class EmailThread(Record):
    """The messages of one conversation."""

    thread_id: str
    subject: str
    participant_addresses: list[str] = Field(default_factory=list)
    message_ids: list[str] = Field(default_factory=list)
    created_at: Instant
    last_message_at: Instant
    message_count: Int = 0
    unread_count: Int = 0


class StoredFile(Record):
    """The content of an attached file, in Base64, and a text that says the same for other types than texts."""

    content: str
    text: str | None = None


def _check_names(files: dict[str, StoredFile]) -> dict[str, StoredFile]:
    """Refuse a file that is not what its name says."""
    for name, file in files.items():
        try:
            found = sha256(b64decode(file.content, validate=True)).hexdigest()
        except Error:
            raise ValueError(f"the content of the file {name[:80]} is not Base64") from None
        if found != name:
            raise ValueError(f"the file {name[:80]} has another SHA-256 than its name: {found}")
    return files


class EmailState(StateModel):
    """Email under ``modality_states``. ``files`` are the attached files by the SHA-256 of their bytes."""

    modality_type: str = "email"
    emails: dict[str, Email] = Field(default_factory=dict)
    threads: dict[str, EmailThread] = Field(default_factory=dict)
    folders: dict[str, list[str]] = Field(default_factory=dict)
    labels: dict[str, list[str]] = Field(default_factory=dict)
    drafts: dict[str, Email] = Field(default_factory=dict)
    files: Annotated[dict[str, StoredFile], AfterValidator(_check_names)] = Field(default_factory=dict)
    user_email_address: str = "user@example.com"


class EmailAttachment(Record):
    """An attachment of an input. Its id is made when none is given."""

    filename: str
    size: Int
    mime_type: str
    content_id: str | None = None
    attachment_id: str | None = None
    sha256: str | None = nullable("SHA-256 of the content, where that can be read.")


class EmailInput(InputModel):
    """An event's ``data`` for email."""

    modality_type: str = "email"
    operation: Literal[
        "receive",
        "send",
        "reply",
        "reply_all",
        "forward",
        "save_draft",
        "send_draft",
        "mark_read",
        "mark_unread",
        "star",
        "unstar",
        "move",
        "delete",
        "archive",
        "add_label",
        "remove_label",
        "mark_spam",
        "mark_not_spam",
    ]
    message_id: str | None = None
    message_ids: list[str] | None = None
    from_address: str | None = None
    to_addresses: list[str] | None = None
    cc_addresses: list[str] | None = None
    bcc_addresses: list[str] | None = None
    reply_to_address: str | None = None
    subject: str | None = None
    body_text: str | None = None
    body_html: str | None = None
    attachments: list[EmailAttachment] | None = None
    thread_id: str | None = None
    in_reply_to: str | None = None
    references: list[str] | None = None
    priority: str = "normal"
    folder: str | None = None
    labels: list[str] | None = None
    is_draft: bool = False


class EmailAttachmentRequest(Request):
    """An attachment to send or receive: what it is, not its bytes. ``size`` in bytes."""

    filename: str = Field(description="File name with extension.")
    size: Annotated[Int, Field(gt=0)] = Field(description="Size in bytes, at least 1.")
    mime_type: str = Field(description="Media type, such as application/pdf.")
    content_id: str | None = nullable("Id by which body_html refers to an inline image.")


class SendEmailRequest(Request):
    """What ``POST /email/send`` takes."""

    from_address: str = Field(
        description="The user's own email address; any other is refused. email_state shows it as user_email_address."
    )
    to_addresses: Annotated[list[str], Field(min_length=1)] = Field(
        description="Email addresses of the recipients, at least one."
    )
    cc_addresses: list[str] = Field(default_factory=list, description="Email addresses of visible copies.")
    bcc_addresses: list[str] = Field(default_factory=list, description="Email addresses of hidden copies.")
    reply_to_address: str | None = nullable("Email address that answers should go to, if not from_address.")
    subject: str = Field(description="Subject line.")
    body_text: str = Field(description="Body as plain text.")
    body_html: str | None = nullable("The same body as HTML. Optional.")
    attachments: list[EmailAttachmentRequest] = Field(
        default_factory=list, description="Files to attach: name, size and type, without their content."
    )
    priority: Priority = Field(default="normal", description="high, normal or low.")


class _FurtherEmailRequest(Request):
    """What an email has that refers to another one."""

    message_id: str = Field(description="message_id of the email to answer or to pass on.")
    cc_addresses: list[str] = Field(default_factory=list, description="Email addresses of further visible copies.")
    bcc_addresses: list[str] = Field(default_factory=list, description="Email addresses of hidden copies.")
    subject: str | None = nullable("Subject line; Re: or Fwd: and the old subject by default.")
    attachments: list[EmailAttachmentRequest] = Field(
        default_factory=list, description="Files to attach: name, size and type, without their content."
    )
    priority: Priority = Field(default="normal", description="high, normal or low.")


class ReplyEmailRequest(_FurtherEmailRequest):
    """What ``POST /email/reply`` takes."""

    body_text: str = Field(description="Your answer as plain text. The old text is not added.")
    body_html: str | None = nullable("The same answer as HTML. Optional.")
    to_all: bool = Field(default=False, description="Also answer all other recipients, as copies.")


class ForwardEmailRequest(_FurtherEmailRequest):
    """What ``POST /email/forward`` takes."""

    to_addresses: Annotated[list[str], Field(min_length=1)] = Field(
        description="Email addresses of the recipients, at least one."
    )
    body_text: str = Field(default="", description="Text above the forwarded email, which is added with its files.")


class ReceiveEmailRequest(SendEmailRequest):
    """What ``POST /email/receive`` takes."""

    thread_id: str | None = None
    in_reply_to: str | None = None
    references: list[str] = Field(default_factory=list)
    sent_at: Instant | None = None


class EmailMarkRequest(Request):
    """Which emails an action is about."""

    message_ids: MessageIds


class EmailLabelRequest(EmailMarkRequest):
    """Which labels to put on or take off which emails."""

    labels: Annotated[list[str], Field(min_length=1)] = Field(description="Label names, at least one.")


class EmailMoveRequest(EmailMarkRequest):
    """Which emails to move where."""

    folder: str = Field(description="Target folder: inbox, archive, trash, spam, sent, drafts or a new name.")


class EmailQueryRequest(QueryRequest):
    """What ``POST /email/query`` takes. Every filter given must match."""

    folder: str | None = nullable("Folder name: inbox, sent, drafts, archive, trash, spam or one of the user's own.")
    is_read: bool | None = nullable("true for read emails only, false for unread only.")
    is_starred: bool | None = nullable("true for starred emails only, false for the others.")
    from_address: str | None = nullable("Part of the sender's address, in any case.")
    to_address: str | None = nullable("Part of the address of one of the To recipients.")
    subject_contains: str | None = nullable("Text in the subject, in any case.")
    body_contains: str | None = nullable("Text in the plain-text body, in any case.")
    has_attachments: bool | None = nullable("true for emails with attachments only, false for the others.")
    labels: list[str] | None = nullable("Labels that the email must all carry.")
    thread_id: str | None = nullable("Id of the conversation, from an email's thread_id.")
    priority: Priority | None = nullable("high, normal or low.")
    sent_after: Instant | None = nullable("Sent at or after this instant (ISO 8601 with offset).")
    sent_before: Instant | None = nullable("Sent at or before this instant (ISO 8601 with offset).")
    received_after: Instant | None = nullable("Received at or after this instant (ISO 8601 with offset).")
    received_before: Instant | None = nullable("Received at or before this instant (ISO 8601 with offset).")
    sort_by: str | None = nullable("received_at (the default), sent_at, subject, from_address, priority or folder.")


class AttachmentParams(Request):
    """The query parameters of ``GET /email/attachment``."""

    message_id: str = Field(description="message_id of the email, as queries and the state show it.")
    attachment_id: str = Field(description="attachment_id of the attachment, as the email shows it.")


class AttachmentResponse(Response):
    """What ``GET /email/attachment`` answers: an attached file."""

    message_id: str
    attachment_id: str
    filename: str
    mime_type: str
    sha256: str
    size: int = Field(description="Size in bytes.")
    text: str | None = Field(description="The content as text, or a text that says the same; null without any.")
    content: str = Field(description="The bytes in Base64.")


class EmailStateParams(StateParams):
    """The query parameters of ``GET /email/state``."""

    summary: bool = Field(default=False, description="Return counts and the first 100 characters of each body.")


class EmailStateResponse(Response):
    """What ``GET /email/state`` answers."""

    modality_type: str = "email"
    current_time: Instant
    user_email_address: str
    emails: dict[str, Email]
    threads: dict[str, EmailThread]
    folders: dict[str, list[str]]
    labels: dict[str, list[str]]
    total_email_count: int
    unread_count: int
    starred_count: int


class CompactEmail(Response):
    """One message without its body and its references."""

    message_id: str
    thread_id: str
    from_address: str
    to_addresses: list[str]
    cc_addresses: list[str]
    bcc_addresses: list[str]
    reply_to_address: str | None = None
    subject: str
    attachments: list[Any]
    in_reply_to: str | None = None
    sent_at: Instant
    received_at: Instant
    is_read: bool
    is_starred: bool
    priority: str
    folder: str
    labels: list[str]


class EmailCompactStateResponse(Response):
    """What ``GET /email/state?compact=true`` answers: the newest messages that fit into some 20 kB, their threads, and
    which of them are where. The counts are those of all messages.
    """

    modality_type: str = "email"
    current_time: Instant
    user_email_address: str
    emails: dict[str, CompactEmail]
    threads: dict[str, EmailThread]
    folders: dict[str, list[str]]
    labels: dict[str, list[str]]
    folder_counts: dict[str, int]
    label_counts: dict[str, int]
    total_email_count: int
    unread_count: int
    starred_count: int


class EmailSummary(Response):
    """One message without its body. ``body_preview`` holds its first 100 characters."""

    message_id: str
    thread_id: str
    from_address: str
    to_addresses: list[str]
    subject: str
    sent_at: Instant
    received_at: Instant
    is_read: bool
    is_starred: bool
    folder: str
    has_attachments: bool
    attachment_count: int
    body_preview: str


class EmailSummaryStateResponse(Response):
    """What ``GET /email/state?summary=true`` answers."""

    modality_type: str = "email"
    current_time: Instant
    user_email_address: str
    statistics: JsonObject
    folders: dict[str, JsonObject]
    labels: dict[str, int]
    emails: dict[str, EmailSummary]
    threads: dict[str, EmailThread]
