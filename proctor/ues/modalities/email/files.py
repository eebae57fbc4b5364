"""Read files that are attached to emails. Each file is stored once, by the SHA-256 of its bytes.

Files come with a scenario and never change. An attachment names its file by ``sha256``. If this is missing or unknown,
only the file's name, type and size are known.
"""

from base64 import b64decode

from proctor.ues.modalities.email.models import AttachmentParams
from proctor.ues.modality import View, find_by_id
from proctor.ues.problems import NotFound
from proctor.ues.schema import JsonObject

AS_TEXT = ("text/", "application/json")
"""The prefixes of media types whose bytes are text."""


def read_attachment(view: View, params: AttachmentParams) -> JsonObject:
    state = view.state
    email = find_by_id({**state["drafts"], **state["emails"]}, params.message_id, "email")
    attached = {str(attachment["attachment_id"]): attachment for attachment in map(dict, email["attachments"])}
    found = find_by_id(attached, params.attachment_id, "attachment")
    file = state.get("files", {}).get(found.get("sha256"))
    if file is None:
        name = str(found["filename"])[:80]
        raise NotFound(f"The content of {name!r} is not there: only its name, type and size are known.")
    return {
        "message_id": params.message_id,
        **{name: found.get(name) for name in ("attachment_id", "filename", "mime_type", "sha256")},
        "size": len(b64decode(file["content"])),
        "text": file.get("text") or decode_text(file["content"], str(found["mime_type"])),
        "content": file["content"],
    }


def decode_text(content: str, mime_type: str) -> str | None:
    """Return the text of a file in Base64; None unless its type is text."""
    return b64decode(content).decode(errors="replace") if mime_type.startswith(AS_TEXT) else None
