"""JSON Lines of an archive entry, and updates as workflows hand them on."""

import base64
from collections.abc import Iterable

from pydantic import BaseModel
from temporalio import activity
from temporalio.api.common.v1 import Payload

from proctor_protocol.archive import ArchivedUpdate
from proctor_protocol.updates import RECORDED_AT


def as_lines(records: Iterable[BaseModel]) -> bytes:
    return b"".join(record.model_dump_json().encode() + b"\n" for record in records)


def updates_in(items: Iterable[str]) -> list[ArchivedUpdate]:
    """The items of an update stream, from their payloads."""
    converter = activity.payload_converter()
    lines = []
    for sequence, item in enumerate(items):
        payload = Payload.FromString(base64.b64decode(item))
        at = payload.metadata.get(RECORDED_AT)
        lines.append(
            ArchivedUpdate(
                sequence=sequence,
                recorded_at=at.decode() if at else None,
                data=converter.from_payload(payload, dict),
            )
        )
    return lines
