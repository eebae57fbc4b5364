"""The recipients of messages and invitations. Only this module knows the fields that name recipients."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from purple_sdk.protocol.readings import bare_address, bare_phone

_FIELDS: dict[str, Callable[[str], str]] = {
    "to_addresses": bare_address,
    "cc_addresses": bare_address,
    "bcc_addresses": bare_address,
    "to_numbers": bare_phone,
    "attendees": bare_address,
    "attendee_email": bare_address,
}
"""The fields, with the form in which their addresses and numbers are compared."""


def read_recipients(message: Mapping[str, Any]) -> list[str]:
    """Return the addresses and numbers of all recipients as written, in the order To, CC, BCC, attendees.

    ``message`` is an action's parameters or an entry of the simulator's state. A field may be empty, one value or a
    list. An attendee is an address or an object with an ``email``.
    """
    return [address for field in _FIELDS for address in _find_addresses(message.get(field))]


def read_bare_recipients(message: Mapping[str, Any]) -> frozenset[str]:
    """Return the recipients in a comparable form: addresses in lower case without names, numbers without separators."""
    return frozenset(
        bare(address) for field, bare in _FIELDS.items() for address in _find_addresses(message.get(field))
    )


def _find_addresses(value: Any) -> Iterator[str]:
    for member in value if isinstance(value, list) else (value,):
        address = member.get("email") if isinstance(member, Mapping) else member
        if address:
            yield str(address)
