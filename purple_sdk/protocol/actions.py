"""The names of what can be done: ``action`` in logs, reports and updates (seed 000, section 3.4).

A name is modality and operation as the seeds write them, which for most actions is the route of the UES contract
(``email.send``, ``sms.react``); where the seeds have a name of their own, that is the name. Participants may report by
either.
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
"""All that a participant can do that leaves a trace in the simulation's event log."""

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
"""What the contract's routes and the inputs' operations call them, where that is something else."""


def action_name(name: str) -> str:
    """The one name of an action, however it was called."""
    return _OTHER_NAMES.get(name, name)
