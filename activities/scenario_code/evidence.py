"""The evidence of an assessment in its stored form. Reading it puts its parts back in place."""

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
    """Return the parts of a record (``JudgeRecord`` as JSON); None if the record is whole."""
    listed = from_json(record).get("parts")
    return InParts(contents, listed, "the evidence") if listed else None


def read_record(contents: Contents, record: bytes) -> JudgeRecord:
    """Read a record with all of its parts. Callers must not run an event loop. Raises the errors of ``InParts``."""
    data = from_json(record)
    if listed := data.pop("parts", None):
        InParts(contents, listed, "the evidence").join(data)
    return JudgeRecord.model_validate(data)
