"""Restore integers in A2A data parts, which are protobuf Structs and so have only doubles."""

from typing import Any


def restore_integers(value: Any) -> Any:
    """Turn every integral float (``1.0``) in JSON data into an integer, at any depth."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
        return int(value)
    if isinstance(value, dict):
        return {key: restore_integers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [restore_integers(item) for item in value]
    return value
