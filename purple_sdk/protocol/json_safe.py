"""Conversion of untrusted texts and data to forms that JSON, UTF-8 and databases accept."""

import dataclasses
import math
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import date, time, timedelta
from enum import Enum
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, JsonValue

from purple_sdk.protocol.durations import format_iso8601_duration

DEEPEST = 30
"""How many levels of data ``json_safe`` keeps. A2A is built on protobuf, which has room for some 50."""
LONGEST_SENTENCE = 4_000
"""The most characters of a sentence about a failure. It is logged at each attempt, and Temporal refuses megabytes."""

_LARGEST_INTEGER = 2**53

_DEEPEST_READ = 100
"""The most levels of JSON that every reader accepts, even inside another document. pydantic's reader stops at 200."""
_STRING = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?', re.DOTALL)
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_OTHER_BYTES = bytes(set(range(256)) - set(b"[]{}"))


def json_safe(value: Any, depth: int = 0) -> JsonValue:
    """Convert any value to JSON data with the same meaning.

    Times become ISO 8601, sets sorted lists, decimals and fractions numbers, models and dataclasses objects. Integers
    past 2^53, NaN, infinities and anything else become text. Nesting past 30 levels is cut.
    """
    if depth > DEEPEST:
        return "…"
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return json_safe(value.value, depth + 1)
    if isinstance(value, str):
        return json_safe_text(value)
    if isinstance(value, int):
        return int(value) if abs(value) <= _LARGEST_INTEGER else str(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return format_iso8601_duration(value)
    return _container(value, depth)


def _container(value: Any, depth: int) -> JsonValue:
    if isinstance(value, BaseModel):
        return json_safe(dict(value), depth + 1)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return json_safe(fields, depth + 1)
    if isinstance(value, Mapping):
        return {_key(key): json_safe(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, AbstractSet):
        members = [json_safe(member, depth + 1) for member in value]
        return sorted(members, key=lambda member: (type(member).__name__, str(member)))
    if isinstance(value, list | tuple):
        return [json_safe(member, depth + 1) for member in value]
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    return _number_or_text(value)


def _key(key: Any) -> str:
    safe = json_safe(key)
    return safe if isinstance(safe, str) else str(key)


def _number_or_text(value: Any) -> JsonValue:
    # Decimal, Fraction and numpy's numbers can all be converted to float.
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return json_safe_text(str(value))
    return number if math.isfinite(number) else str(value)


def json_safe_text(text: str) -> str:
    """Replace lone surrogates in a text, which UTF-8 can't carry."""
    return str(text).encode("utf-8", "replace").decode("utf-8")


def storable_text(text: str, most: int) -> str:
    """Return a text that any store accepts: at most ``most`` characters, and a note on how many were cut."""
    kept = json_safe_text(text[:most]).replace("\0", "\ufffd")
    return kept if len(text) <= most else f"{kept}… ({len(text) - most:,} more characters)"


Sentence = Annotated[str, AfterValidator(lambda text: storable_text(text, LONGEST_SENTENCE))]
"""A field for an untrusted sentence. It is cut on input, which also protects callers outside of activities."""


def count_values(written: bytes) -> int:
    """Estimate the number of values in JSON by the separators outside of strings; never too low."""
    bare = _STRING.sub(b"", written)
    return 1 + sum(map(bare.count, (b",", b"[", b"{")))


def is_too_deep(written: bytes) -> bool:
    """Tell whether JSON has more levels than all its readers accept; takes time in proportion to its length."""
    if written.count(b"[") + written.count(b"{") <= _DEEPEST_READ:
        return False
    brackets = _STRING.sub(b"", written).translate(_BRACKETS, _OTHER_BYTES)
    for _ in range(_DEEPEST_READ):
        brackets = brackets.replace(b"[]", b"")
    return bool(brackets)
