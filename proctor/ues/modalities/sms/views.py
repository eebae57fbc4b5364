"""How the phone's messages are shown and searched."""

from collections.abc import Iterator
from heapq import nlargest
from operator import itemgetter
from typing import Any

from proctor.ues.compact import MOST_LOOKED_AT, fit
from proctor.ues.modalities.sms.models import SMSQueryRequest
from proctor.ues.modalities.sms.operations import new_conversation
from proctor.ues.modality import State, StateParams, View, page, sort_key, sortable, threads_since
from proctor.ues.people import address_key, name_of
from proctor.ues.schema import JsonObject

LEFT_OUT_OF_COMPACT = frozenset({"body", "attachments", "reactions", "delivered_at", "read_at", "edited_at"})

SORT_FIELDS = sortable(
    "sent_at timestamp=sent_at date=sent_at from_number thread_id is_read direction message_type delivery_status "
    "message_id"
)


def show(view: View, params: StateParams) -> JsonObject:
    state = view.state
    messages = state["messages"]
    parts = (
        view.derive("compact", lambda: _compact(state))
        if params.compact
        else {"messages": messages, "conversations": state["conversations"]}
    )
    return {
        "modality_type": "sms",
        "current_time": view.now,
        "user_phone_number": state["user_phone_number"],
        **parts,
        "total_message_count": len(messages),
        "unread_count": _unread(state),
        "total_conversation_count": len(state["conversations"]),
    }


def news(view: View, since: str) -> JsonObject:
    return {"messages": threads_since(view.state["messages"], since)}


def _compact(state: State) -> JsonObject:
    """The newest messages without what is in them, and the newest conversations."""
    messages = nlargest(MOST_LOOKED_AT, state["messages"].items(), key=lambda item: item[1]["sent_at"])
    conversations = nlargest(
        MOST_LOOKED_AT, state["conversations"].items(), key=lambda item: item[1]["last_message_at"]
    )
    return {
        "messages": fit(((key, _without_text(message)) for key, message in messages), 10_000),
        "conversations": fit(conversations, 8_000),
    }


def _without_text(message: dict[str, Any]) -> JsonObject:
    return {name: value for name, value in message.items() if name not in LEFT_OUT_OF_COMPACT}


def _unread(state: State) -> int:
    return sum(_is_unread(message) for message in state["messages"].values())


def _is_unread(message: dict[str, Any]) -> bool:
    return message["direction"] == "incoming" and not message["is_read"] and not message["is_deleted"]


def query(view: View, request: SMSQueryRequest) -> JsonObject:
    key = sort_key(request.sort_by, SORT_FIELDS, "sent_at")
    sender, recipient = (
        None if number is None else address_key("phone", number) for number in (request.from_number, request.to_number)
    )
    matches = [message for message in view.state["messages"].values() if _matches(message, request, sender, recipient)]
    matches.sort(key=itemgetter(key), reverse=request.sort_order != "asc")
    return page(matches, request, "messages", "sms")


def _matches(message: dict[str, Any], request: SMSQueryRequest, sender: str | None, recipient: str | None) -> bool:
    for name in ("thread_id", "message_type", "direction", "is_read", "delivery_status", "is_deleted", "is_spam"):
        wanted = getattr(request, name)
        if wanted is not None and message[name] != wanted:
            return False
    return (
        (sender is None or address_key("phone", message["from_number"]) == sender)
        and (recipient is None or any(address_key("phone", number) == recipient for number in message["to_numbers"]))
        and (request.body_contains is None or request.body_contains.lower() in message["body"].lower())
        and (request.search_text is None or request.search_text.lower() in message["body"].lower())
        and (request.has_attachments is None or bool(message["attachments"]) == request.has_attachments)
        and (request.sent_after is None or message["sent_at"] >= request.sent_after)
        and (request.sent_before is None or message["sent_at"] <= request.sent_before)
    )


def digest(view: View) -> JsonObject:
    book = view.neighbours.get("contacts", {})
    latest = sorted(view.state["messages"].values(), key=itemgetter("sent_at"), reverse=True)[:3]
    return {
        "messages": len(view.state["messages"]),
        "unread": _unread(view.state),
        "latest": [
            f"{name_of(book, 'phone', message['from_number'])[:40]}: {message['body'][:60]}" for message in latest
        ],
    }


def describe(state: State) -> str:
    return f"{len(state['messages'])} messages, {_unread(state)} unread"


def check(state: State) -> Iterator[str]:
    for message in state["messages"].values():
        if message["thread_id"] not in state["conversations"]:
            yield f"sms: message {message['message_id']} belongs to no known conversation"


def complete(state: State) -> None:
    """After an import: conversations that were left out, ids and counts."""
    for key, message in state["messages"].items():
        message["message_id"] = key
        for place, attachment in enumerate(message["attachments"]):
            attachment["attachment_id"] = attachment["attachment_id"] or f"{key}-attachment-{place + 1}"
        for place, reaction in enumerate(message["reactions"]):
            reaction["reaction_id"] = reaction["reaction_id"] or f"{key}-reaction-{place + 1}"
    for thread_id, conversation in state["conversations"].items():
        conversation["thread_id"] = thread_id
        conversation["message_count"] = conversation["unread_count"] = 0
    for message in state["messages"].values():
        conversation = state["conversations"].setdefault(message["thread_id"], _conversation_of(message))
        conversation["message_count"] += 1
        conversation["unread_count"] += _is_unread(message)
        conversation["last_message_at"] = max(conversation["last_message_at"], message["sent_at"])


def _conversation_of(message: dict[str, Any]) -> dict[str, Any]:
    people = [message["from_number"], *message["to_numbers"]]
    return new_conversation(message["thread_id"], people, message["sent_at"], created_by=None)
