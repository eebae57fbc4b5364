"""The base of every model that crosses the wire."""

from datetime import UTC, datetime
from functools import cached_property
from typing import Annotated, Any, Generic, TypeVar, get_args

from pydantic import VERSION, AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

T = TypeVar("T")


WHEN_USED = tuple(map(int, VERSION.split(".")[:2])) >= (2, 14)
"""``defer_build`` of models: building all of them takes a good part of a process's start, and most processes use few.
Not with an earlier pydantic, where two threads that are the first to use a model disturb each other.
"""


class WireModel(BaseModel):
    """A frozen message; unknown fields are ignored, so that either side may be newer."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", ser_json_inf_nan="null", validate_default=True, defer_build=WHEN_USED
    )


def _assume_utc(value: datetime) -> datetime:
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)


Instant = Annotated[datetime, AfterValidator(_assume_utc)]
"""An instant; a naive one is read as UTC, as the simulator reads it (UES contract, ground rules)."""


Int64 = Annotated[int, Field(ge=-(2**63), lt=2**63)]
"""A whole number that tables and databases can hold."""


OfRole = Annotated[str | None, Field(exclude_if=lambda role: role is None)]
"""A role, in what may be of one of several participants; left out where there is one participant."""


class UnknownMessageTypeError(ValueError):
    """A document whose ``message_type`` is missing or not one of those expected here."""


class ByMessageType(Generic[T]):
    """Reads documents that are one of several models, which their ``message_type`` tells apart.

    Args:
        models: a union of models, each with a ``message_type`` of its own as default.
    """

    def __init__(self, models: Any) -> None:
        self._models = models
        self._types = ", ".join(model.model_fields["message_type"].default for model in get_args(models))

    @cached_property
    def _adapter(self) -> TypeAdapter[T]:
        either: Any = Annotated[self._models, Field(discriminator="message_type")]
        return TypeAdapter(either)

    def read(self, data: dict[str, Any]) -> T:
        """Read one.

        Raises:
            UnknownMessageTypeError: its ``message_type`` is missing or names none of the models.
            pydantic.ValidationError: the fields don't fit that model; every location begins with the type.
        """
        try:
            return self._adapter.validate_python(data)
        except ValidationError as problem:
            if not problem.errors()[0]["type"].startswith("union_tag_"):
                raise
            message_type = data.get("message_type")
            raise UnknownMessageTypeError(f"message_type is {message_type!r}: expected one of {self._types}") from None
