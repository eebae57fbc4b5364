"""Show and search the mailbox."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from heapq import nlargest
from itertools import islice
from operator import itemgetter
from typing import Any

from proctor.ues.compact import MOST_LOOKED_AT, fit
from proctor.ues.modalities.email.models import Email as StoredEmail
from proctor.ues.modalities.email.models import EmailQueryRequest, EmailStateParams, EmailSummary
from proctor.ues.modality import State, View, page, sort_key, sortable, threads_since
from proctor.ues.people import address_key, lookup_name
from proctor.ues.schema import JsonObject

PREVIEW = 100
"""The most characters of a body in a summary."""

SUMMARISED = [name for name in EmailSummary.model_fields if name in StoredEmail.model_fields]
"""The fields that a summary shows unchanged."""

LEFT_OUT_OF_COMPACT = frozenset({"body_text", "body_html", "references"})

SORT_FIELDS = sortable(
    "received_at sent_at date=received_at subject from_address priority folder is_read is_starred thread_id message_id"
)

URGENCY = {"low": 0, "normal": 1, "high": 2}
"""The order of priorities; any other priority, which only an event could bring, counts as normal."""

Email = dict[str, Any]
Filter = Callable[[list[Email]], list[Email]]


def show(view: View, params: EmailStateParams) -> JsonObject:
    if params.summary:
        return _summary(view)
    state = view.state
    emails = state["emails"]
    parts = (
        view.derive("compact", lambda: _compact(state))
        if params.compact
        else {name: state[name] for name in ("emails", "threads", "folders", "labels")}
    )
    return {
        "modality_type": "email",
        "current_time": view.now,
        "user_email_address": state["user_email_address"],
        **parts,
        "total_email_count": len(emails),
        "unread_count": _unread(emails.values()),
        "starred_count": sum(email["is_starred"] for email in emails.values()),
    }


def news(view: View, since: str) -> JsonObject:
    return {"emails": threads_since(view.state["emails"], since)}


def _compact(state: State) -> JsonObject:
    """Return the newest messages without their contents, their threads and places, and the counts of each place."""
    emails = state["emails"]
    newest = nlargest(MOST_LOOKED_AT, emails.items(), key=lambda item: item[1]["received_at"])
    shown = fit(
        (
            (message_id, {name: value for name, value in email.items() if name not in LEFT_OUT_OF_COMPACT})
            for message_id, email in newest
        ),
        9_000,
    )
    threads = dict.fromkeys(emails[message_id]["thread_id"] for message_id in shown)
    lists = {
        place: {name: [i for i in shown if name in _places(emails[i], place)] for name in _names(state[place])}
        for place in ("folders", "labels")
    }
    return {
        "emails": shown,
        "threads": fit(((name, state["threads"][name]) for name in threads if name in state["threads"]), 4_000),
        **lists,
        "folder_counts": {name: len(state["folders"][name]) for name in lists["folders"]},
        "label_counts": {name: len(state["labels"][name]) for name in lists["labels"]},
    }


def _names(lists: dict[str, list[str]]) -> list[str]:
    """Return the names of the first lists; there may be any number of lists."""
    return [name for name in islice(lists, 40) if len(name) <= 60]


def _places(email: Email, place: str) -> list[str]:
    labels: list[str] = email["labels"]
    return [email["folder"]] if place == "folders" else labels


def _unread(emails: Iterable[Email]) -> int:
    return sum(not email["is_read"] for email in emails)


def _summary(view: View) -> JsonObject:
    state = view.state
    emails, drafts = state["emails"], state["drafts"]
    return {
        "modality_type": "email",
        "current_time": view.now,
        "user_email_address": state["user_email_address"],
        "statistics": {
            "total_emails": len(emails),
            "unread_count": _unread(emails.values()),
            "starred_count": sum(email["is_starred"] for email in emails.values()),
            "thread_count": len(state["threads"]),
            "draft_count": len(drafts),
        },
        "folders": {
            folder: {
                "count": len(ids),
                "unread_count": _unread(emails[message_id] for message_id in ids if message_id in emails),
            }
            for folder, ids in state["folders"].items()
        },
        "labels": {label: len(ids) for label, ids in state["labels"].items()},
        "emails": {message_id: _summarise(email) for message_id, email in emails.items()},
        "threads": state["threads"],
    }


def _summarise(email: Email) -> JsonObject:
    return {
        **{name: email[name] for name in SUMMARISED},
        "has_attachments": bool(email["attachments"]),
        "attachment_count": len(email["attachments"]),
        "body_preview": email["body_text"][:PREVIEW],
    }


def _filters(request: EmailQueryRequest) -> Iterator[Filter]:
    """Yield one filter over a list of emails for each given field."""
    for name in ("folder", "is_read", "is_starred", "thread_id", "priority"):
        wanted = getattr(request, name)
        if wanted is not None:
            yield partial(_having, name, wanted)
    if request.from_address is not None:
        is_sender = _make_address_test(request.from_address)
        yield lambda emails: [email for email in emails if is_sender(email["from_address"])]
    if request.to_address is not None:
        is_recipient = _make_address_test(request.to_address)
        yield lambda emails: [email for email in emails if any(map(is_recipient, email["to_addresses"]))]
    for name, text in (("subject", request.subject_contains), ("body_text", request.body_contains)):
        if text is not None:
            yield partial(_containing, name, text.lower())
    if request.has_attachments is not None:
        yield lambda emails: [email for email in emails if bool(email["attachments"]) == request.has_attachments]
    if request.labels is not None:
        labels = set(request.labels)
        yield lambda emails: [email for email in emails if labels.issubset(email["labels"])]
    yield partial(_between, "sent_at", request.sent_after, request.sent_before)
    yield partial(_between, "received_at", request.received_after, request.received_before)


def _make_address_test(wanted: str) -> Callable[[str], bool]:
    """Return a test for addresses that contain ``wanted`` (of ``Ann <a@b.c>``, the inner address), in any case."""
    part = address_key("email", wanted)
    return lambda address: part in address.lower()


def _having(name: str, wanted: object, emails: list[Email]) -> list[Email]:
    return [email for email in emails if email[name] == wanted]


def _containing(name: str, text: str, emails: list[Email]) -> list[Email]:
    return [email for email in emails if text in email[name].lower()]


def _between(name: str, after: str | None, before: str | None, emails: list[Email]) -> list[Email]:
    if after is not None:
        emails = [email for email in emails if email[name] >= after]
    if before is not None:
        emails = [email for email in emails if email[name] <= before]
    return emails


def _urgency(email: Email) -> int:
    return URGENCY.get(email["priority"], URGENCY["normal"])


def query(view: View, request: EmailQueryRequest) -> JsonObject:
    """Answer ``POST /email/query``. Drafts are found only if ``folder`` asks for them."""
    with_drafts = request.folder == "drafts"
    key = sort_key(request.sort_by, SORT_FIELDS, "received_at")
    newest_first = request.sort_order != "asc"
    by: Callable[[Email], Any] = _urgency if key == "priority" else itemgetter(key)
    emails = view.derive(
        (with_drafts, key, newest_first),
        lambda: sorted(_emails(view.state, with_drafts=with_drafts), key=by, reverse=newest_first),
    )
    for apply in _filters(request):
        emails = apply(emails)
    return page(emails, request, "emails", "email")


def _emails(state: State, *, with_drafts: bool) -> list[Email]:
    return [*state["emails"].values(), *(state["drafts"].values() if with_drafts else ())]


def digest(view: View) -> JsonObject:
    emails, book = view.state["emails"], view.neighbours.get("contacts", {})
    inbox = [emails[message_id] for message_id in view.state["folders"].get("inbox", ()) if message_id in emails]
    return {
        "inbox": len(inbox),
        "unread": _unread(emails.values()),
        "total": len(emails),
        "latest": [
            ("" if email["is_read"] else "(unread) ")
            + f"{lookup_name(book, 'email', email['from_address'])[:40]}: {email['subject'][:50]}"
            for email in reversed(inbox[-3:])
        ],
    }


def describe(state: State) -> str:
    emails = state["emails"]
    return f"{len(emails)} emails, {_unread(emails.values())} unread, {len(state['drafts'])} drafts"


def check(state: State) -> Iterator[str]:
    emails, everything = state["emails"], {**state["emails"], **state["drafts"]}
    homes: dict[str, str] = {}
    for folder, ids in state["folders"].items():
        for message_id in ids:
            homes[message_id] = folder
            if message_id not in everything:
                yield f"email: folder {folder!r} lists the unknown message {message_id}"
            elif everything[message_id]["folder"] != folder:
                yield f"email: folder {folder!r} lists {message_id}, which is in {everything[message_id]['folder']!r}"
    for message_id, email in emails.items():
        if message_id not in homes:
            yield f"email: {message_id} is missing from the list of its folder {email['folder']!r}"
        if email["thread_id"] not in state["threads"]:
            yield f"email: {message_id} belongs to the unknown thread {email['thread_id']}"
    for label, ids in state["labels"].items():
        for message_id in ids:
            if message_id not in emails or label not in emails[message_id]["labels"]:
                yield f"email: label {label!r} lists {message_id}, which doesn't carry it"
