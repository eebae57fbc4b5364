"""What a participant's action is about, from its parameters: for the command line, pages and documents alike."""

from collections.abc import Mapping
from typing import Any

from purple_sdk.protocol.readings import chat_text

_IDS = ("message_ids", "message_id", "email_ids", "event_ids", "event_id", "contact_ids", "contact_id")
_TARGETS = ("labels", "label", "folder", "to_addresses", "to_numbers", "to", "response", "status", "emoji")
_HEADINGS = ("subject", "title")
_TEXTS = ("body_text", "body", "content", "description", "comment")


def ids_in(parameters: Mapping[str, Any]) -> list[str]:
    """The ids of the items that an action is about."""
    words: list[str] = []
    for name in _IDS:
        value = parameters.get(name)
        words += [str(each) for each in value] if isinstance(value, list) else [str(value)] if value else []
    return list(dict.fromkeys(words))


def target_of(parameters: Mapping[str, Any]) -> str:
    """An action's targets: labels, a folder, recipients, a response; empty where it has none."""
    for name in _TARGETS:
        value = parameters.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and value:
            return ", ".join(str(each) for each in value)
    return ""


def heading_of(parameters: Mapping[str, Any]) -> str:
    """An action's subject or title; empty where it has none."""
    return next((str(value) for name in _HEADINGS if isinstance(value := parameters.get(name), str)), "")


def text_of(parameters: Mapping[str, Any]) -> str:
    """The text that an action wrote; empty where it wrote none."""
    return next((text for name in _TEXTS if (text := chat_text(parameters.get(name)))), "")
