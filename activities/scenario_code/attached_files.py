"""Put the files that a scenario's emails attach into its initial state, each content once, by SHA-256.

In ``initial_state.json`` an attachment has ``"file": "receipt.pdf"``, a file in the scenario's folder. A file
``receipt.pdf.txt`` beside it has the same content as text, for participants that can't read PDF or images.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Any

from purple_sdk.protocol.problems import show_value

LARGEST, MOST_BYTES = 512 * 1024, 4 * 1024 * 1024
"""The most bytes of one attached file, and of all attached files of a scenario."""

_ALTERNATIVE = ".txt"

Read = Callable[[str], bytes | None]
"""Returns the bytes of a file of the folder by its name; None if it is missing."""


class AttachedFileError(ValueError):
    """An attachment whose file can't be used; the message names the file and the remedy."""


def insert_contents(initial_state: dict[str, Any], read: Read) -> None:
    """Put the contents of attached files into an initial state, in place. Raises ``AttachedFileError``."""
    attachments = (attachment for place in _places(initial_state) for attachment in place.get("attachments") or [])
    if not any(isinstance(attachment, dict) and "file" in attachment for attachment in attachments):
        return
    files: dict[str, dict[str, str | None]] = {}
    sizes: dict[str, int] = {}

    def resolved(attachment: Any) -> Any:
        if not isinstance(attachment, dict) or "file" not in attachment:
            return attachment
        name = attachment["file"]
        content = _content(name, read)
        digest = sha256(content).hexdigest()
        sizes[digest] = len(content)
        if sum(sizes.values()) > MOST_BYTES:
            raise AttachedFileError(
                f"the attached files have more than {MOST_BYTES:,} bytes together: attach fewer or smaller files"
            )
        text = read(f"{name}{_ALTERNATIVE}")
        files[digest] = {"content": b64encode(content).decode(), "text": None if text is None else text.decode()}
        about = {key: value for key, value in attachment.items() if key != "file"}
        return {"filename": name, **about, "size": len(content), "sha256": digest}

    for place in _places(initial_state):
        if place.get("attachments"):
            place["attachments"] = [resolved(attachment) for attachment in place["attachments"]]
    email = initial_state["environment"]["modality_states"].setdefault("email", {})
    email["files"] = {**email.get("files", {}), **files}


def share(initial_states: Iterable[dict[str, Any]]) -> None:
    """Give each role the files of all roles, so a participant can forward a mail to another. Participants can read only
    attachments of their own mails.
    """
    states = [state["environment"].get("modality_states") or {} for state in initial_states]
    mailboxes = [state["email"] for state in states if state.get("email")]
    files = {digest: file for mailbox in mailboxes for digest, file in (mailbox.get("files") or {}).items()}
    for mailbox in mailboxes if files else ():
        mailbox["files"] = files


def _content(name: Any, read: Read) -> bytes:
    content = read(name) if isinstance(name, str) else None
    if content is None:
        raise AttachedFileError(f"an attachment's file is {show_value(name)}: name a file in the scenario's folder")
    if not 0 < len(content) <= LARGEST:
        raise AttachedFileError(
            f"the attached file {show_value(name)} has {len(content):,} bytes: attach 1 to {LARGEST:,} bytes"
        )
    return content


def _places(initial_state: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield emails and drafts, including those that events bring."""
    email = initial_state["environment"].get("modality_states", {}).get("email") or {}
    for section in ("emails", "drafts"):
        yield from (email.get(section) or {}).values()
    events = initial_state.get("events") or {}
    yield from (event["data"] for event in events.get("events") or [] if event.get("modality") == "email")
