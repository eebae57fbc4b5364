"""The evidence of an assessment, as it is kept; where somebody reads it, what is in parts is put back."""

from pydantic import Field, JsonValue
from pydantic_core import from_json

from proctor.activities.plan import Model
from proctor.storage.parts import Contents, InParts
from purple_sdk.protocol.results import ActionLogEntryWithTurn


class JudgeRecord(Model):
    """The content of ``Evidence.record``; ``parts`` lists which states are in parts (``proctor.storage.parts``)."""

    action_log: list[ActionLogEntryWithTurn]
    turn_notes: dict[int, str]
    initial_state: dict[str, JsonValue]
    final_state: dict[str, JsonValue]
    parts: list[dict[str, JsonValue]] = Field(default_factory=list)


def parts_of_record(contents: Contents, record: bytes) -> InParts | None:
    """What of a record (``JudgeRecord`` as JSON) is in parts; None for one that is whole."""
    listed = from_json(record).get("parts")
    return InParts(contents, listed, "the evidence") if listed else None


def read_record(contents: Contents, record: bytes) -> JudgeRecord:
    """A record with all of its parts; for callers without an event loop. Raises as ``InParts``."""
    data = from_json(record)
    if listed := data.pop("parts", None):
        InParts(contents, listed, "the evidence").join(data)
    return JudgeRecord.model_validate(data)
