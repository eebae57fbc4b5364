"""Instants. Inside the simulator an instant is text: ISO 8601, in UTC, as ``datetime.isoformat`` writes it.

Because every instant is in UTC and written alike, comparing two texts compares the instants, so that stored data can
be sorted and filtered without parsing. ``Instant`` is the pydantic type that turns what a caller sends into this form.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, NamedTuple
from zoneinfo import ZoneInfo

from pydantic import GetPydanticSchema
from pydantic_core import PydanticCustomError, PydanticKnownError, core_schema

from proctor.ues.problems import Impossible


def to_text(moment: datetime) -> str:
    """The canonical text of an instant; a naive one is read as UTC. Raises OverflowError outside years 1 to 9999."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).isoformat()


def from_text(text: str) -> datetime:
    return datetime.fromisoformat(text)


def zone(name: str) -> ZoneInfo | None:
    """The time zone of that IANA name (``Europe/Berlin``); None when there is none."""
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        # Besides unknown names: names that are folders, leave the database's folder, or are no file name at all.
        return None


def wall_now() -> datetime:
    """The wall clock, in UTC. Used for keys, holds, logs and auto-advance; never for what happens in a simulation."""
    return datetime.now(UTC)


def wall_text() -> str:
    return datetime.now(UTC).isoformat()


def shift(moment: datetime, seconds: float) -> datetime:
    """``moment`` plus ``seconds``. Raises Impossible (400) when that lies outside the years 1 to 9999."""
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        raise Impossible(
            f"{to_text(moment)} plus {seconds:g} seconds lies outside the years 1 to 9999; choose a smaller step."
        ) from None


class Years(NamedTuple):
    """The first and the last year that an instant may lie in. As the context of a validation: in which all must lie."""

    first: int
    last: int

    def refuse_others(self, text: str) -> None:
        """Raise pydantic's error for an instant or a date, as canonical text, that lies outside."""
        if not self.first <= int(text[:4]) <= self.last:
            raise PydanticCustomError(
                "datetime_range",
                "Input should lie within the years {first} to {last}",
                {"first": self.first, "last": self.last},
            )


def _canonical(
    value: Any, read: core_schema.ValidatorFunctionWrapHandler, info: core_schema.ValidationInfo[Any]
) -> str:
    """Canonical text of what a caller sent. Numbers, which pydantic would read as Unix time, are refused."""
    if isinstance(value, str):
        if value.strip().lstrip("+-").replace(".", "", 1).isdigit():
            raise PydanticCustomError("datetime_parsing", "Input should be a valid ISO 8601 date-time")
    elif not isinstance(value, datetime):
        raise PydanticKnownError("datetime_type")
    try:
        text = to_text(read(value))
    except OverflowError:
        raise PydanticCustomError("datetime_range", "Input should lie within the years 1 to 9999 in UTC") from None
    if isinstance(info.context, Years):
        info.context.refuse_others(text)
    return text


Instant = Annotated[
    str,
    GetPydanticSchema(
        lambda _source, _handler: core_schema.with_info_wrap_validator_function(
            _canonical, core_schema.datetime_schema(), serialization=core_schema.simple_ser_schema("str")
        )
    ),
]
"""An ISO 8601 date-time in a request; held as canonical text. A naive one is read as UTC."""


def parse(text: Any) -> str:
    """Canonical text of a date-time given as a plain string. Raises ValueError with a sentence."""
    try:
        return to_text(datetime.fromisoformat(text))
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{str(text)[:80]!r} is not an ISO 8601 date-time such as 2025-01-31T09:00:00+00:00") from None
