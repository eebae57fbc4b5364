"""``/access-logs``: who asked for what, and what they got."""

from proctor.ues.access_log import AccessLogParams
from proctor.ues.http.route import Call, Routes
from proctor.ues.schema import JsonObject, Response
from proctor.ues.times import Instant


class AccessLogEntry(Response):
    """One authenticated request. ``timestamp`` is wall time."""

    timestamp: Instant
    key_id: str
    key_name: str
    method: str
    path: str
    status_code: int
    duration_ms: float


class AccessLogResponse(Response):
    """One page of the log, newest first. ``total`` counts all that match."""

    logs: list[AccessLogEntry]
    total: int
    returned: int
    limit: int
    offset: int


class AccessLogStatsResponse(Response):
    """Counts since the start or the last clearing."""

    total_requests: int
    successful_requests: int
    failed_requests: int
    unique_keys: int
    first_request: Instant | None
    last_request: Instant | None


class AccessLogClearResponse(Response):
    """How many entries were forgotten."""

    cleared: int
    message: str


ROUTES: Routes[Call] = Routes()


@ROUTES.declare("GET", "/access-logs", "logs:read", AccessLogResponse, params=AccessLogParams)
def _search(call: Call) -> JsonObject:
    """Search the access log."""
    params: AccessLogParams = call.params
    entries = list(call.simulation.access_log.search(params))
    shown = entries[params.offset : params.offset + params.limit]
    return {
        "logs": shown,
        "total": len(entries),
        "returned": len(shown),
        "limit": params.limit,
        "offset": params.offset,
    }


@ROUTES.declare("GET", "/access-logs/stats", "logs:read", AccessLogStatsResponse)
def _stats(call: Call) -> JsonObject:
    """Count the requests."""
    return call.simulation.access_log.summarise()


@ROUTES.declare("POST", "/access-logs/clear", "logs:clear", AccessLogClearResponse)
def _clear(call: Call) -> JsonObject:
    """Forget the access log."""
    cleared = call.simulation.access_log.clear()
    call.simulation.note_change()
    return {"cleared": cleared, "message": f"{cleared} entries were forgotten."}
