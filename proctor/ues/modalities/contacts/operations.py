"""The operations of events on the address book."""

from typing import Any

from proctor.ues.modalities.contacts.models import ContactsInput
from proctor.ues.modality import Change, Operation, State
from proctor.ues.people import normal_address, same_address

Contact = dict[str, Any]

TEXTS = (
    "first_name",
    "last_name",
    "display_name",
    "nickname",
    "company",
    "job_title",
    "birthday",
    "notes",
    "photo_url",
)
LISTS = ("identifiers", "addresses", "groups")
MOST_ITEMS = 500
"""The most entries of each of a contact's lists."""


def create(change: Change, payload: ContactsInput) -> None:
    """Make a contact; a missing display name is made from its names, its company or its first identifier."""
    contact_id = payload.contact_id or change.draw_id()
    if contact_id in change.state["contacts"]:
        raise change.fail(f"contact_id {contact_id!r} is taken")
    contact: Contact = {"contact_id": contact_id}
    contact |= {name: getattr(payload, name) for name in TEXTS}
    _refuse_long_lists(change, {name: getattr(payload, name) or () for name in LISTS})
    contact |= {name: _items(name, getattr(payload, name)) for name in LISTS}
    contact |= {"is_favorite": bool(payload.is_favorite), "is_blocked": bool(payload.is_blocked)}
    contact |= {"created_at": payload.timestamp, "updated_at": payload.timestamp}
    contact["display_name"] = payload.display_name or made_up_name(contact)
    change.put(("contacts", contact_id), contact)


def _refuse_long_lists(change: Change, fields: Contact) -> None:
    """Fail if a list has too many entries, since each new entry is compared with all of them."""
    for name in LISTS:
        if len(fields.get(name, ())) > MOST_ITEMS:
            raise change.fail(f"a contact has at most {MOST_ITEMS} {name}")


def _items(name: str, payload: list[Any] | None) -> list[Any]:
    """Return a list for storage: phone numbers in their normal form, without duplicates."""
    items = _dump_items(payload)
    if name == "identifiers":
        items = [{**item, "value": normal_address(item["identifier_type"], item["value"])} for item in items]
    return _distinct(items)


def _dump_items(payload: list[Any] | None) -> list[Any]:
    return [item if isinstance(item, str) else item.model_dump() for item in payload or ()]


def _distinct(items: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for item in items:
        if item not in kept:
            kept.append(item)
    return kept


def made_up_name(contact: Contact) -> str | None:
    """Return a name for a contact without a display name; None if nothing is known."""
    names = " ".join(name for name in (contact["first_name"], contact["last_name"]) if name)
    identifiers = contact["identifiers"]
    return names or contact["nickname"] or contact["company"] or (identifiers[0]["value"] if identifiers else None)


def update(change: Change, payload: ContactsInput) -> None:
    """Change the given fields. If the display name was made up or is set to empty, it is made up again."""
    contact = _contact(change, payload.contact_id)
    for how in ("", "add_", "remove_"):
        _refuse_long_lists(change, {name: getattr(payload, f"{how}{name}") or () for name in LISTS})
    news: Contact = {name: getattr(payload, name) for name in (*TEXTS, "is_favorite", "is_blocked")}
    news = {name: value for name, value in news.items() if value is not None}
    for name in LISTS:
        replaced = getattr(payload, name)
        items = contact[name] if replaced is None else _items(name, replaced)
        gone = _dump_items(getattr(payload, f"remove_{name}"))
        items = [item for item in items if not any(_same(name, item, other) for other in gone)]
        more = _items(name, getattr(payload, f"add_{name}"))
        news[name] = _with_more_identifiers(items, more) if name == "identifiers" else _distinct([*items, *more])
    _refuse_long_lists(change, news)
    shown = news.get("display_name")
    if shown == "" or (shown is None and contact["display_name"] == made_up_name(contact)):
        news["display_name"] = made_up_name({**contact, **news})
    change.update(("contacts", contact["contact_id"]), **news, updated_at=payload.timestamp)


def _same(name: str, kept: Any, named: Any) -> bool:
    """Whether an item of the list ``name`` matches the named one.

    Identifiers match by value and, if given, type; addresses match by the given fields.
    """
    if name == "groups":
        return bool(kept == named)
    if name == "identifiers":
        kind = kept["identifier_type"]
        if isinstance(named, str):
            return same_address(kind, kept["value"], named)
        return bool(kind == named["identifier_type"]) and same_address(kind, kept["value"], named["value"])
    fields = {field: value for field, value in named.items() if value is not None}
    return bool(fields) and fields.items() <= kept.items()


def _with_more_identifiers(items: list[Any], more: list[Any]) -> list[Any]:
    """Return ``items`` and the identifiers of ``more`` that aren't among them; labels are ignored."""
    kept = list(items)
    for item in more:
        if not any(_same("identifiers", known, item) for known in kept):
            kept.append(item)
    return kept


def _contact(change: Change, contact_id: str | None) -> Contact:
    contact: Contact | None = change.state["contacts"].get(contact_id or "")
    if contact is None:
        raise change.fail(f"there is no contact {contact_id!r}")
    return contact


def delete(change: Change, payload: ContactsInput) -> None:
    change.remove(("contacts", _contact(change, payload.contact_id)["contact_id"]))


def _flagging(**flag: bool) -> Operation:
    def operation(change: Change, payload: ContactsInput) -> None:
        contact = _contact(change, payload.contact_id)
        change.update(("contacts", contact["contact_id"]), **flag, updated_at=payload.timestamp)

    return operation


block, unblock = _flagging(is_blocked=True), _flagging(is_blocked=False)
favorite, unfavorite = _flagging(is_favorite=True), _flagging(is_favorite=False)


def add_to_group(change: Change, payload: ContactsInput) -> None:
    """Add a contact to a group; without effect if it is in the group."""
    contact = _contact(change, payload.contact_id)
    groups = _distinct([*contact["groups"], payload.group])
    change.update(("contacts", contact["contact_id"]), groups=groups, updated_at=payload.timestamp)


def remove_from_group(change: Change, payload: ContactsInput) -> None:
    contact = _contact(change, payload.contact_id)
    if payload.group not in contact["groups"]:
        raise change.fail(f"contact {payload.contact_id!r} is not in the group {payload.group!r}")
    groups = [group for group in contact["groups"] if group != payload.group]
    change.update(("contacts", contact["contact_id"]), groups=groups, updated_at=payload.timestamp)


def merge(change: Change, payload: ContactsInput) -> None:
    """Merge two contacts: the primary one takes over the fields that it lacks, and the secondary one is deleted."""
    primary, secondary = _contact(change, payload.contact_id), _contact(change, payload.secondary_contact_id)
    if primary is secondary:
        raise change.fail("a contact can't be merged with itself")
    was_made_up = primary["display_name"] == made_up_name(primary)
    news: Contact = {name: primary[name] or secondary[name] for name in TEXTS}
    news["identifiers"] = _with_more_identifiers(primary["identifiers"], secondary["identifiers"])
    for name in ("addresses", "groups"):
        news[name] = _distinct([*primary[name], *secondary[name]])
    for name in ("is_favorite", "is_blocked"):
        news[name] = primary[name] or secondary[name]
    if was_made_up:
        news["display_name"] = made_up_name({**primary, **news})
    change.update(("contacts", primary["contact_id"]), **news, updated_at=payload.timestamp)
    change.remove(("contacts", secondary["contact_id"]))


def complete(state: State) -> None:
    """Complete an import: ids, phone numbers in their normal form, and omitted display names and times."""
    for key, contact in state["contacts"].items():
        contact["contact_id"] = key
        for identifier in contact["identifiers"]:
            identifier["value"] = normal_address(identifier["identifier_type"], identifier["value"])
        contact["display_name"] = contact["display_name"] or made_up_name(contact)
        contact["created_at"] = contact["created_at"] or state["last_updated"]
        contact["updated_at"] = contact["updated_at"] or contact["created_at"]
