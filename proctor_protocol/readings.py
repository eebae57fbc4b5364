"""How values of the simulator are read by everybody who judges or answers: times, addresses, numbers, chat contents.

Written by the participant or an author, they come in any form that the UES contract allows.
"""

import re
from datetime import UTC, datetime
from email.utils import parseaddr
from typing import Any


def instant(value: str | datetime) -> datetime:
    """A time; a naive one is UTC (UES contract, ground rules).

    Raises:
        ValueError: it is none of ISO 8601.
    """
    read = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def bare_address(address: str) -> str:
    """``Ann <ann@x.org>`` as ``ann@x.org``, in lower case."""
    return (parseaddr(address)[1] or address).strip().lower()


def normal_phone(phone: str) -> str:
    """A phone number without spaces, dots, dashes and brackets."""
    return re.sub(r"[\s().\-]", "", phone)


def chat_text(content: Any) -> str:
    """A chat message's text; of one in parts, the texts of its parts, a line each; of anything else, nothing."""
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and "text" in part)
    return content if isinstance(content, str) else ""
