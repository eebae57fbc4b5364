"""The names of all actions: ``action`` in logs, reports and updates (seed 000, section 3.4).

A name is modality and operation as the seeds write them. For most actions, the name is the route of the UES contract
(``email.send``, ``sms.react``). If the seeds use another name, the seeds' name counts. Participants may report either
name.
"""

USER_ACTIONS = (
    *(f"email.{name}" for name in ("send", "reply", "reply_all", "forward", "save_draft", "send_draft")),
    *(f"email.{name}" for name in ("mark_read", "mark_unread", "star", "unstar", "archive", "delete", "move")),
    *(f"email.{name}" for name in ("label", "unlabel")),
    *(f"sms.{name}" for name in ("send", "read", "unread", "delete", "react", "unreact", "edit", "conversation")),
    "chat.send_message",
    *(f"calendar.{name}" for name in ("create", "update", "delete", "respond")),
    *(f"contacts.{name}" for name in ("create", "update")),
)
"""All actions of a participant that leave a trace in the simulation's event log."""

_OTHER_NAMES = {
    "chat.send": "chat.send_message",
    "email.read": "email.mark_read",
    "email.unread": "email.mark_unread",
    "email.add_label": "email.label",
    "email.remove_label": "email.unlabel",
    "sms.send_message": "sms.send",
    "sms.receive_message": "sms.receive",
    "sms.delete_message": "sms.delete",
    "sms.edit_message": "sms.edit",
    "sms.add_reaction": "sms.react",
    "sms.remove_reaction": "sms.unreact",
    "sms.update_conversation": "sms.conversation",
    "chat.delete_message": "chat.delete",
    "chat.clear_conversation": "chat.clear",
}
"""The names that we use, by the other names of the same actions in the contract's routes and the inputs' operations."""


def action_name(name: str) -> str:
    """Return the name that we use for an action, given any of its names."""
    return _OTHER_NAMES.get(name, name)
