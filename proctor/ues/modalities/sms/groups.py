"""What an event can do to groups, and to how the user keeps a conversation."""

from typing import Any

from proctor.ues.modalities.sms import models
from proctor.ues.modalities.sms.models import SMSInput
from proctor.ues.modalities.sms.operations import new_conversation, part_of, set_read
from proctor.ues.modality import Change
from proctor.ues.people import address_key, same_address

Conversation = dict[str, Any]


def _conversation(change: Change, thread_id: str | None) -> Conversation:
    conversation: Conversation | None = change.state["conversations"].get(thread_id or "")
    if conversation is None:
        raise change.fail(f"there is no conversation {thread_id!r}")
    return conversation


def _group(change: Change, thread_id: str | None) -> Conversation:
    conversation = _conversation(change, thread_id)
    if conversation["conversation_type"] != "group":
        raise change.fail(f"conversation {thread_id!r} is not a group")
    return conversation


def create_group(change: Change, payload: SMSInput) -> None:
    """Make a group; its creator (by default the user) is its admin."""
    data = part_of(payload, models.GroupData)
    thread_id = data.thread_id or change.draw_id()
    if thread_id in change.state["conversations"]:
        raise change.fail(f"thread_id {thread_id!r} is taken")
    creator = data.creator_number or change.state["user_phone_number"]
    people = [creator, *(one.phone_number for one in data.people)]
    conversation = new_conversation(thread_id, people, payload.timestamp, created_by=creator)
    conversation["conversation_type"] = "group"
    conversation["group_name"] = data.group_name
    conversation["group_photo_url"] = data.group_photo_url
    named_admins = [creator, *(one.phone_number for one in data.people if one.is_admin)]
    admins = {address_key("phone", number) for number in named_admins}
    for participant in conversation["participants"]:
        participant["is_admin"] = address_key("phone", participant["phone_number"]) in admins
    change.put(("conversations", thread_id), conversation)
    change.index.clear()


def update_group(change: Change, payload: SMSInput) -> None:
    data = part_of(payload, models.GroupData)
    _group(change, data.thread_id)
    news = {"group_name": data.group_name, "group_photo_url": data.group_photo_url}
    change.update(
        ("conversations", str(data.thread_id)), **{name: value for name, value in news.items() if value is not None}
    )


def add_participant(change: Change, payload: SMSInput) -> None:
    """Somebody joins a group, or joins it again."""
    data = part_of(payload, models.ParticipantData)
    group = _group(change, data.thread_id)
    number = data.phone_number
    place = _place(group, number)
    if place is not None and group["participants"][place]["left_at"] is None:
        raise change.fail(f"{number} is in the group already")
    change.index.clear()
    joining = {"phone_number": number, "is_admin": data.is_admin, "joined_at": payload.timestamp, "left_at": None}
    if place is None:
        change.append(("conversations", data.thread_id, "participants"), joining)
    else:
        change.put(("conversations", data.thread_id, "participants", place), joining)


def remove_participant(change: Change, payload: SMSInput) -> None:
    data = part_of(payload, models.ParticipantData)
    _group(change, data.thread_id)
    _leave(change, data.thread_id, data.phone_number, payload.timestamp)


def leave_group(change: Change, payload: SMSInput) -> None:
    data = part_of(payload, models.GroupData)
    _group(change, data.thread_id)
    named = [data.phone_number, *(one.phone_number for one in data.people), data.creator_number]
    number = next((number for number in named if number), change.state["user_phone_number"])
    _leave(change, str(data.thread_id), number, payload.timestamp)


def _leave(change: Change, thread_id: str, number: str, at: str) -> None:
    place = _place(change.state["conversations"][thread_id], number)
    if place is None or change.state["conversations"][thread_id]["participants"][place]["left_at"] is not None:
        raise change.fail(f"{number} is not in the group")
    change.update(("conversations", thread_id, "participants", place), left_at=at)
    change.index.clear()


def _place(group: Conversation, number: str) -> int | None:
    people = enumerate(group["participants"])
    return next((place for place, person in people if same_address("phone", person["phone_number"], number)), None)


def update_conversation(change: Change, payload: SMSInput) -> None:
    """The user mutes, pins, archives or renames a conversation, keeps a draft in it, or marks all of it read."""
    data = part_of(payload, models.ConversationUpdateData)
    _conversation(change, data.thread_id)
    news = data.model_dump(exclude={"thread_id", "mark_all_read"}, exclude_none=True)
    change.update(("conversations", data.thread_id), **news)
    if data.mark_all_read:
        unread = [
            message
            for message in change.state["messages"].values()
            if message["thread_id"] == data.thread_id and not message["is_read"] and message["direction"] == "incoming"
        ]
        for message in unread:
            set_read(change, message, is_read=True, at=payload.timestamp)
            change.update(("messages", message["message_id"]), delivery_status="read")
