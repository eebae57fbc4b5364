"""What an event can do to the user's location."""

from typing import Any

from ues_sim.modalities.location.models import DETAILS, LocationInput
from ues_sim.modality import Change, State


def current(state: State) -> dict[str, Any]:
    """The current place in the form of a history entry; its coordinates are null while it is unknown."""
    return {"timestamp": state["last_updated"], **{name: state[f"current_{name}"] for name in DETAILS}}


def is_known(state: State) -> bool:
    """Whether there is a current place."""
    return state["current_latitude"] is not None and state["current_longitude"] is not None


def update(change: Change, payload: LocationInput) -> None:
    """Move the user. The place left goes into the history, which keeps the newest ``max_history_size``."""
    state = change.state
    if is_known(state):
        change.append(("location_history",), current(state))
    while len(state["location_history"]) > max(0, state["max_history_size"]):
        change.remove(("location_history", 0))
    change.update((), **{f"current_{name}": getattr(payload, name) for name in DETAILS})
