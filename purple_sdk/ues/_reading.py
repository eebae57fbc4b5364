"""Readers of the simulator's answers."""

from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict
from pydantic_core import from_json

from purple_sdk.protocol._wire import WHEN_USED

Json = dict[str, Any]

Instant = Annotated[datetime, AfterValidator(lambda time: time if time.tzinfo else time.replace(tzinfo=UTC))]
"""An aware datetime. A datetime without a zone is read as UTC, as the contract says."""


def json_object(body: bytes) -> Json:
    """Read a JSON object. Raises ValueError if the body isn't one."""
    answer = from_json(body)
    if not isinstance(answer, dict):
        raise ValueError(f"expected a JSON object, got {type(answer).__name__}")
    return answer


def raw(body: bytes) -> bytes:
    """Return a body unchanged."""
    return body


class UESAnswer(BaseModel):
    """A frozen answer; fields that a newer server adds are kept."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=WHEN_USED)

    @classmethod
    def read(cls, body: bytes) -> Self:
        """Read the answer from a body. Raises ValidationError if the body is invalid."""
        return cls.model_validate_json(body)


class ActionOutcome(UESAnswer):
    """The answer to an action; ``status`` is ``executed`` or ``failed``."""

    status: str

    @property
    def succeeded(self) -> bool:
        """Whether the action was carried out."""
        return self.status == "executed"
