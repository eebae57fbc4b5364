"""Updates are for reading along: long values are cut there, the action log keeps them whole."""

from pydantic import JsonValue

_LONGEST_TEXT = 400
_LONGEST_LIST = 20


def trimmed(value: JsonValue) -> JsonValue:
    """JSON data with long texts and lists cut, saying how much is missing."""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_TEXT else f"{value[:_LONGEST_TEXT]}… ({len(value)} characters)"
    if isinstance(value, list):
        kept = [trimmed(item) for item in value[:_LONGEST_LIST]]
        return kept if len(kept) == len(value) else [*kept, f"… ({len(value)} items)"]
    if isinstance(value, dict):
        return {key: trimmed(item) for key, item in value.items()}
    return value
