"""The operations of events on the mailbox.

An email is in ``emails``, in the lists of its folder and labels, and in its thread. Drafts are in ``drafts`` and in the
folder ``drafts`` until they are sent; only then do they join a thread.
"""

from collections.abc import Iterable
from typing import Any

from proctor.ues.modalities.email.models import (
    EmailAttachment,
    EmailInput,
    ForwardEmailRequest,
    ReceiveEmailRequest,
    ReplyEmailRequest,
    SendEmailRequest,
)
from proctor.ues.modality import Change, Operation, State
from proctor.ues.people import is_blocked, same_address
from proctor.ues.schema import JsonObject

FOLDERS = ("inbox", "sent", "drafts", "archive", "trash", "spam")
"""The folders that every mailbox has."""

MOST_AT_ONCE, MOST_LABELLINGS = 1000, 10_000
"""The most messages of one event, and the most pairs of a message and a label. Each is searched in a list."""

DRAFTED = {
    "from_address",
    "to_addresses",
    "cc_addresses",
    "bcc_addresses",
    "reply_to_address",
    "subject",
    "body_text",
    "body_html",
}
"""The fields that the input for sending a draft may change, besides the attachments. The priority isn't among them: a
full input always has one, intended or not.
"""

Email = dict[str, Any]
"""An email in the state's shape."""


def input_of_receive(request: ReceiveEmailRequest, _state: State) -> JsonObject:
    """Return the input of ``POST /email/receive``. ``sent_at`` becomes the input's timestamp."""
    fields = request.model_dump(exclude_none=True)
    if "sent_at" in fields:
        fields["timestamp"] = fields.pop("sent_at")
    return fields


def input_of_reply(request: ReplyEmailRequest, state: State) -> JsonObject:
    """Return the input of ``POST /email/reply``: a ``send`` to the recipients of the answer."""
    original = state["emails"].get(request.message_id)
    if original is None:
        return {"operation": "reply", "message_id": request.message_id}
    to, cc = _recipients(original, state, [], request.cc_addresses, to_all=request.to_all)
    subject = request.subject or _prefixed("Re", original["subject"])
    return _further(request, original, state) | {"to_addresses": to, "cc_addresses": cc, "subject": subject}


def input_of_forward(request: ForwardEmailRequest, state: State) -> JsonObject:
    """Return the input of ``POST /email/forward``: a ``send`` with the old text and files."""
    original = state["emails"].get(request.message_id)
    if original is None:
        return {"operation": "forward", "message_id": request.message_id}
    further = _further(request, original, state)
    return further | {
        "subject": request.subject or _prefixed("Fwd", original["subject"]),
        "body_text": _forwarded(original, request.body_text),
        "attachments": [*original["attachments"], *further["attachments"]],
    }


def _further(request: ReplyEmailRequest | ForwardEmailRequest, original: Email, state: State) -> JsonObject:
    fields = request.model_dump(exclude={"message_id", "to_all"}, exclude_none=True)
    return {**fields, "from_address": state["user_email_address"], **_thread_fields(original)}


def refuse_another_sender(request: SendEmailRequest, state: State) -> str | None:
    """Return the reason why a participant may not send this email; None if the user is its sender."""
    own = state["user_email_address"]
    if same_address("email", request.from_address, own):
        return None
    return f"You write for the user, whose address is {own!r}; from_address {request.from_address[:80]!r} isn't theirs."


# --- messages that come and go ----------------------------------------------------------------------------------------


def receive(change: Change, payload: EmailInput) -> None:
    """Add an unread message that arrives.

    If the input names no folder, the message goes to the inbox, or to ``spam`` if its sender is a blocked contact.
    """
    if payload.from_address is None:
        raise change.fail("receive needs from_address")
    if payload.folder == "drafts":
        raise change.fail("an email can't arrive as a draft; use save_draft")
    blocked = is_blocked(change.neighbours.get("contacts", {}), "email", payload.from_address)
    folder = payload.folder or ("spam" if blocked else "inbox")
    email = _compose(change, payload, sender=payload.from_address, folder=folder, is_read=False)
    email["to_addresses"] = payload.to_addresses or [change.state["user_email_address"]]
    _deliver(change, email)


def send(change: Change, payload: EmailInput) -> None:
    if not payload.to_addresses:
        raise change.fail("send needs to_addresses")
    _deliver(change, _outgoing(change, payload))


def reply(change: Change, payload: EmailInput) -> None:
    _answer(change, payload, to_all=False)


def reply_all(change: Change, payload: EmailInput) -> None:
    _answer(change, payload, to_all=True)


def forward(change: Change, payload: EmailInput) -> None:
    original = _original(change, payload)
    if not payload.to_addresses:
        raise change.fail("forward needs to_addresses")
    email = _outgoing(change, payload, answers=original)
    email["subject"] = payload.subject or _prefixed("Fwd", original["subject"])
    email["body_text"] = _forwarded(original, payload.body_text)
    email["attachments"] = [*original["attachments"], *email["attachments"]]
    _deliver(change, email)


def _forwarded(original: Email, text: str | None) -> str:
    """Return the text of a forwarded email: the user's text above, the old one below."""
    quoted = (
        f"---------- Forwarded message ----------\nFrom: {original['from_address']}\nDate: {original['sent_at']}\n"
        f"Subject: {original['subject']}\nTo: {', '.join(original['to_addresses'])}\n\n{original['body_text']}"
    )
    return f"{text}\n\n{quoted}" if text else quoted


def _recipients(
    original: Email, state: State, to: list[str], cc: list[str], *, to_all: bool
) -> tuple[list[str], list[str]]:
    """Return the recipients of an answer, and those of its copies.

    By default, an answer goes to the original's sender, or if the user is the sender, to the original's recipients.
    """
    user = state["user_email_address"]
    own = same_address("email", original["from_address"], user)
    sender = original["reply_to_address"] or original["from_address"]
    chosen = to or (list(original["to_addresses"]) if own else [sender])
    if not to_all:
        return chosen, cc
    others = [] if own and not to else original["to_addresses"]
    known = [*chosen, user]
    extra = _distinct([*others, *original["cc_addresses"], *cc])
    return chosen, [a for a in extra if not any(same_address("email", a, other) for other in known)]


def _thread_fields(original: Email) -> JsonObject:
    return {
        "thread_id": original["thread_id"],
        "in_reply_to": original["message_id"],
        "references": [*original["references"], original["message_id"]],
    }


def _answer(change: Change, payload: EmailInput, *, to_all: bool) -> None:
    original = _original(change, payload)
    email = _outgoing(change, payload, answers=original)
    to = payload.to_addresses or []
    email["to_addresses"], email["cc_addresses"] = _recipients(
        original, change.state, to, email["cc_addresses"], to_all=to_all
    )
    email["subject"] = payload.subject or _prefixed("Re", original["subject"])
    _deliver(change, email)


def _original(change: Change, payload: EmailInput) -> Email:
    emails = change.state["emails"]
    named = [name for name in (payload.message_id, payload.in_reply_to, *(payload.message_ids or ())) if name]
    message_id = next((name for name in named if name in emails), None)
    if message_id is None:
        if not named:
            raise change.fail(f"{payload.operation} needs message_id")
        raise change.fail(f"there is no email {named[0]!r} to {payload.operation.replace('_', ' ')}")
    email: Email = emails[message_id]
    return email


def _outgoing(change: Change, payload: EmailInput, answers: Email | None = None) -> Email:
    sender = payload.from_address or change.state["user_email_address"]
    email = _compose(change, payload, sender=sender, folder="sent", is_read=True)
    if answers is not None:
        if payload.message_id in (None, answers["message_id"]):
            email["message_id"] = change.draw_id()
        email |= _thread_fields(answers)
    return email


def _compose(change: Change, payload: EmailInput, *, sender: str, folder: str, is_read: bool) -> Email:
    """Return a new email from the input's fields. Its thread is empty if the input names none."""
    return {
        "message_id": payload.message_id or change.draw_id(),
        "thread_id": payload.thread_id or "",
        "from_address": sender,
        "to_addresses": payload.to_addresses or [],
        "cc_addresses": payload.cc_addresses or [],
        "bcc_addresses": payload.bcc_addresses or [],
        "reply_to_address": payload.reply_to_address,
        "subject": payload.subject or "",
        "body_text": payload.body_text or "",
        "body_html": payload.body_html,
        "attachments": [_attachment(change, item) for item in payload.attachments or ()],
        "in_reply_to": payload.in_reply_to,
        "references": payload.references or [],
        "sent_at": payload.timestamp,
        "received_at": change.now,
        "is_read": is_read,
        "is_starred": False,
        "priority": payload.priority,
        "folder": folder,
        "labels": _distinct(payload.labels or ()),
    }


def _attachment(change: Change, payload: EmailAttachment) -> JsonObject:
    fields = payload.model_dump()
    if payload.sha256 is None:
        del fields["sha256"]
    return {**fields, "attachment_id": payload.attachment_id or change.draw_id()}


def _deliver(change: Change, email: Email) -> None:
    """Add a finished email to the state, its lists and its thread."""
    emails, message_id = change.state["emails"], email["message_id"]
    if message_id in emails or message_id in change.state["drafts"]:
        raise change.fail(f"message_id {message_id!r} is taken")
    if not email["thread_id"]:
        before = (emails.get(known) for known in (email["in_reply_to"], *reversed(email["references"])))
        email["thread_id"] = next((known["thread_id"] for known in before if known is not None), "") or change.draw_id()
    change.put(("emails", message_id), email)
    _enter_folder(change, email["folder"], message_id)
    for label in email["labels"]:
        _enter_label(change, label, message_id)
    _join_thread(change, email)


# --- drafts -----------------------------------------------------------------------------------------------------------


def save_draft(change: Change, payload: EmailInput) -> None:
    """Save a message for later; with the id of a draft, overwrite that draft."""
    sender = payload.from_address or change.state["user_email_address"]
    draft = _compose(change, payload, sender=sender, folder="drafts", is_read=True)
    message_id = draft["message_id"]
    if message_id in change.state["emails"]:
        raise change.fail(f"{message_id!r} is an email, not a draft")
    if message_id not in change.state["drafts"]:
        _enter_folder(change, "drafts", message_id)
    change.put(("drafts", message_id), draft)


def send_draft(change: Change, payload: EmailInput) -> None:
    """Send a draft, or an email that was moved to the drafts. The input's fields replace those of the draft."""
    draft = change.state["drafts"].get(payload.message_id)
    moved = change.state["emails"].get(payload.message_id)
    if draft is None and moved is not None and moved["folder"] == "drafts":
        draft = moved
    if draft is None:
        raise change.fail(f"there is no draft {payload.message_id!r}")
    new = payload.model_dump(include=DRAFTED & payload.model_fields_set, exclude_none=True)
    if payload.attachments is not None:
        new["attachments"] = [_attachment(change, item) for item in payload.attachments]
    email = {**draft, **new}
    if not email["to_addresses"]:
        raise change.fail(f"draft {payload.message_id!r} has no recipients")
    if draft is moved:
        _erase(change, moved)
    else:
        _drop_draft(change, draft["message_id"])
    _deliver(change, {**email, "folder": "sent", "sent_at": payload.timestamp, "received_at": change.now})


def _drop_draft(change: Change, message_id: str) -> None:
    change.remove(("drafts", message_id))
    change.discard(("folders", "drafts"), message_id)


# --- what can be done with messages -----------------------------------------------------------------------------------


def _reading(is_read: bool) -> Operation:
    def operation(change: Change, payload: EmailInput) -> None:
        for email in _chosen(change, payload):
            _set_read(change, email, is_read)

    return operation


def _starring(is_starred: bool) -> Operation:
    def operation(change: Change, payload: EmailInput) -> None:
        for email in _chosen(change, payload):
            change.update(("emails", email["message_id"]), is_starred=is_starred)

    return operation


def _make_move(folder: str) -> Operation:
    return lambda change, payload: _move(change, _chosen(change, payload), folder)


mark_read, mark_unread = _reading(True), _reading(False)
star, unstar = _starring(True), _starring(False)
archive, mark_spam, mark_not_spam = _make_move("archive"), _make_move("spam"), _make_move("inbox")


def move(change: Change, payload: EmailInput) -> None:
    if not payload.folder:
        raise change.fail("move needs folder")
    _move(change, _chosen(change, payload), payload.folder)


def delete(change: Change, payload: EmailInput) -> None:
    """Move messages to the trash; messages in the trash, and drafts, are deleted permanently."""
    drafts = change.state["drafts"]
    named = _ids(change, payload)
    dropped = [message_id for message_id in named if message_id in drafts]
    for message_id in dropped:
        _drop_draft(change, message_id)
    for email in _emails(change, [message_id for message_id in named if message_id not in dropped]):
        if email["folder"] == "trash":
            _erase(change, email)
        else:
            _move(change, [email], "trash")


def add_label(change: Change, payload: EmailInput) -> None:
    labels = _labels(change, payload)
    for email in _chosen(change, payload):
        for label in labels:
            if label not in email["labels"]:
                change.append(("emails", email["message_id"], "labels"), label)
                _enter_label(change, label, email["message_id"])


def remove_label(change: Change, payload: EmailInput) -> None:
    """Remove labels from messages; a missing label is ignored."""
    labels = _labels(change, payload)
    for email in _chosen(change, payload):
        for label in labels:
            if change.discard(("emails", email["message_id"], "labels"), label):
                _leave_label(change, label, email["message_id"])


def _ids(change: Change, payload: EmailInput) -> list[str]:
    named = _distinct([*(payload.message_ids or ()), *([payload.message_id] if payload.message_id else ())])
    if not named:
        raise change.fail(f"{payload.operation} needs message_ids")
    if len(named) > MOST_AT_ONCE:
        raise change.fail(f"{payload.operation} takes at most {MOST_AT_ONCE} message_ids at once, not {len(named)}")
    return named


def _labels(change: Change, payload: EmailInput) -> list[str]:
    labels = _distinct(payload.labels or ())
    if not labels:
        raise change.fail(f"{payload.operation} needs labels")
    if len(labels) * len(_ids(change, payload)) > MOST_LABELLINGS:
        raise change.fail(f"{payload.operation} takes at most {MOST_LABELLINGS} pairs of a message and a label at once")
    return labels


def _chosen(change: Change, payload: EmailInput) -> list[Email]:
    return _emails(change, _ids(change, payload))


def _emails(change: Change, message_ids: list[str]) -> list[Email]:
    emails = change.state["emails"]
    missing = [message_id for message_id in message_ids if message_id not in emails]
    if missing:
        raise change.fail(f"there is no email {', '.join(map(repr, missing))}")
    return [emails[message_id] for message_id in message_ids]


def _move(change: Change, emails: list[Email], folder: str) -> None:
    for email in emails:
        message_id = email["message_id"]
        if email["folder"] != folder:
            change.discard(("folders", email["folder"]), message_id)
            _enter_folder(change, folder, message_id)
            change.put(("emails", message_id, "folder"), folder)


def _set_read(change: Change, email: Email, is_read: bool) -> None:
    if email["is_read"] != is_read:
        change.put(("emails", email["message_id"], "is_read"), is_read)
        thread = change.state["threads"].get(email["thread_id"])
        if thread is not None:
            unread = thread["unread_count"] + (-1 if is_read else 1)
            change.put(("threads", email["thread_id"], "unread_count"), max(0, unread))


def _erase(change: Change, email: Email) -> None:
    message_id, thread_id = email["message_id"], email["thread_id"]
    change.remove(("emails", message_id))
    change.discard(("folders", email["folder"]), message_id)
    for label in email["labels"]:
        _leave_label(change, label, message_id)
    thread = change.state["threads"].get(thread_id)
    if thread is None:
        return
    if thread["message_ids"] == [message_id]:
        change.remove(("threads", thread_id))
        return
    change.discard(("threads", thread_id, "message_ids"), message_id)
    change.update(
        ("threads", thread_id),
        message_count=len(thread["message_ids"]),
        unread_count=max(0, thread["unread_count"] - (not email["is_read"])),
    )


def _enter_folder(change: Change, folder: str, message_id: str) -> None:
    if folder not in change.state["folders"]:
        change.put(("folders", folder), [])
    change.append(("folders", folder), message_id)


def _enter_label(change: Change, label: str, message_id: str) -> None:
    if label not in change.state["labels"]:
        change.put(("labels", label), [])
    change.append(("labels", label), message_id)


def _leave_label(change: Change, label: str, message_id: str) -> None:
    if change.state["labels"].get(label) == [message_id]:
        change.remove(("labels", label))
    elif label in change.state["labels"]:
        change.discard(("labels", label), message_id)


def _join_thread(change: Change, email: Email) -> None:
    thread_id = email["thread_id"]
    thread = change.state["threads"].get(thread_id)
    if thread is None:
        change.put(("threads", thread_id), _new_thread(email))
        return
    people = _distinct([*thread["participant_addresses"], *_participants(email)])
    change.append(("threads", thread_id, "message_ids"), email["message_id"])
    change.update(
        ("threads", thread_id),
        participant_addresses=people,
        last_message_at=max(thread["last_message_at"], email["sent_at"]),
        message_count=len(thread["message_ids"]),
        unread_count=thread["unread_count"] + (not email["is_read"]),
    )


def _new_thread(email: Email) -> JsonObject:
    return {
        "thread_id": email["thread_id"],
        "subject": email["subject"],
        "participant_addresses": _participants(email),
        "message_ids": [email["message_id"]],
        "created_at": email["sent_at"],
        "last_message_at": email["sent_at"],
        "message_count": 1,
        "unread_count": int(not email["is_read"]),
    }


def _participants(email: Email) -> list[str]:
    return _distinct([email["from_address"], *email["to_addresses"], *email["cc_addresses"]])


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _prefixed(prefix: str, subject: str) -> str:
    return subject if subject.lower().startswith(f"{prefix.lower()}:") else f"{prefix}: {subject}"


# --- after an import --------------------------------------------------------------------------------------------------


def complete(state: State) -> None:
    """Make folders, labels and threads agree with the emails, and derive data that a scenario file omits.

    An email's ``folder`` and ``labels`` decide; lists keep their order and gain the missing emails.
    """
    if not state["files"]:
        del state["files"]
    emails, drafts = state["emails"], state["drafts"]
    for name, email in (*emails.items(), *drafts.items()):
        email["message_id"] = name
    for email in drafts.values():
        email["folder"] = "drafts"
    everything = {**emails, **drafts}
    folders = {name: [] for name in FOLDERS} | state["folders"]
    state["folders"] = _rebuild_lists(folders, {name: [email["folder"]] for name, email in everything.items()})
    state["labels"] = _rebuild_lists(state["labels"], {name: email["labels"] for name, email in emails.items()})
    threads = state["threads"]
    for email in emails.values():
        thread = threads.setdefault(email["thread_id"], {**_new_thread(email), "message_ids": []})
        if email["message_id"] not in thread["message_ids"]:
            thread["message_ids"].append(email["message_id"])
            thread["participant_addresses"] = _distinct([*thread["participant_addresses"], *_participants(email)])
            thread["created_at"] = min(thread["created_at"], email["sent_at"])
            thread["last_message_at"] = max(thread["last_message_at"], email["sent_at"])
    for name, thread in threads.items():
        thread["thread_id"] = name
        thread["message_ids"] = [message_id for message_id in _distinct(thread["message_ids"]) if message_id in emails]
        thread["message_count"] = len(thread["message_ids"])
        thread["unread_count"] = sum(not emails[message_id]["is_read"] for message_id in thread["message_ids"])


def _rebuild_lists(lists: dict[str, list[str]], homes: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the lists of ids by name, each with exactly the ids that ``homes`` puts into it.

    Listed ids keep their order; missing ids follow.
    """
    wanted: dict[str, dict[str, None]] = {name: {} for name in lists}
    for message_id, names in homes.items():
        for name in names:
            wanted.setdefault(name, {})[message_id] = None
    return {
        name: list(dict.fromkeys([*(i for i in lists.get(name, ()) if i in ids), *ids])) for name, ids in wanted.items()
    }
