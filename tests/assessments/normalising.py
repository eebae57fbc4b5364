"""A result without what two equal assessments may differ in: ids and wall-clock times."""

import re
from typing import Any

from purple_sdk.protocol.results import AssessmentResults

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def normalised(results: AssessmentResults) -> dict[str, Any]:
    """The result as JSON data, without ids, durations and provenance, its UUIDs numbered as they come.

    Numbering keeps what matters about ids: that two places speak of the same thing.
    """
    data = results.model_dump(mode="json", exclude={"assessment_id", "duration_seconds", "provenance"})
    seen: dict[str, str] = {}
    return {key: _numbered(value, seen) for key, value in data.items()}


def _numbered(value: Any, seen: dict[str, str]) -> Any:
    if isinstance(value, str):
        return _UUID.sub(lambda found: seen.setdefault(found[0], f"id-{len(seen)}"), value)
    if isinstance(value, list):
        return [_numbered(member, seen) for member in value]
    if isinstance(value, dict):
        return {_numbered(key, seen): _numbered(member, seen) for key, member in value.items()}
    return value
