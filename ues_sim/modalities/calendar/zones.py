"""Time zones by name."""

from datetime import tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo


@lru_cache(maxsize=1024)
def zone(name: str) -> tzinfo | None:
    """The time zone of that IANA name (``Europe/Berlin``); None when there is none."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        # zoneinfo reads files: a name may also be a directory, too long, or lead out of its own place.
        return None
