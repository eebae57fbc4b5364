"""The calendar: its entries before and after, and the times that the participant gave to them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from proctor.protocol.evaluation import AgentBeatsEvalContext
from proctor.scenarios.kit.messages import done, invited
from proctor.scenarios.kit.texts import strings_in, texts_beside
from purple_sdk.protocol.readings import bare_address, instant


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
        """Whether the two entries overlap in time."""
        return self.start < other.end and other.start < self.end

    @property
    def readers(self) -> frozenset[str]:
        """The addresses of its guests and organizer, who can read its texts."""
        return frozenset(
            bare_address(str(person)) for person in (*self.attendees, self.fields.get("organizer")) if person
        )


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


def news_of(parameters: Mapping[str, Any], before: Entry | None) -> str:
    """The news that an action on an entry has for its people: a comment, and texts that the entry didn't have."""
    had = {line for text in strings_in(before.fields) for line in text.split("\n")} if before else set()
    said = [str(parameters[name]) for name in ("title", "description") if parameters.get(name)]
    lines = (line for text in (*said, *texts_beside(parameters)) for line in text.split("\n"))
    return "\n".join(line for line in lines if line not in had)


def readers_of(key: str, before: Mapping[str, Entry], after: Mapping[str, Entry]) -> frozenset[str]:
    """The addresses of the people on an entry, before or after the assessment."""
    return frozenset[str]().union(*(entries[key].readers for entries in (before, after) if key in entries))


def made(ctx: AgentBeatsEvalContext) -> dict[int, str]:
    """The ids of the entries at the end that the participant made, by the ids of the objects in the log.

    The log of a new entry has no id. The entry is found by its time of creation and its title, or, if it was renamed,
    by the time alone.
    """
    before, after = calendar_before(ctx), calendar_after(ctx)
    renamed = {entry.parameters["event_id"] for entry in done(ctx, ("calendar.update",)) if "title" in entry.parameters}
    left = {key: entry for key, entry in after.items() if key not in before and entry.fields.get("created_at")}
    found = dict[int, str]()
    for log in done(ctx, ("calendar.create",)):
        then = [key for key, entry in left.items() if instant(entry.fields["created_at"]) == instant(log.timestamp)]
        same = [key for key in then if left[key].title == log.parameters.get("title")]
        for key in [*same, *(key for key in then if key in renamed)][:1]:
            found[id(log)] = key
            del left[key]
    return found
