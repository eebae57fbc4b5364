"""Reads the scenario's mail from ``mail/*.txt``, where it is kept in a form that people can read and edit.

A file holds mails parted by lines of ``=====``; a mail is header lines, an empty line and the body. Headers: ``Name``
(our own name for it), ``Date`` (London time, which is UTC in March), ``From``, ``To`` and ``Cc`` (comma-separated; to
the user where ``To`` is missing), ``Subject``, ``Thread`` (its own where missing), ``In-Reply-To`` (another mail's
name), ``Priority``, ``Folder`` and ``Attachments`` (file name, bytes and type).
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ground_truth import USER, message_id

_PARTING = "\n=====\n"


@dataclass(frozen=True)
class Mail:
    """One mail as it is written down; ``before`` names the mail that it answers."""

    name: str
    at: datetime
    sender: str
    to: list[str]
    cc: list[str]
    subject: str
    body: str
    thread: str
    before: str | None
    priority: str
    folder: str
    attachments: list[dict[str, str | int]]

    @property
    def id(self) -> str:
        """The id that it has in the mailbox, which tells a participant nothing."""
        return message_id(self.name)


def read_mails(folder: Path) -> list[Mail]:
    """All mails of a folder in order of time.

    Raises:
        ValueError: a mail without a header that it needs; the message names the mail.
    """
    mails = [
        _mail(text, path.name)
        for path in sorted(folder.glob("*.txt"))
        for text in path.read_text(encoding="utf-8").split(_PARTING)
    ]
    return sorted(mails, key=lambda mail: mail.at)


def _mail(text: str, file: str) -> Mail:
    head, _, body = text.partition("\n\n")
    fields = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in head.splitlines())}
    if missing := {"Name", "Date", "From", "Subject"} - set(fields):
        raise ValueError(f"{file}: a mail lacks {', '.join(sorted(missing))}: {head[:80]!r}")
    return Mail(
        name=fields["Name"],
        at=datetime.strptime(fields["Date"], "%Y-%m-%d %H:%M").replace(tzinfo=UTC),
        sender=fields["From"],
        to=_addresses(fields.get("To", USER)),
        cc=_addresses(fields.get("Cc", "")),
        subject=fields["Subject"],
        body=body.strip() + "\n",
        thread=fields.get("Thread", fields["Name"]),
        before=fields.get("In-Reply-To"),
        priority=fields.get("Priority", "normal"),
        folder=fields.get("Folder", "inbox"),
        attachments=[_attachment(fields["Attachments"])] if "Attachments" in fields else [],
    )


def _addresses(text: str) -> list[str]:
    return [address.strip() for address in text.split(",") if address.strip()]


def _attachment(text: str) -> dict[str, str | int]:
    filename, size, mime_type = text.split()
    return {"filename": filename, "size": int(size), "mime_type": mime_type, "attachment_id": message_id(filename)}
