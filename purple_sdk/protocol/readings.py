"""How values of the simulator are read by everybody who judges or answers: times, addresses, numbers, chat contents.

Written by the participant or an author, they come in any form that the UES contract allows.
"""

import re
from datetime import UTC, datetime
from email.utils import parseaddr
from functools import lru_cache
from typing import Any

_EARLIEST, _LATEST = datetime(1900, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


def instant(value: str | datetime) -> datetime:
    """A time; a naive one is UTC (UES contract, ground rules). Raises ``ValueError`` where it isn't ISO 8601.

    One before 1900 or after 2200 is read as the nearest within. So sums and other zones stay within Python's calendar:
    a participant may write the year 9999.
    """
    read = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    aware = read if read.tzinfo else read.replace(tzinfo=UTC)
    if aware.year <= _EARLIEST.year or aware.year >= _LATEST.year:
        return min(max(aware, _EARLIEST), _LATEST)
    return aware


@lru_cache(maxsize=1024)
def bare_address(address: str) -> str:
    """``Ann <ann@x.org>`` as ``ann@x.org``, in lower case."""
    return (parseaddr(address)[1] or address).strip().lower()


def bare_phone(phone: str) -> str:
    """``00 1 (555) 222-0001`` as ``+15552220001``: without what only groups its digits; ``00`` in front is ``+``.

    For a number it is what the simulator stores (``proctor.ues.people.e164_like``, which also refuses other text). That
    function may not be imported here: assessments may use any UES.
    """
    bare = re.sub(r"[\s().\-/]", "", phone)
    return f"+{bare[2:]}" if re.fullmatch(r"00\d+", bare) else bare


def chat_text(content: Any) -> str:
    """A chat message's text; of one in parts, the texts of its parts, a line each; of anything else, nothing."""
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and "text" in part)
    return content if isinstance(content, str) else ""
