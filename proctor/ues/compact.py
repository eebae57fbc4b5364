"""Make compact states for a model's context: counts and the newest records, with a bounded size."""

from collections.abc import Iterable
from typing import Any

import orjson

from proctor.ues.schema import JsonObject

LONGEST_TEXT, MOST_ITEMS, MOST_FIELDS = 200, 10, 40
"""The most characters of a text, entries of a list and fields of an object in a shortened record."""

MOST_LOOKED_AT = 200
"""The most records that are considered for a compact state."""


def shorten(value: Any) -> Any:
    """Return JSON data with long texts, lists and objects cut at their ends."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST_TEXT else f"{value[:LONGEST_TEXT]}…"
    if isinstance(value, list):
        return [shorten(item) for item in value[:MOST_ITEMS]]
    if isinstance(value, dict):
        return {shorten(name): shorten(value[name]) for name in list(value)[:MOST_FIELDS]}
    return value


def fit(records: Iterable[tuple[str, Any]], room: int) -> JsonObject:
    """Return the first records by name, each shortened, as long as they fit into ``room`` bytes of JSON."""
    kept: JsonObject = {}
    for number, (name, record) in enumerate(records):
        short = shorten(record)
        room -= len(orjson.dumps({name: short}))
        if room < 0 or number == MOST_LOOKED_AT:
            break
        kept[name] = short
    return kept


def fit_list(items: Iterable[Any], room: int) -> list[Any]:
    return list(fit(((str(number), item) for number, item in enumerate(items)), room).values())
