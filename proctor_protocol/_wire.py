"""The base of every model that crosses the wire."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict


class WireModel(BaseModel):
    """A frozen message; unknown fields are ignored, so that either side may be newer."""

    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_inf_nan="null", validate_default=True)


def _assume_utc(value: datetime) -> datetime:
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)


Instant = Annotated[datetime, AfterValidator(_assume_utc)]
"""A point in time; a naive one is read as UTC, as the simulator reads it (UES contract, ground rules)."""
