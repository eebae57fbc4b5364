"""How people are distinguished and found: addresses in one form, and what the address book says of them.

Every modality that shows or receives something from somebody may read the address book (``Modality.neighbours``).
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

_GROUPING = re.compile(r"[\s().\-/\u00a0]")
_NORTH_AMERICAN = re.compile(r"\+?1(\d{10})")
_NAMED = re.compile(r"[^<>]*<([^<>]+)>\s*")

LONGEST_KEPT = 200
"""Characters of an address whose key is kept for the next time."""

AddressBook = Mapping[str, Any]
"""The state of the contacts modality; empty where there is none."""


def e164_like(number: str) -> str:
    """A phone number in an E.164-like form: no spaces, dots, dashes, slashes or brackets; ``00`` in front is ``+``.

    What isn't a number (a short code, a sender's name such as ``BANK``) stays as it is.
    """
    bare = _GROUPING.sub("", number)
    if not re.fullmatch(r"\+?\d{3,}", bare):
        return number.strip()
    return f"+{bare[2:]}" if bare.startswith("00") else bare


def normal_address(kind: str, value: str) -> str:
    """An address to keep: a phone number in its normal form, everything else as it was written. Never empty where
    something was given, since files hold no empty ones.
    """
    return (e164_like(value) if kind == "phone" else value.strip()) or value


def address_key(kind: str, value: str) -> str:
    """What two ways of writing the same address have in common; to compare, not to show or to keep.

    Of a phone number it is the normal form, without the country code of North America, which the people there leave
    out: ``(555) 222-0001``, ``1-555-222-0001`` and ``+15552220001`` are one number. Of an email address it is the
    address within ``Ann <ann@example.com>``. Everything else is compared in lower case.
    """
    # Long ones are no addresses, and would fill the memory.
    return _key(kind, value) if len(value) <= LONGEST_KEPT else _key.__wrapped__(kind, value)


@lru_cache(maxsize=20_000)
def _key(kind: str, value: str) -> str:
    if kind == "email" and (named := _NAMED.fullmatch(value)):
        value = named[1]
    normal = normal_address(kind, value).lower()
    if kind == "phone" and (national := _NORTH_AMERICAN.fullmatch(normal)):
        return national[1]
    return normal


def same_address(kind: str, one: str, other: str) -> bool:
    """Whether two texts are the same address in any notation; ``kind`` is ``email``, ``phone`` or another type."""
    return address_key(kind, one) == address_key(kind, other)


def contact_of(book: AddressBook, kind: str, value: str) -> dict[str, Any] | None:
    """The contact with the address ``value`` of this ``kind`` (``email``, ``phone``); None where there is none."""
    wanted = address_key(kind, value)
    for contact in book.get("contacts", {}).values():
        if any(
            i["identifier_type"] == kind and address_key(kind, i["value"]) == wanted for i in contact["identifiers"]
        ):
            match: dict[str, Any] = contact
            return match
    return None


def is_blocked(book: AddressBook, kind: str, value: str) -> bool:
    """Whether the user has blocked the sender with the address ``value`` of this ``kind``."""
    contact = contact_of(book, kind, value)
    return contact is not None and bool(contact["is_blocked"])


def name_of(book: AddressBook, kind: str, value: str) -> str:
    """The display name of the contact with this address; ``value`` itself where the address book has none."""
    contact = contact_of(book, kind, value)
    return contact["display_name"] or value if contact is not None else value
