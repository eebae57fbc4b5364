"""The calendar: its entries before and after, and the times that the participant gave to them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from proctor_protocol.evaluation import AgentBeatsEvalContext
from proctor_protocol.readings import instant
from scenarios.kit.messages import done, invited


@dataclass(frozen=True)
class Entry:
    """A calendar entry that is not cancelled or deleted; ``attendees`` are addresses and their answers."""

    event_id: str
    title: str
    start: datetime
    end: datetime
    attendees: dict[str, str]
    fields: dict[str, Any]

    def overlaps(self, other: "Entry") -> bool:
        """Whether the two need the same person at the same time."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class Placement:
    """A time that the participant gave to a calendar entry; a new entry has no id here, but its ``invited`` people."""

    at: datetime
    event_id: str
    start: datetime
    invited: frozenset[str]


def calendar_before(ctx: AgentBeatsEvalContext) -> dict[str, Entry]:
    """The entries before the first turn, by id."""
    return _entries(ctx.initial_state)


def calendar_after(ctx: AgentBeatsEvalContext) -> dict[str, Entry]:
    """The entries at the end, by id."""
    return _entries(ctx.final_state)


def _entries(state: Mapping[str, Any]) -> dict[str, Entry]:
    events = (state.get("calendar") or {}).get("events") or {}
    return {
        event_id: Entry(
            event_id,
            str(event["title"]),
            instant(event["start"]),
            instant(event["end"]),
            {str(a["email"]).lower(): str(a.get("response") or "needs-action") for a in event.get("attendees") or []},
            event,
        )
        for event_id, event in events.items()
        if not event.get("deleted_at") and event.get("status") != "cancelled"
    }


def placements(ctx: AgentBeatsEvalContext) -> list[Placement]:
    """Every time that the participant gave to a calendar entry, in order."""
    made = [(entry, entry.parameters) for entry in done(ctx, ("calendar.create", "calendar.update"))]
    return [
        Placement(instant(entry.timestamp), str(of.get("event_id") or ""), instant(str(of["start"])), invited(of))
        for entry, of in made
        if of.get("start")
    ]
