"""The operations of events on the phone's messages."""

from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import BaseModel

from proctor.ues.modalities.sms import models
from proctor.ues.modalities.sms.models import SendSMSRequest, SMSInput, SMSReactRequest
from proctor.ues.modality import Change, State
from proctor.ues.people import address_key, is_blocked, same_address

M = TypeVar("M", bound=BaseModel)
Message = dict[str, Any]


def read_part(payload: SMSInput, kind: type[M]) -> M:
    """Return the action's object as a model; the input's validator has already checked it."""
    name, _ = payload.part
    return kind.model_validate(getattr(payload, name))


def refuse_another_sender(request: SendSMSRequest, state: State) -> str | None:
    """Return the reason why a participant may not send this message; None if the user is its sender."""
    return _refuse_another(state, "from_number", request.from_number)


def refuse_anothers_reaction(request: SMSReactRequest, state: State) -> str | None:
    """Return the reason why a participant may not send this reaction; None if it is the user's."""
    return _refuse_another(state, "phone_number", request.phone_number)


def _refuse_another(state: State, field: str, number: str) -> str | None:
    own = state["user_phone_number"]
    if same_address("phone", number, own):
        return None
    return f"You write for the user, whose number is {own!r}: {field} {number[:80]!r} isn't theirs."


def send_message(change: Change, payload: SMSInput) -> None:
    """Send a message as the user; it is delivered at once and counts as read."""
    data = read_part(payload, models.MessageData)
    sender = data.from_number or change.state["user_phone_number"]
    _deliver(change, payload, data, sender, direction="outgoing")


def receive_message(change: Change, payload: SMSInput) -> None:
    data = read_part(payload, models.MessageData)
    _deliver(change, payload, data, data.from_number or "", direction="incoming")


def _deliver(change: Change, payload: SMSInput, data: models.MessageData, sender: str, direction: str) -> None:
    state = change.state
    recipients = data.to_numbers
    if not recipients and direction == "incoming":
        recipients = [state["user_phone_number"]]
    if not recipients and data.thread_id in state["conversations"]:
        recipients = _others(state["conversations"][data.thread_id], state)
    if not recipients:
        raise change.fail(f"{payload.action} needs message_data.to_numbers")
    if data.replied_to_message_id is not None and data.replied_to_message_id not in state["messages"]:
        raise change.fail(f"there is no message {data.replied_to_message_id!r} to reply to")
    message_id = data.message_id or change.draw_id()
    if message_id in state["messages"]:
        raise change.fail(f"message_id {message_id!r} is taken")
    incoming = direction == "incoming"
    sent_at = data.sent_at or payload.timestamp
    thread_id = _find_or_make_thread(change, data, sender, recipients, sent_at)
    attachments = [attachment.model_dump() for attachment in data.attachments]
    for attachment in attachments:
        attachment["attachment_id"] = attachment["attachment_id"] or change.draw_id()
    change.put(
        ("messages", message_id),
        {
            "message_id": message_id,
            "thread_id": thread_id,
            "from_number": sender,
            "to_numbers": recipients,
            "body": data.body,
            "attachments": attachments,
            "reactions": [],
            "message_type": data.message_type,
            "direction": direction,
            "sent_at": sent_at,
            "delivered_at": None if incoming else payload.timestamp,
            "read_at": None,
            "is_read": not incoming,
            "delivery_status": "sent" if incoming else "delivered",
            "edited_at": None,
            "is_deleted": False,
            "replied_to_message_id": data.replied_to_message_id,
            "is_spam": incoming and is_blocked(change.neighbours.get("contacts", {}), "phone", sender),
        },
    )
    conversation = state["conversations"][thread_id]
    change.update(
        ("conversations", thread_id),
        message_count=conversation["message_count"] + 1,
        unread_count=conversation["unread_count"] + incoming,
        last_message_at=max(conversation["last_message_at"], sent_at),
        draft_message=conversation["draft_message"] if incoming else None,
    )
    _drop_oldest(change, thread_id)


def _drop_oldest(change: Change, thread_id: str) -> None:
    """Keep a conversation within ``max_messages_per_conversation``."""
    surplus = change.state["conversations"][thread_id]["message_count"] - max(
        1, change.state["max_messages_per_conversation"]
    )
    if surplus <= 0:
        return
    ids = [key for key, message in change.state["messages"].items() if message["thread_id"] == thread_id]
    for message_id in ids[:surplus]:
        _remove(change, message_id)


def _find_or_make_thread(change: Change, data: models.MessageData, sender: str, recipients: list[str], at: str) -> str:
    """Return the id of the named conversation, else of the one with exactly these people. A missing one is made."""
    conversations = change.state["conversations"]
    if data.thread_id is not None and data.thread_id in conversations:
        return data.thread_id
    people = [sender, *recipients]
    known = _by_people(change)
    wanted = _keys([change.state["user_phone_number"], *people])
    if data.thread_id is None and wanted in known:
        return known[wanted]
    thread_id = data.thread_id or change.draw_id()
    change.put(("conversations", thread_id), new_conversation(thread_id, people, at, created_by=None))
    known.setdefault(wanted, thread_id)
    return thread_id


def _by_people(change: Change) -> dict[frozenset[str], str]:
    """Return the first conversation of each set of people, by their numbers' keys.

    The result is cached in ``change.index``, since comparing the people of all conversations for each message is slow.
    Each operation that changes the members of a conversation must empty this index.
    """
    if "by people" not in change.index:
        thread_ids: dict[frozenset[str], str] = {}
        for thread_id, conversation in change.state["conversations"].items():
            thread_ids.setdefault(_keys([change.state["user_phone_number"], *_present(conversation)]), thread_id)
        change.index["by people"] = thread_ids
    by_people: dict[frozenset[str], str] = change.index["by people"]
    return by_people


def new_conversation(thread_id: str, people: Iterable[str], at: str, created_by: str | None) -> dict[str, Any]:
    """Return a conversation of ``people`` (phone numbers) without messages: a group if there are more than two.

    Numbers stay as written; a member who is named twice, in any form, is in it once. ``at`` is canonical text.
    """
    distinct: dict[str, str] = {}
    for number in people:
        distinct.setdefault(address_key("phone", number), number)
    return models.SMSConversation(
        thread_id=thread_id,
        conversation_type="group" if len(distinct) > 2 else "one_on_one",
        participants=[models.GroupParticipant(phone_number=number, joined_at=at) for number in distinct.values()],
        created_at=at,
        created_by=created_by,
        last_message_at=at,
    ).model_dump()


def _present(conversation: dict[str, Any]) -> list[str]:
    return [p["phone_number"] for p in conversation["participants"] if p["left_at"] is None]


def _keys(numbers: Iterable[str]) -> frozenset[str]:
    """Return the keys of phone numbers, equal for all notations of one number."""
    return frozenset(address_key("phone", number) for number in numbers)


def _others(conversation: dict[str, Any], state: State) -> list[str]:
    own = state["user_phone_number"]
    return [number for number in _present(conversation) if not same_address("phone", number, own)]


def _message(change: Change, message_id: str | None) -> Message:
    message: Message | None = change.state["messages"].get(message_id or "")
    if message is None:
        raise change.fail(f"there is no message {message_id!r}")
    return message


def update_delivery_status(change: Change, payload: SMSInput) -> None:
    """Set messages to delivered, failed or read; incoming messages also get the user's read mark."""
    data = read_part(payload, models.DeliveryUpdateData)
    ids: list[str | None] = [*data.message_ids] or [data.message_id]
    for message_id in ids:
        message = _message(change, message_id)
        path = ("messages", message["message_id"])
        match data.new_status:
            case "read":
                set_read(change, message, is_read=True, at=payload.timestamp)
                change.update(path, delivery_status="read")
            case "unread":
                set_read(change, message, is_read=False, at=None)
                change.update(path, delivery_status="delivered")
            case "delivered":
                change.update(path, delivery_status="delivered", delivered_at=payload.timestamp)
            case status:
                change.update(path, delivery_status=status)


def set_read(change: Change, message: Message, *, is_read: bool, at: str | None) -> None:
    """Set a message's read mark, its ``read_at`` (``at``), and the conversation's count of unread messages.

    For a message that the user sent, ``read_at`` is the time at which the other side read it.
    """
    was_read = message["is_read"]
    if was_read and is_read and message["read_at"] is not None:
        return
    change.update(("messages", message["message_id"]), is_read=is_read, read_at=at)
    if was_read == is_read:
        return
    if message["direction"] == "incoming" and not message["is_deleted"]:
        _count_unread(change, message["thread_id"], -1 if is_read else 1)


def _count_unread(change: Change, thread_id: str, by: int) -> None:
    conversation = change.state["conversations"].get(thread_id)
    if conversation is not None:
        change.update(("conversations", thread_id), unread_count=max(0, conversation["unread_count"] + by))


def add_reaction(change: Change, payload: SMSInput) -> None:
    """Add a person's reaction to a message; it replaces the person's earlier reaction."""
    data = read_part(payload, models.ReactionData)
    message = _message(change, data.message_id)
    if not data.emoji or not data.phone_number:
        raise change.fail("add_reaction needs reaction_data.phone_number and reaction_data.emoji")
    number = data.phone_number
    kept = [
        reaction for reaction in message["reactions"] if not same_address("phone", reaction["phone_number"], number)
    ]
    reaction = {
        "reaction_id": data.reaction_id or change.draw_id(),
        "message_id": message["message_id"],
        "phone_number": number,
        "emoji": data.emoji,
        "timestamp": payload.timestamp,
    }
    change.put(("messages", message["message_id"], "reactions"), [*kept, reaction])


def remove_reaction(change: Change, payload: SMSInput) -> None:
    """Remove a reaction, by its id, or by message and person (and emoji)."""
    data = read_part(payload, models.ReactionData)

    def is_meant(reaction: dict[str, Any]) -> bool:
        if data.reaction_id is not None:
            return bool(reaction["reaction_id"] == data.reaction_id)
        is_theirs = same_address("phone", data.phone_number or "", reaction["phone_number"])
        return is_theirs and data.emoji in (None, reaction["emoji"])

    for message in change.state["messages"].values():
        if data.message_id not in (None, message["message_id"]):
            continue
        kept = [reaction for reaction in message["reactions"] if not is_meant(reaction)]
        if len(kept) < len(message["reactions"]):
            change.put(("messages", message["message_id"], "reactions"), kept)
            return
    raise change.fail("there is no such reaction")


def edit_message(change: Change, payload: SMSInput) -> None:
    data = read_part(payload, models.EditData)
    message = _message(change, data.message_id)
    body = data.new_body if data.new_body is not None else data.body
    if body is None:
        raise change.fail("edit_message needs edit_data.new_body")
    if message["is_deleted"]:
        raise change.fail(f"message {data.message_id!r} is deleted")
    change.update(("messages", message["message_id"]), body=body, edited_at=payload.timestamp)


def delete_message(change: Change, payload: SMSInput) -> None:
    """Mark messages as deleted; they stay in the state, but no longer count as unread."""
    data = read_part(payload, models.DeleteData)
    ids: list[str | None] = [*data.message_ids] or [data.message_id]
    for message_id in ids:
        message = _message(change, message_id)
        if message["is_deleted"]:
            continue
        if message["direction"] == "incoming" and not message["is_read"]:
            _count_unread(change, message["thread_id"], -1)
        change.update(("messages", message["message_id"]), is_deleted=True)


def _remove(change: Change, message_id: str) -> None:
    message = change.state["messages"][message_id]
    if message["direction"] == "incoming" and not message["is_read"] and not message["is_deleted"]:
        _count_unread(change, message["thread_id"], -1)
    change.remove(("messages", message_id))
    conversation = change.state["conversations"][message["thread_id"]]
    change.update(("conversations", message["thread_id"]), message_count=max(0, conversation["message_count"] - 1))
