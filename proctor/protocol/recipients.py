"""Recipients: the one place that knows which fields name the people whom a message or an invitation goes to."""

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
    """The addresses and numbers of all recipients, as they are written, by To, CC, BCC, and those invited.

    ``message`` is an action's parameters, or an entry of the simulator's state. A field may have nothing, one value or
    a list; an attendee is an address or an object with its ``email``.
    """
    return [address for field in _FIELDS for address in _find_addresses(message.get(field))]


def read_bare_recipients(message: Mapping[str, Any]) -> frozenset[str]:
    """The recipients in a form to compare: addresses in lower case without names, numbers without signs of grouping."""
    return frozenset(
        bare(address) for field, bare in _FIELDS.items() for address in _find_addresses(message.get(field))
    )


def _find_addresses(value: Any) -> Iterator[str]:
    for member in value if isinstance(value, list) else (value,):
        address = member.get("email") if isinstance(member, Mapping) else member
        if address:
            yield str(address)
