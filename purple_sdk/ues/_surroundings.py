"""Endpoints for contacts, location and weather."""

from collections.abc import Sequence
from typing import Literal

from purple_sdk.ues import _call as wire
from purple_sdk.ues._call import Room, Runner
from purple_sdk.ues._control import Time
from purple_sdk.ues._messages import Item, Order
from purple_sdk.ues.answers import ActionResult, json_object


class ContactsRoom(Room[Runner]):
    """The user's address book, ``/contacts``."""

    @wire.get("/contacts/state", json_object)
    def get_state(self, *, compact: bool | None = None) -> None:
        """Read all contacts."""

    @wire.get("/contacts/get", json_object)
    def get(self, contact_id: str) -> None:
        """Read one contact by its id (proctor's simulator only)."""

    @wire.query("/contacts/query", json_object)
    def query(
        self,
        *,
        search_text: str | None = None,
        group: str | None = None,
        is_favorite: bool | None = None,
        is_blocked: bool | None = None,
        has_phone: bool | None = None,
        has_email: bool | None = None,
        identifier_type: str | None = None,
        identifier_value: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        sort_by: str | None = None,
        sort_order: Order | None = None,
    ) -> None:
        """Find contacts."""

    @wire.post("/contacts/create", ActionResult.read)
    def create(
        self,
        *,
        first_name: str | None = None,
        last_name: str | None = None,
        display_name: str | None = None,
        nickname: str | None = None,
        identifiers: Sequence[Item] | None = None,
        company: str | None = None,
        job_title: str | None = None,
        addresses: Sequence[Item] | None = None,
        birthday: str | None = None,
        notes: str | None = None,
        photo_url: str | None = None,
        is_favorite: bool | None = None,
        is_blocked: bool | None = None,
        groups: Sequence[str] | None = None,
        contact_id: str | None = None,
    ) -> None:
        """Make a contact; an identifier is ``{identifier_type: phone|email|..., value, label}``."""

    @wire.post("/contacts/update", ActionResult.read)
    def update(
        self,
        *,
        contact_id: str,
        first_name: str | None = None,
        last_name: str | None = None,
        display_name: str | None = None,
        nickname: str | None = None,
        identifiers: Sequence[Item] | None = None,
        add_identifiers: Sequence[Item] | None = None,
        remove_identifiers: Sequence[Item | str] | None = None,
        company: str | None = None,
        job_title: str | None = None,
        addresses: Sequence[Item] | None = None,
        add_addresses: Sequence[Item] | None = None,
        remove_addresses: Sequence[Item] | None = None,
        birthday: str | None = None,
        notes: str | None = None,
        photo_url: str | None = None,
        is_favorite: bool | None = None,
        is_blocked: bool | None = None,
        groups: Sequence[str] | None = None,
        add_groups: Sequence[str] | None = None,
        remove_groups: Sequence[str] | None = None,
    ) -> None:
        """Change the fields that are given: a list is replaced, or changed with ``add_...`` and ``remove_...``."""

    @wire.post("/contacts/delete", ActionResult.read)
    def delete(self, contact_id: str) -> None:
        """Delete a contact."""

    @wire.post("/contacts/block", ActionResult.read)
    def block(self, contact_id: str) -> None:
        """Block a contact."""

    @wire.post("/contacts/unblock", ActionResult.read)
    def unblock(self, contact_id: str) -> None:
        """Unblock a contact."""

    @wire.post("/contacts/favorite", ActionResult.read)
    def favorite(self, contact_id: str) -> None:
        """Make a contact a favourite."""

    @wire.post("/contacts/unfavorite", ActionResult.read)
    def unfavorite(self, contact_id: str) -> None:
        """Make a contact no favourite."""

    @wire.post("/contacts/group/add", ActionResult.read)
    def group_add(self, *, contact_id: str, group: str) -> None:
        """Put a contact into a group."""

    @wire.post("/contacts/group/remove", ActionResult.read)
    def group_remove(self, *, contact_id: str, group: str) -> None:
        """Take a contact out of a group."""

    @wire.post("/contacts/merge", ActionResult.read)
    def merge(self, *, primary_contact_id: str, secondary_contact_id: str) -> None:
        """Move what the primary contact lacks over from the other, and delete that one."""


class LocationRoom(Room[Runner]):
    """Where the user is and was, ``/location``."""

    @wire.get("/location/state", json_object)
    def get_state(self, *, compact: bool | None = None) -> None:
        """Read the current place and the history."""

    @wire.query("/location/query", json_object)
    def query(
        self,
        *,
        since: Time | None = None,
        until: Time | None = None,
        named_location: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        include_current: bool | None = None,
        sort_by: str | None = None,
        sort_order: str | None = None,
    ) -> None:
        """Find places: ``{locations, count, total_count}``."""

    @wire.post("/location/update", ActionResult.read)
    def update(
        self,
        *,
        latitude: float,
        longitude: float,
        address: str | None = None,
        named_location: str | None = None,
        altitude: float | None = None,
        accuracy: float | None = None,
        speed: float | None = None,
        bearing: float | None = None,
    ) -> None:
        """Move the user (evaluator only); degrees, metres, metres a second."""


class WeatherRoom(Room[Runner]):
    """The weather at some places, ``/weather``."""

    @wire.get("/weather/state", json_object)
    def get_state(self, *, compact: bool | None = None) -> None:
        """Read all reports."""

    @wire.query("/weather/query", json_object)
    def query(
        self,
        *,
        lat: float,
        lon: float,
        exclude: Sequence[str] | None = None,
        units: Literal["standard", "metric", "imperial"] | None = None,
        from_time: int | None = None,
        to_time: int | None = None,
        real: bool | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> None:
        """Find reports for a place; ``from_time`` and ``to_time`` are Unix seconds."""

    @wire.post("/weather/update", ActionResult.read)
    def update(self, *, latitude: float, longitude: float, report: Item) -> None:
        """Set the weather at a place (evaluator only)."""
