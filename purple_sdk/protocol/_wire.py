"""The base of every model that evaluator and participants exchange."""

from datetime import UTC, datetime
from functools import cached_property
from typing import Annotated, Any, Generic, TypeVar, get_args

from pydantic import VERSION, AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

T = TypeVar("T")


WHEN_USED = tuple(map(int, VERSION.split(".")[:2])) >= (2, 14)
"""``defer_build`` of models. Building all models takes a large part of a process's start, and most processes use few
models. It is off with an earlier pydantic, where two threads disturb each other if both use a model for the first time.
"""


class WireModel(BaseModel):
    """A frozen message. Unknown fields are ignored, so either side may be newer."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", ser_json_inf_nan="null", validate_default=True, defer_build=WHEN_USED
    )


def _assume_utc(value: datetime) -> datetime:
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)


Instant = Annotated[datetime, AfterValidator(_assume_utc)]
"""An instant. A time without a zone is read as UTC, as in the simulator (UES contract, ground rules)."""


Int64 = Annotated[int, Field(ge=-(2**63), lt=2**63)]
"""A whole number that tables and databases can hold."""


OfRole = Annotated[str | None, Field(exclude_if=lambda role: role is None)]
"""The role that an item belongs to, among several participants; left out if there is only one participant."""


class UnknownMessageTypeError(ValueError):
    """A document whose ``message_type`` is missing or not one of the expected types."""


class ByMessageType(Generic[T]):
    """A reader of documents that are one of several models, chosen by their ``message_type``.

    Args:
        models: a union of models; each has its own ``message_type`` as default.
    """

    def __init__(self, models: Any) -> None:
        self._models = models
        self._types = ", ".join(model.model_fields["message_type"].default for model in get_args(models))

    @cached_property
    def _adapter(self) -> TypeAdapter[T]:
        either: Any = Annotated[self._models, Field(discriminator="message_type")]
        return TypeAdapter(either)

    def read(self, data: dict[str, Any]) -> T:
        """Read a document.

        Raises:
                UnknownMessageTypeError: ``message_type`` is missing or names none of the models.
                pydantic.ValidationError: the fields don't fit the model; every location begins with the type.
        """
        try:
            return self._adapter.validate_python(data)
        except ValidationError as error:
            if not error.errors()[0]["type"].startswith("union_tag_"):
                raise
            message_type = data.get("message_type")
            raise UnknownMessageTypeError(f"message_type is {message_type!r}: expected one of {self._types}") from None
