"""The events of one simulation: what happened, what is still to happen, and in which order."""

import heapq
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from itertools import islice

from proctor.ues.schema import JsonObject

Event = JsonObject
"""An event in the shape of the scenario file: event_id, scheduled_time, modality, data, status, created_at,
executed_at, agent_id, priority, error_message, metadata. Times are canonical text."""

PENDING, EXECUTED, FAILED, SKIPPED, CANCELLED = "pending", "executed", "failed", "skipped", "cancelled"
STATUSES = (PENDING, EXECUTED, FAILED, SKIPPED, CANCELLED)

Place = tuple[str, int, int, str]
"""An event's place in the order of execution: scheduled time, priority (negated), number in creation, id."""


class EventLog:
    """All events by id, in order of creation, with their order of execution and the queue of pending ones.

    The order is (scheduled_time, priority high to low, creation), for events of any status.
    """

    def __init__(self, events: list[Event] | None = None) -> None:
        self.by_id: dict[str, Event] = {}
        self.counts: dict[str, int] = {}
        self.by_modality: dict[str, int] = {}
        self._order: list[Place] = []
        self._queue: list[Place] = []
        self._created = 0
        for event in events or ():
            self._order.append(self._enter(event))
        self._order.sort()

    def _enter(self, event: Event) -> Place:
        place = (event["scheduled_time"], -event["priority"], self._created, event["event_id"])
        self._created += 1
        self.by_id[event["event_id"]] = event
        status, modality = event["status"], event["modality"]
        self.counts[status] = self.counts.get(status, 0) + 1
        self.by_modality[modality] = self.by_modality.get(modality, 0) + 1
        if status == PENDING:
            heapq.heappush(self._queue, place)
        return place

    def __len__(self) -> int:
        return len(self.by_id)

    def add(self, event: Event) -> None:
        insort(self._order, self._enter(event))

    def count(self, status: str) -> int:
        return self.counts.get(status, 0)

    def set_status(self, event: Event, status: str) -> None:
        """Change an event's status and keep the counts right."""
        self.counts[event["status"]] -= 1
        self.counts[status] = self.counts.get(status, 0) + 1
        event["status"] = status

    def find_next(self) -> Event | None:
        queue = self._queue
        while queue:
            event = self.by_id.get(queue[0][3])
            if event is not None and event["status"] == PENDING:
                return event
            heapq.heappop(queue)
        return None

    def list_ordered(self, start: str | None = None, end: str | None = None) -> Iterator[Event]:
        """Events in order of execution, from ``start`` to ``end`` inclusive (canonical texts)."""
        first = 0 if start is None else bisect_left(self._order, (start,))
        last = len(self._order) if end is None else bisect_right(self._order, end, key=lambda place: place[0])
        return (self.by_id[place[3]] for place in islice(self._order, first, last))

    def list_all(self) -> list[Event]:
        """Every event in order of creation, as a checkpoint stores them."""
        return list(self.by_id.values())
