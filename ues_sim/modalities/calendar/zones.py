"""Time zones by name."""

from datetime import tzinfo
from zoneinfo import ZoneInfo


def zone(name: str) -> tzinfo | None:
    """The time zone of that IANA name (``Europe/Berlin``); None when there is none."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        # zoneinfo reads files: a name may also be a directory, too long, or lead out of its own place.
        return None
