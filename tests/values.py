"""Values that may be missing by their type, where a test knows that they are there."""

from typing import TypeVar

T = TypeVar("T")


def expect(value: T | None) -> T:
    """Return a value that must be there."""
    assert value is not None
    return value
