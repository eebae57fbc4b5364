"""The ids of assessments: a UUID, then scenario and participant, so lists of workflows show both.

Participants must not know their scenario. They see only the UUID (``unique_part``).
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
    """Return a task's id: ``unique``, then the request's scenario and participant, even if the request is invalid.

    An example is ``1f0e…-email_triage_basic-127-0-0-1-9009``. If there are several participants, the id has the one
    whose role comes first in alphabetical order.
    """
    try:
        raw: Any = read_text(request) if isinstance(request, str) else request
        participants = raw["participants"]
        about = raw["config"]["scenario_id"], participants[min(participants)]
    except (BadRequestError, LookupError, TypeError, ValueError):
        return unique
    return "-".join([unique, *filter(None, map(_readable, about))])


def unique_part(task_id: str) -> str:
    """Remove scenario and participant from an id; a role's part keeps its role."""
    whole, mark, role = task_id.partition(OF_ROLE)
    unique = _UUID.match(whole)
    return f"{unique[0]}{mark}{role}" if unique else task_id


def _readable(text: Any) -> str:
    """Keep letters, digits and single hyphens of a text; an address loses its scheme, credentials and parameters."""
    if not isinstance(text, str):
        return ""
    try:
        parts = urlsplit(text)
        text = parts.netloc.rpartition("@")[2] + parts.path if parts.netloc else text
    except ValueError:
        return ""
    return _OTHERS.sub("-", text[:200]).strip("-")[:_LONGEST].strip("-")
