"""Parts of a participant's action as text, read from its parameters, for commands, pages and documents."""

from collections.abc import Mapping
from typing import Any

from purple_sdk.protocol.readings import chat_text

_IDS = ("message_ids", "message_id", "email_ids", "event_ids", "event_id", "contact_ids", "contact_id")
_TARGETS = ("labels", "label", "folder", "to_addresses", "to_numbers", "to", "response", "status", "emoji")
_HEADINGS = ("subject", "title")
_TEXTS = ("body_text", "body", "content", "description", "comment")


def list_ids(parameters: Mapping[str, Any]) -> list[str]:
    """Return the ids of the items that an action concerns."""
    words: list[str] = []
    for name in _IDS:
        value = parameters.get(name)
        words += [str(element) for element in value] if isinstance(value, list) else [str(value)] if value else []
    return list(dict.fromkeys(words))


def find_targets(parameters: Mapping[str, Any]) -> str:
    """Return an action's targets (labels, a folder, recipients, a response); empty if it has none."""
    for name in _TARGETS:
        value = parameters.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and value:
            return ", ".join(str(element) for element in value)
    return ""


def find_heading(parameters: Mapping[str, Any]) -> str:
    """Return an action's subject or title; empty if it has none."""
    return next((str(value) for name in _HEADINGS if isinstance(value := parameters.get(name), str)), "")


def find_text(parameters: Mapping[str, Any]) -> str:
    """Return the text that an action wrote; empty if it wrote none."""
    return next((text for name in _TEXTS if (text := chat_text(parameters.get(name)))), "")
