"""What an event can do to the user's time preferences."""

from typing import Any
from zoneinfo import ZoneInfo

from ues_sim.modalities.time.models import SETTINGS, TimeInput
from ues_sim.modality import Change, State


def zone(name: str) -> ZoneInfo | None:
    """The IANA time zone of that name, None when there is none."""
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        # Besides unknown names: names that are folders, leave the database's folder, or are no file name at all.
        return None


def current(state: State) -> dict[str, Any]:
    """The current settings in the form of a history entry."""
    return {"timestamp": state["last_updated"], **{name: state[name] for name in SETTINGS}}


def update(change: Change, payload: TimeInput) -> None:
    """Change settings. Those before go into the history, which keeps the newest ``max_history_size``.

    Fails for a time zone that doesn't exist, as a phone's settings wouldn't offer it.
    """
    if zone(payload.timezone) is None:
        raise change.fail(f"there is no time zone {payload.timezone[:80]!r}; use an IANA name such as Europe/Berlin")
    change.append(("settings_history",), current(change.state))
    while len(change.state["settings_history"]) > max(0, change.state["max_history_size"]):
        change.remove(("settings_history", 0))
    change.update((), **payload.model_dump(include=set(SETTINGS), exclude_none=True))
