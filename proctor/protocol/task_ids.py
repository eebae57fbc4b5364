"""The ids of assessments: a UUID, and behind it scenario and participant, so that any list of workflows shows both.

Participants must not know what they are assessed on, so they see the UUID only (``unique_part``).
"""

import re
from typing import Any
from urllib.parse import urlsplit

from proctor.protocol.roles import OF_ROLE
from purple_sdk.protocol.request import BadRequestError, Raw, read_text

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=-)")
_OTHERS = re.compile(r"[^0-9A-Za-z_]+")
_LONGEST = 40


def readable_id(unique: str, request: Raw) -> str:
    """A task's id: ``unique``, then what the request says of scenario and participant, whether it is a good one or not.

    ``1f0e…-email_triage_basic-127-0-0-1-9009``; of several participants the first role's, by name.
    """
    try:
        raw: Any = read_text(request) if isinstance(request, str) else request
        participants = raw["participants"]
        about = raw["config"]["scenario_id"], participants[min(participants)]
    except (BadRequestError, LookupError, TypeError, ValueError):
        return unique
    return "-".join([unique, *filter(None, map(_readable, about))])


def unique_part(task_id: str) -> str:
    """An id without what it says of scenario and participant; one of a role's part keeps its role."""
    whole, mark, role = task_id.partition(OF_ROLE)
    found = _UUID.match(whole)
    return f"{found[0]}{mark}{role}" if found else task_id


def _readable(text: Any) -> str:
    """Letters, digits, and single hyphens; of an address no credentials, parameters or scheme."""
    if not isinstance(text, str):
        return ""
    try:
        parts = urlsplit(text)
        text = parts.netloc.rpartition("@")[2] + parts.path if parts.netloc else text
    except ValueError:
        return ""
    return _OTHERS.sub("-", text[:200]).strip("-")[:_LONGEST].strip("-")
