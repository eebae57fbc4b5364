"""``/events``: what happened and what is still to happen."""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from proctor.ues.events import EXECUTED, FAILED, PENDING, SKIPPED, STATUSES, Event
from proctor.ues.http.route import Call, Reply, Routes
from proctor.ues.problems import Impossible, Invalid, Problem
from proctor.ues.schema import Int, JsonObject, Request, Response, validate
from proctor.ues.simulation import Author
from proctor.ues.times import Instant

BATCH_LIMIT = 1000


class CreateEventRequest(Request):
    """An event for later. ``data`` is the modality's input; its timestamp is the scheduled time unless given."""

    scheduled_time: Instant
    modality: str
    data: JsonObject
    priority: Annotated[Int, Field(ge=0, le=100)] = 50
    metadata: JsonObject = Field(default_factory=dict)
    agent_id: str | None = Field(default=None, description="Whose event it is; by default the key's id.")


class ImmediateEventRequest(Request):
    """An event for now: it runs, before others that are due, when the clock next moves."""

    modality: str
    data: JsonObject


class EventResponse(Response):
    """An event. ``status`` is pending, executed, failed, skipped or cancelled."""

    event_id: str
    scheduled_time: Instant
    modality: str
    status: str
    priority: int
    created_at: Instant
    executed_at: Instant | None = None
    error_message: str | None = None
    data: JsonObject | None = None
    agent_id: str | None = None
    metadata: JsonObject = Field(default_factory=dict)


class EventListParams(Request):
    """Filters; the counts are those of all events that match, before paging."""

    status: str | None = None
    start_time: Instant | None = None
    end_time: Instant | None = None
    modality: str | None = None
    agent_id: str | None = None
    limit: Annotated[Int, Field(ge=1)] | None = None
    offset: Annotated[Int, Field(ge=0)] = 0


class EventListResponse(Response):
    """Events in order of execution: scheduled time, priority high to low, creation."""

    events: list[EventResponse]
    total: int
    pending: int
    executed: int
    failed: int
    skipped: int


class EventSummaryResponse(Response):
    """How many events there are of each kind."""

    total: int
    pending: int
    executed: int
    failed: int
    skipped: int
    by_modality: dict[str, int]
    next_event_time: Instant | None = None


class CancelEventResponse(Response):
    """A pending event that won't run."""

    event_id: str
    cancelled: bool
    status: str
    message: str


class BatchRequest(Request):
    """Up to 1000 events. Each is checked separately, so that one bad event doesn't spoil the rest."""

    events: Annotated[list[Any], Field(max_length=BATCH_LIMIT, json_schema_extra={"items": {"type": "object"}})]
    stop_on_first_error: bool = False
    validate_only: bool = False


class BatchItem(Response):
    """What became of one event of the batch."""

    index: int
    success: bool
    event_id: str | None = None
    error: str | None = None


class BatchResponse(Response):
    """What became of the batch. Events after the one that stopped it aren't listed."""

    total_submitted: int
    total_created: int
    total_failed: int
    events: list[BatchItem]


_SHOWN = tuple(EventResponse.model_fields)

ROUTES: Routes[Call] = Routes()


def answer(event: Event) -> JsonObject:
    """An event as callers see it."""
    return {name: event[name] for name in _SHOWN}


def _matching(call: Call) -> Iterator[Event]:
    params: EventListParams = call.params
    if params.status is not None and params.status not in STATUSES:
        raise Impossible(f"There is no status {params.status[:40]!r}; there are {', '.join(STATUSES)}.")
    return (
        event
        for event in call.simulation.events.list_ordered(params.start_time, params.end_time)
        if (params.status is None or event["status"] == params.status)
        and (params.modality is None or event["modality"] == params.modality)
        and (params.agent_id is None or event["agent_id"] == params.agent_id)
    )


@ROUTES.declare("GET", "/events", "events:list", EventListResponse, params=EventListParams, errors=(400,))
def _list(call: Call) -> JsonObject:
    """List events."""
    params: EventListParams = call.params
    matches = list(_matching(call))
    shown = matches[params.offset : None if params.limit is None else params.offset + params.limit]
    counts = dict.fromkeys((PENDING, EXECUTED, FAILED, SKIPPED), 0)
    for event in matches:
        if event["status"] in counts:
            counts[event["status"]] += 1
    return {"events": [answer(event) for event in shown], "total": len(matches), **counts}


@ROUTES.declare("POST", "/events", "events:create", EventResponse, body=CreateEventRequest, errors=(400, 404))
def _create(call: Call) -> JsonObject:
    """Schedule an event."""
    return answer(_schedule(call, call.body, ("body", "data")))


def _schedule(call: Call, item: CreateEventRequest, loc: tuple[str | int, ...]) -> Event:
    return call.simulation.schedule(
        item.modality,
        item.data,
        item.scheduled_time,
        author=_author(call, item),
        priority=item.priority,
        metadata=item.metadata,
        loc=loc,
    )


def _author(call: Call, item: CreateEventRequest) -> Author:
    key_id = call.key.key_id
    return Author(agent_id=item.agent_id if item.agent_id is not None else key_id, key_id=key_id)


@ROUTES.declare(
    "POST", "/events/immediate", "events:execute", EventResponse, body=ImmediateEventRequest, errors=(400, 404)
)
def _immediate(call: Call) -> JsonObject:
    """Execute an event now."""
    body: ImmediateEventRequest = call.body
    return answer(call.simulation.schedule_now(body.modality, body.data, call.author))


@ROUTES.declare(
    "POST",
    "/events/batch",
    "events:batch",
    BatchResponse,
    body=BatchRequest,
    status=201,
    further_statuses={
        200: "What would happen, for validate_only.",
        207: "Some events were created.",
    },
    errors=(400,),
)
def _batch(call: Call) -> Reply:
    """Schedule up to 1000 events."""
    body: BatchRequest = call.body
    results: list[JsonObject] = []
    for index, raw in enumerate(body.events):
        result: JsonObject = {"index": index, "success": True, "event_id": None, "error": None}
        results.append(result)
        try:
            item = validate(CreateEventRequest, raw, "events", index)
            loc = ("events", index, "data")
            if body.validate_only:
                call.simulation.check_event(item.modality, item.data, item.scheduled_time, *loc)
            else:
                result["event_id"] = _schedule(call, item, loc)["event_id"]
        except Problem as problem:
            result["success"] = False
            result["error"] = problem.sentence if isinstance(problem, Invalid) else str(problem.detail)
            if body.stop_on_first_error:
                break
    failed = sum(not result["success"] for result in results)
    created = 0 if body.validate_only else len(results) - failed
    content = {
        "total_submitted": len(body.events),
        "total_created": created,
        "total_failed": failed,
        "events": results,
    }
    if body.validate_only:
        return Reply(content, 200)
    if not failed:
        return Reply(content, 201)
    return Reply(content, 400 if body.stop_on_first_error and not created else 207)


@ROUTES.declare("GET", "/events/next", "events:read", EventResponse, errors=(404,))
def _next(call: Call) -> JsonObject:
    """The pending event that runs first."""
    return answer(call.simulation.find_next_event())


@ROUTES.declare("GET", "/events/summary", "events:summary", EventSummaryResponse)
def _summary(call: Call) -> JsonObject:
    """Count the events."""
    events = call.simulation.events
    upcoming = events.find_next()
    return {
        "total": len(events),
        "pending": events.count(PENDING),
        "executed": events.count(EXECUTED),
        "failed": events.count(FAILED),
        "skipped": events.count(SKIPPED),
        "by_modality": events.by_modality,
        "next_event_time": upcoming["scheduled_time"] if upcoming else None,
    }


@ROUTES.declare("GET", "/events/{event_id}", "events:read", EventResponse, errors=(404,))
def _get(call: Call) -> JsonObject:
    """Read one event."""
    return answer(call.simulation.find_event(call.path["event_id"]))


@ROUTES.declare("DELETE", "/events/{event_id}", "events:delete", CancelEventResponse, errors=(404, 409))
def _delete(call: Call) -> JsonObject:
    """Cancel a pending event."""
    event = call.simulation.cancel(call.path["event_id"])
    return {
        "event_id": event["event_id"],
        "cancelled": True,
        "status": event["status"],
        "message": f"Event {event['event_id']} won't run.",
    }
