"""Identify people: normalize their addresses and look them up in the address book.

Every modality that shows or receives a person's messages may read the address book (``Modality.neighbours``).
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

_GROUPING = re.compile(r"[\s().\-/\u00a0]")
_NORTH_AMERICAN = re.compile(r"\+?1(\d{10})")
_NAMED = re.compile(r"[^<>]*<([^<>]+)>\s*")

LONGEST_KEPT = 200
"""The most characters of an address whose key is cached."""

AddressBook = Mapping[str, Any]
"""The state of the contacts modality; empty if there is no such modality."""


def e164_like(number: str) -> str:
    """Return a phone number in an E.164-like form: no spaces, dots, dashes, slashes or brackets; ``+`` for ``00``.

    Anything else (a short code, a sender's name such as ``BANK``) is only stripped.
    """
    bare = _GROUPING.sub("", number)
    if not re.fullmatch(r"\+?\d{3,}", bare):
        return number.strip()
    return f"+{bare[2:]}" if bare.startswith("00") else bare


def normal_address(kind: str, value: str) -> str:
    """Return an address for storage: a phone number in its normal form, any other address as it was written. A
    non-empty address never becomes empty, since files hold no empty ones.
    """
    return (e164_like(value) if kind == "phone" else value.strip()) or value


def address_key(kind: str, value: str) -> str:
    """Return a key that all notations of one address share; for comparison, not for display or storage.

    For a phone number, the key is the normal form without the country code of North America, which people there leave
    out: ``(555) 222-0001``, ``1-555-222-0001`` and ``+15552220001`` are one number. For an email address, the key is
    the address within ``Ann <ann@example.com>``. Any other address is compared in lower case.
    """
    # Longer texts are not addresses, and would fill the cache.
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


def find_contact(book: AddressBook, kind: str, value: str) -> dict[str, Any] | None:
    """Find the contact with the address ``value`` of this ``kind`` (``email``, ``phone``); None without a match."""
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
    contact = find_contact(book, kind, value)
    return contact is not None and bool(contact["is_blocked"])


def lookup_name(book: AddressBook, kind: str, value: str) -> str:
    """Return the display name of the contact with this address; ``value`` if the address book has none."""
    contact = find_contact(book, kind, value)
    return contact["display_name"] or value if contact is not None else value
