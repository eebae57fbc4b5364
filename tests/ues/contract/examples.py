"""Values that fit a schema, made up from the schema alone and a few words on what a field of that name holds."""

from typing import Any

from tests.ues.contract.compare import Schema

TIME = "2030-01-02T03:04:05+00:00"

BY_NAME: dict[str, Any] = {
    "modality": "chat",
    "data": {"operation": "send_message", "role": "user", "content": "Hello"},
    "default_calendar_id": "the-calendar_id",
    "email": "ann@example.com",
    "from_address": "ann@example.com",
    "to_addresses": ["ben@example.com"],
    "cc_addresses": ["cas@example.com"],
    "bcc_addresses": ["dan@example.com"],
    "reply_to_address": "ann@example.com",
    "user_email_address": "user@example.com",
    "user_phone_number": "+15550000000",
    "from_number": "+15551110001",
    "to_numbers": ["+15550000000"],
    "phone_number": "+15551110001",
    "participant_numbers": ["+15551110001"],
    "timezone": "Europe/Berlin",
    "end_date": "2031-01-01",
    "birthday": "2000-01-01",
    "current_time": TIME,
    "reset_time_to": TIME,
    "target_time": TIME,
    "end": "2030-01-02T04:04:05+00:00",
}
"""What a field of that name holds where any text wouldn't do."""

PYTHON = {"string": "str", "array": "list", "object": "dict"}


def text(name: str) -> str:
    """Some text. Ids of one kind are all alike, so that what refers to something finds it."""
    return f"the-{name}" if name.endswith("_id") else f"Some {name}"


def number(schema: Schema, *, whole: bool) -> float:
    """A number within the schema's bounds."""
    plain = schema.plain
    least = plain.get("minimum", plain.get("exclusiveMinimum", 0))
    value = plain.get("maximum", least + 2)
    return int(min(value, least + 2)) if whole else min(value, least + 2) - 0.5


def example(schema: Schema, name: str = "", *, full: bool = True) -> Any:
    """A value of the schema; ``full`` with every optional field, else with the required ones only."""
    plain = schema.plain
    if name == "modality_type" and "default" in plain:
        return plain["default"]
    if name in BY_NAME and type(BY_NAME[name]).__name__ == PYTHON.get(plain.get("type", ""), ""):
        return BY_NAME[name]
    if "enum" in plain:
        return plain["enum"][0]
    if "anyOf" in plain:
        return example(schema.choices[0], name, full=full)
    kind = plain.get("type")
    if kind == "object":
        return _object(schema, name, full=full)
    if kind == "array":
        items = schema.inner("items")
        return [example(items, name.removesuffix("s"), full=full)] if items else ["x"]
    if kind in ("integer", "number"):
        return number(schema, whole=kind == "integer")
    if kind == "boolean":
        return plain.get("default", False)
    if kind == "string":
        return {"date-time": TIME, "date": "2030-01-02"}.get(plain.get("format", ""), text(name))
    return "anything"


def _object(schema: Schema, name: str, *, full: bool) -> dict[str, Any]:
    properties = schema.properties
    if properties:
        wanted = properties if full else schema.required
        return {field: example(properties[field], field, full=full) for field in properties if field in wanted}
    inner = schema.inner("additionalProperties")
    if inner is None:
        return {"some": "thing"}
    value = example(inner, name.removesuffix("s"), full=full)
    # Entries stand under their own id, which is the first of their fields.
    first: tuple[str, Any] = next(iter(value.items())) if isinstance(value, dict) else ("", None)
    return {first[1] if first[0].endswith("_id") else text(name): value}
