"""The mailbox: its mails, the actions on them, and their labels and folders."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from proctor.protocol.evaluation import AgentBeatsEvalContext
from proctor.scenarios.kit.messages import as_list, done
from purple_sdk.protocol.results import ActionLogEntryWithTurn

Mail = dict[str, Any]
"""A mail in the simulator's format: ``from_address``, ``subject``, ``labels``, ``folder``, ``is_starred``, …"""


def mails_before(ctx: AgentBeatsEvalContext) -> dict[str, Mail]:
    """All mails before the first turn, by id."""
    return _mails(ctx.initial_state)


def mails_after(ctx: AgentBeatsEvalContext) -> dict[str, Mail]:
    """All mails at the end, by id."""
    return _mails(ctx.final_state)


def _mails(state: Mapping[str, Any]) -> dict[str, Mail]:
    return (state.get("email") or {}).get("emails") or {}


def folder_of(mail: Mapping[str, Any] | None) -> str:
    """A mail's folder in lower case; empty without a mail."""
    return plain(mail.get("folder", "inbox")) if mail else ""


def folders_before(ctx: AgentBeatsEvalContext) -> set[str]:
    """The names of the folders before the first turn."""
    named = (ctx.initial_state.get("email") or {}).get("folders") or {}
    return {*map(plain, named), *map(folder_of, mails_before(ctx).values())}


def labels_of(mail: Mapping[str, Any] | None) -> set[str]:
    """A mail's labels in lower case."""
    return {plain(label) for label in (mail or {}).get("labels") or []}


def plain(label: Any) -> str:
    """A label or folder in the form used to compare it."""
    return str(label).strip().lower()


def touched(entry: ActionLogEntryWithTurn) -> list[str]:
    """The ids of the mails that an action is about."""
    ids = as_list(entry.parameters.get("message_ids")) + as_list(entry.parameters.get("message_id"))
    return [str(message_id) for message_id in ids]


def times_touched(ctx: AgentBeatsEvalContext, action: str, message_id: str, label: str | None = None) -> list[datetime]:
    """The times at which an action touched a mail (with that label), in order."""
    return [
        entry.timestamp
        for entry in done(ctx, (action,))
        if message_id in touched(entry)
        and (label is None or label in map(plain, as_list(entry.parameters.get("labels"))))
    ]
