"""How the address book is shown and searched."""

from heapq import nlargest
from typing import Any

from proctor.ues.compact import MOST_LOOKED_AT, fit, fit_list
from proctor.ues.modalities.contacts.models import ContactsQueryRequest
from proctor.ues.modality import State, StateParams, View, page
from proctor.ues.people import e164_like, same_address
from proctor.ues.schema import JsonObject

COMPACT_FIELDS = ("contact_id", "display_name", "identifiers", "is_favorite", "is_blocked", "groups")
SEARCHED = ("first_name", "last_name", "display_name", "nickname", "company", "job_title", "notes")

Contact = dict[str, Any]


def show(view: View, params: StateParams) -> JsonObject:
    contacts, groups = view.state["contacts"], _groups(view.state)
    shown = contacts
    if params.compact:
        newest = nlargest(MOST_LOOKED_AT, contacts.items(), key=lambda item: item[1]["updated_at"])
        shown = fit(((key, {name: contact[name] for name in COMPACT_FIELDS}) for key, contact in newest), 15_000)
        groups = fit_list(groups, 3_000)
    return {
        "modality_type": "contacts",
        "current_time": view.now,
        "contacts": shown,
        "groups": groups,
        "total_contact_count": len(contacts),
        "favorite_count": sum(contact["is_favorite"] for contact in contacts.values()),
        "blocked_count": sum(contact["is_blocked"] for contact in contacts.values()),
    }


def _groups(state: State) -> list[str]:
    return sorted({group for contact in state["contacts"].values() for group in contact["groups"]})


def query(view: View, request: ContactsQueryRequest) -> JsonObject:
    field = request.sort_by or "display_name"
    matches = [contact for contact in view.state["contacts"].values() if _matches(contact, request)]
    matches.sort(key=lambda contact: (contact[field] or "").lower(), reverse=request.sort_order == "desc")
    return page(matches, request, "contacts", "contacts")


def _matches(contact: Contact, request: ContactsQueryRequest) -> bool:
    kinds = {identifier["identifier_type"] for identifier in contact["identifiers"]}
    return (
        (request.search_text is None or _mentions(contact, request.search_text.lower()))
        and (request.group is None or request.group in contact["groups"])
        and (request.is_favorite is None or contact["is_favorite"] == request.is_favorite)
        and (request.is_blocked is None or contact["is_blocked"] == request.is_blocked)
        and (request.has_phone is None or ("phone" in kinds) == request.has_phone)
        and (request.has_email is None or ("email" in kinds) == request.has_email)
        and _is_reached(contact, request.identifier_type, request.identifier_value)
    )


def _mentions(contact: Contact, text: str) -> bool:
    values = [contact[name] for name in SEARCHED] + [identifier["value"] for identifier in contact["identifiers"]]
    if any(text in value.lower() for value in values if value):
        return True
    digits = e164_like(text)
    if digits == text:
        return False
    numbers = [i["value"] for i in contact["identifiers"] if i["identifier_type"] == "phone"]
    return any(digits in number for number in numbers)


def _is_reached(contact: Contact, kind: str | None, value: str | None) -> bool:
    if kind is None and value is None:
        return True
    return any(
        kind in (None, identifier["identifier_type"])
        and (value is None or same_address(identifier["identifier_type"], identifier["value"], value))
        for identifier in contact["identifiers"]
    )


def digest(view: View) -> JsonObject:
    contacts = view.state["contacts"].values()
    favourites = [str(contact["display_name"])[:40] for contact in contacts if contact["is_favorite"]]
    return {"contacts": len(contacts), "favorites": favourites[:5]}


def describe(state: State) -> str:
    return f"{len(state['contacts'])} contacts"
