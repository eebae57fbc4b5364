"""The address book's shapes: state, input, requests and answers."""

from typing import Annotated, Literal

from pydantic import AliasChoices, Field, model_validator

from proctor.ues.schema import InputModel, Int, QueryRequest, Record, Request, Response, StateModel, nullable
from proctor.ues.times import Instant


class Identifier(Record):
    """A way to reach a contact: ``identifier_type`` is ``phone``, ``email`` or something of the user's own."""

    identifier_type: Annotated[str, Field(min_length=1)] = Field(description="phone, email or another kind.")
    value: Annotated[str, Field(min_length=1)] = Field(description="The phone number or email address.")
    label: str | None = nullable("Such as work or home.")


class Address(Record):
    """A postal address."""

    street: str | None = nullable("Street and number.")
    city: str | None = nullable("City.")
    state: str | None = nullable("State or region.")
    postal_code: str | None = nullable("Postal code.")
    country: str | None = nullable("Country.")
    label: str | None = nullable("Such as home or work.")


class Contact(Record):
    """Somebody in the address book."""

    contact_id: str = ""
    first_name: str | None = None
    last_name: str | None = None
    display_name: str | None = None
    nickname: str | None = None
    identifiers: list[Identifier] = Field(default_factory=list)
    company: str | None = None
    job_title: str | None = None
    addresses: list[Address] = Field(default_factory=list)
    birthday: str | None = None
    notes: str | None = None
    photo_url: str | None = None
    is_favorite: bool = False
    is_blocked: bool = False
    groups: list[str] = Field(default_factory=list)
    created_at: Instant | None = None
    updated_at: Instant | None = None


class ContactsState(StateModel):
    """The address book under ``modality_states``."""

    modality_type: str = "contacts"
    contacts: dict[str, Contact] = Field(default_factory=dict)


class _Details(Request):
    """What a contact consists of; a field that is left out is empty on creation and stays as it is on update."""

    first_name: str | None = nullable("Given name.")
    last_name: str | None = nullable("Family name.")
    display_name: str | None = nullable("Name as shown in lists; made from the others by default.")
    nickname: str | None = nullable("Nickname.")
    identifiers: list[Identifier] | None = nullable("Phone numbers and email addresses.")
    company: str | None = nullable("Employer.")
    job_title: str | None = nullable("Position.")
    addresses: list[Address] | None = nullable("Postal addresses.")
    birthday: str | None = nullable("Date, such as 1980-05-17.")
    notes: str | None = nullable("Free text.")
    photo_url: str | None = nullable("Address of a picture.")
    is_favorite: bool | None = nullable("Whether the contact is a favorite.")
    is_blocked: bool | None = nullable("Whether messages of this contact go to spam.")
    groups: list[str] | None = nullable("Names of the groups that the contact belongs to.")


class CreateContactRequest(_Details):
    """What ``POST /contacts/create`` takes: a name, a company or an address at the least. Without ``contact_id`` one is
    made.
    """

    contact_id: Annotated[str, Field(min_length=1)] | None = nullable("Id to use; made by the simulator when left out.")

    @model_validator(mode="after")
    def _is_somebody(self) -> "CreateContactRequest":
        names = (self.first_name, self.last_name, self.display_name, self.nickname, self.company)
        if not any(names) and not self.identifiers:
            raise ValueError("a contact needs a name, a company or an identifier")
        return self


class UpdateContactRequest(_Details):
    """What ``POST /contacts/update`` takes: a list replaces the contact's, ``add_`` and ``remove_`` change it.

    An identifier to be removed may be named by its value alone.
    """

    contact_id: str = Field(description="Id of the contact to change.")
    add_identifiers: list[Identifier] | None = nullable("Phone numbers and email addresses to add.")
    remove_identifiers: list[Identifier | str] | None = nullable(
        "Phone numbers and email addresses to remove, by value."
    )
    add_addresses: list[Address] | None = nullable("Postal addresses to add.")
    remove_addresses: list[Address] | None = nullable("Postal addresses to remove.")
    add_groups: list[str] | None = nullable("Groups to join.")
    remove_groups: list[str] | None = nullable("Groups to leave.")


class ContactRequest(Request):
    """What the actions on one contact as a whole take."""

    contact_id: str


class ContactGroupRequest(Request):
    """What ``POST /contacts/group/add`` and ``/contacts/group/remove`` take."""

    contact_id: str
    group: Annotated[str, Field(min_length=1)]


class MergeContactsRequest(Request):
    """What ``POST /contacts/merge`` takes: the primary contact stays, the secondary one is deleted."""

    primary_contact_id: str
    secondary_contact_id: str


class ContactsInput(InputModel, UpdateContactRequest):
    """An event's ``data`` for the address book."""

    modality_type: str = "contacts"
    operation: Literal[
        "create",
        "update",
        "delete",
        "block",
        "unblock",
        "favorite",
        "unfavorite",
        "add_to_group",
        "remove_from_group",
        "merge",
    ]
    contact_id: str | None = Field(  # type: ignore[assignment]
        default=None, validation_alias=AliasChoices("contact_id", "primary_contact_id")
    )
    group: str | None = None
    secondary_contact_id: str | None = None

    @model_validator(mode="after")
    def _has_what_its_operation_needs(self) -> "ContactsInput":
        if self.operation != "create" and not self.contact_id:
            raise ValueError(f"{self.operation} needs contact_id")
        if self.operation in ("add_to_group", "remove_from_group") and not self.group:
            raise ValueError(f"{self.operation} needs group")
        if self.operation == "merge" and not self.secondary_contact_id:
            raise ValueError("merge needs secondary_contact_id")
        return self


class ContactsQueryRequest(QueryRequest):
    """What ``POST /contacts/query`` takes; ``search_text`` looks in names, company, notes and identifiers."""

    search_text: str | None = nullable("Text in a name, company, note, phone number or email address, in any case.")
    group: str | None = nullable("Name of a group.")
    is_favorite: bool | None = nullable("true for favorites only, false for the others.")
    is_blocked: bool | None = nullable("true for blocked contacts only, false for the others.")
    has_phone: bool | None = nullable("true for contacts with a phone number only, false for the others.")
    has_email: bool | None = nullable("true for contacts with an email address only, false for the others.")
    identifier_type: str | None = nullable("phone, email or another kind.")
    identifier_value: str | None = nullable("A phone number or email address, in any spelling.")
    sort_by: Literal["display_name", "first_name", "last_name", "company", "created_at", "updated_at"] | None = (
        nullable("display_name, first_name, last_name, company, created_at or updated_at.")
    )
    sort_order: Literal["asc", "desc"] | None = Field(default="asc", description="asc or desc.")


class ContactsStateResponse(Response):
    """What ``GET /contacts/state`` answers. Compact, a contact is its name and identifiers, and
    those are shown that were changed last, as many as fit into some 20 kB.
    """

    modality_type: str = "contacts"
    current_time: Instant
    contacts: dict[str, Contact]
    groups: list[str]
    total_contact_count: Int
    favorite_count: Int
    blocked_count: Int
