"""The evidence of an assessment, as it is kept; where somebody reads it, what is in parts is put back."""

from pydantic_core import from_json

from activities.plan import JudgeRecord
from activities.simulation.parts import Contents, InParts


def parts_of_record(contents: Contents, record: bytes) -> InParts | None:
    """What of a record (``JudgeRecord`` as JSON) is in parts; None for one that is whole."""
    listed = from_json(record).get("parts")
    return InParts(contents, listed, "the evidence") if listed else None


def read_record(contents: Contents, record: bytes) -> JudgeRecord:
    """A record with all of its parts; for callers without an event loop.

    Raises:
        BlobNotFoundError, BlobDamagedError: a part isn't there, or not as it was written.
    """
    data = from_json(record)
    if listed := data.pop("parts", None):
        InParts(contents, listed, "the evidence").join(data)
    return JudgeRecord.model_validate(data)
