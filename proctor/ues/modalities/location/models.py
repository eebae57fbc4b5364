"""Location's shapes: state, input, requests and answers. Degrees, metres, and metres a second."""

from typing import Annotated

from pydantic import Field

from proctor.ues.places import Latitude, Longitude
from proctor.ues.schema import InputModel, Int, JsonObject, Record, Request, Response, StateModel, nullable
from proctor.ues.times import Instant

DETAILS = ("latitude", "longitude", "address", "named_location", "altitude", "accuracy", "speed", "bearing")
"""What is known of a place, in the contract's order."""


class LocationHistoryEntry(Record):
    """Where the user was from ``timestamp`` on, until the next entry or the current place."""

    timestamp: Instant
    latitude: float
    longitude: float
    address: str | None = None
    named_location: str | None = None
    altitude: float | None = None
    accuracy: float | None = None
    speed: float | None = None
    bearing: float | None = None


class LocationState(StateModel):
    """Location under ``modality_states``. The user is at the current place since ``last_updated``."""

    modality_type: str = "location"
    current_latitude: float | None = None
    current_longitude: float | None = None
    current_address: str | None = None
    current_named_location: str | None = None
    current_altitude: float | None = None
    current_accuracy: float | None = None
    current_speed: float | None = None
    current_bearing: float | None = None
    location_history: list[LocationHistoryEntry] = Field(default_factory=list)
    max_history_size: Int = 100


class UpdateLocationRequest(Request):
    """The body of ``POST /location/update``. Omitted fields are unknown at the new place; old values don't stay."""

    latitude: Latitude
    longitude: Longitude
    address: str | None = None
    named_location: str | None = nullable("What the user calls the place, such as Home.")
    altitude: float | None = None
    accuracy: float | None = None
    speed: float | None = None
    bearing: float | None = None


class LocationInput(InputModel, UpdateLocationRequest):
    """An event's ``data`` for location: where the user is now."""

    modality_type: str = "location"


class LocationQueryRequest(Request):
    """What ``POST /location/query`` takes. ``since`` and ``until`` are inclusive."""

    since: Instant | None = nullable("At or after this instant (ISO 8601 with offset).")
    until: Instant | None = nullable("At or before this instant (ISO 8601 with offset).")
    named_location: str | None = nullable("The whole name of a place, in any case.")
    limit: Annotated[Int, Field(ge=1, le=1000)] | None = nullable("Most matches to return, 1 to 1000.")
    offset: Annotated[Int, Field(ge=0)] | None = Field(
        default=0, description="How many matches to leave out from the start."
    )
    include_current: bool = Field(default=True, description="Whether the current place counts as a match.")
    sort_by: str = Field(default="timestamp", description="timestamp (the default), or any detail of a place.")
    sort_order: str = Field(default="desc", description="desc or asc.")


class LocationStateResponse(Response):
    """What ``GET /location/state`` answers, the history oldest first; compact, it has none.

    ``current`` holds the details of the current place and since when (``timestamp``); all null while it is unknown.
    """

    modality_type: str = "location"
    current_time: Instant
    last_updated: Instant
    update_count: int
    current: JsonObject
    history: list[JsonObject]


class LocationQueryResponse(Response):
    """What ``POST /location/query`` answers; ``count`` and ``returned_count`` both count this page."""

    locations: list[JsonObject]
    count: int
    total_count: int
    returned_count: int
    query: JsonObject
