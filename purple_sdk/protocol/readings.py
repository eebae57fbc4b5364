"""Read the simulator's values (times, addresses, numbers, chat contents), in the same way for judging and answering.

Participants and authors may write these values in any form that the UES contract allows.
"""

import re
from datetime import UTC, datetime
from email.utils import parseaddr
from functools import lru_cache
from typing import Any

_EARLIEST, _LATEST = datetime(1900, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


def instant(value: str | datetime) -> datetime:
    """Read a time; without a zone it is UTC (UES contract, ground rules). Raises ``ValueError`` if it isn't ISO 8601.

    Times before 1900 or after 2200 become the nearest time in that range, since a participant may write the year 9999.
    So sums and conversions between zones stay within Python's calendar.
    """
    time = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    if aware.year <= _EARLIEST.year or aware.year >= _LATEST.year:
        return min(max(aware, _EARLIEST), _LATEST)
    return aware


@lru_cache(maxsize=1024)
def bare_address(address: str) -> str:
    """Return the bare address, in lower case: ``ann@x.org`` for ``Ann <ann@x.org>``."""
    return (parseaddr(address)[1] or address).strip().lower()


def bare_phone(phone: str) -> str:
    """Return a bare phone number, without characters that only group digits; a leading ``00`` becomes ``+``.

    ``00 1 (555) 222-0001`` becomes ``+15552220001``. For a number, the result equals the simulator's stored form
    (``proctor.ues.people.e164_like``, which also refuses other text). That function may not be imported here:
    assessments may use any UES.
    """
    bare = re.sub(r"[\s().\-/]", "", phone)
    return f"+{bare[2:]}" if re.fullmatch(r"00\d+", bare) else bare


def bare(address: str) -> str:
    """Return an address or a phone number in its bare form, for comparison."""
    return bare_address(address) if "@" in address else bare_phone(address)


def chat_text(content: Any) -> str:
    """Return a chat message's text. For content in parts, return the texts of the parts, one per line. For other
    content, return an empty text.
    """
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and "text" in part)
    return content if isinstance(content, str) else ""
