"""The participant's actions in few words: ``email.label 4 → urgent``.

Whatever the participant wrote is data: control characters are taken out before anything reaches a terminal.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from proctor_protocol.updates import ActionObservedUpdate

_LONGEST_TEXT = 40
_TARGETS = ("labels", "folder", "to_addresses", "to_numbers", "to", "response", "status", "emoji")
_TEXTS = ("title", "subject", "content", "body")
_LISTS = ("message_ids", "email_ids", "event_ids", "contact_ids")


def clean(text: str) -> str:
    """A text on one line, without control, formatting and surrogate characters (Unicode categories C*)."""
    spaced = "".join(" " if character.isspace() else character for character in text)
    return " ".join("".join(c for c in spaced if not unicodedata.category(c).startswith("C")).split())


def shorten(text: str, longest: int = _LONGEST_TEXT) -> str:
    """A clean text, cut where it is longer than ``longest`` characters."""
    text = clean(text)
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: ``1 turn``, ``2 turns``."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def phrases(actions: Sequence[ActionObservedUpdate]) -> list[str]:
    """Put actions in few words: one phrase for each kind, in order of appearance, with a count for each target."""
    kinds: dict[tuple[str, bool], dict[str, list[ActionObservedUpdate]]] = {}
    for action in actions:
        targets = kinds.setdefault((clean(action.action), action.success), {})
        targets.setdefault(_target(action.parameters), []).append(action)
    return [_phrase(name, success, targets) for (name, success), targets in kinds.items()]


def _phrase(name: str, success: bool, targets: Mapping[str, Sequence[ActionObservedUpdate]]) -> str:
    told = []
    for target, group in targets.items():
        count = sum(_things(action.parameters) for action in group)
        words = [str(count)] if count > 1 or len(targets) > 1 else []
        words += [f"→ {target}"] if target else []
        if count == 1 and len(targets) == 1 and (text := _text(group[0].parameters)):
            words.append(f"“{text}”")
        told.append(" ".join(words))
    phrase = f"{name} {', '.join(told)}".strip()
    if not success:
        first = next(iter(targets.values()))[0]
        phrase += f" failed ({shorten(first.error_message or 'no reason given', 60)})"
    return phrase


def _things(parameters: Mapping[str, JsonValue]) -> int:
    """How many things an action is about: the length of its list of ids, else one."""
    for name in _LISTS:
        ids = parameters.get(name)
        if isinstance(ids, list):
            return len(ids)
    return 1


def _target(parameters: Mapping[str, JsonValue]) -> str:
    for name in _TARGETS:
        if target := _plain(parameters.get(name)):
            return shorten(target)
    return ""


def _text(parameters: Mapping[str, JsonValue]) -> str:
    return next((shorten(text) for name in _TEXTS if isinstance(text := parameters.get(name), str) and text), "")


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return ""
