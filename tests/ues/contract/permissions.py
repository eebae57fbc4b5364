"""The permissions of the contract page, written down from its list and from nowhere else.

Method, path, permission, whether a participant's key (level "user") has it, and a body that fits. A path's variable
parts stand as ``{name}``. What isn't on the page (checkpoints, which are this project's own) is marked so.
"""

from dataclasses import dataclass, field
from typing import Any

from tests.ues.contract.examples import TIME
from tests.ues.stories.weather import report


@dataclass(frozen=True)
class Endpoint:
    """One endpoint and the one permission that it needs."""

    method: str
    path: str
    permission: str
    participant: bool = False
    body: Any = field(default=None, compare=False)
    params: Any = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def get(path: str, permission: str, *, participant: bool = False) -> Endpoint:
    return Endpoint("GET", path, permission, participant)


def post(path: str, permission: str, body: Any = None, *, participant: bool = False) -> Endpoint:
    return Endpoint("POST", path, permission, participant, body)


MARK = {"message_ids": ["m"]}
LABEL = {**MARK, "labels": ["x"]}
SEND_EMAIL = {"from_address": "user@example.com", "to_addresses": ["b@example.com"], "subject": "s", "body_text": "t"}
SEND_SMS = {"from_number": "+15550000000", "to_numbers": ["+15550000002"], "body": "t"}
MEETING = {"title": "t", "start": TIME, "end": "2030-01-02T04:04:05+00:00"}
PLACE = {"latitude": 1, "longitude": 1}
CHAT = {"role": "assistant", "content": "Hi"}
EVENT = {"modality": "chat", "data": {"operation": "send_message", **CHAT}}
CONTACT = {"contact_id": "c"}

TIME_ = (
    get("/simulator/time", "time:read", participant=True),
    post("/simulator/time/advance", "time:advance", {"seconds": 1}),
    post("/simulator/time/set", "time:set", {"target_time": TIME}),
    post("/simulator/time/skip-to-next", "time:skip"),
    post("/simulator/time/set-scale", "time:scale", {"scale": 1}),
    post("/simulator/time/pause", "time:pause"),
    post("/simulator/time/resume", "time:resume"),
)

ENVIRONMENT = (
    get("/environment/state", "environment:read", participant=True),
    get("/environment/modalities", "environment:list", participant=True),
    get("/environment/modalities/{modality_name}", "environment:read", participant=True),
    post("/environment/modalities/{modality_name}/query", "environment:read", {}, participant=True),
    post("/environment/validate", "environment:validate"),
)

EVENTS = (
    get("/events", "events:list"),
    post("/events", "events:create", {**EVENT, "scheduled_time": TIME}),
    post("/events/immediate", "events:execute", EVENT),
    post("/events/batch", "events:batch", {"events": []}),
    get("/events/next", "events:read"),
    get("/events/{event_id}", "events:read"),
    get("/events/summary", "events:summary"),
    Endpoint("DELETE", "/events/{event_id}", "events:delete"),
)

SIMULATION = (
    post("/simulation/start", "simulation:start", {}),
    post("/simulation/stop", "simulation:stop"),
    get("/simulation/status", "simulation:status"),
    post("/simulation/reset", "simulation:reset"),
    post("/simulation/clear", "simulation:clear", {}),
    post("/simulation/undo", "simulation:undo", {}),
    post("/simulation/redo", "simulation:redo", {}),
    post("/simulation/hold", "simulation:hold", {"agent_id": "a", "reason": "r", "timeout_seconds": 0.1}),
    post("/simulation/release/{hold_id}", "simulation:release"),
    get("/simulation/holds", "simulation:holds"),
)

SCENARIO = (
    get("/scenario/export/environment", "scenario:export"),
    get("/scenario/export/events", "scenario:export"),
    get("/scenario/export/full", "scenario:export"),
    post("/scenario/import/environment", "scenario:import", {"data": {}}),
    post("/scenario/import/events", "scenario:import", {"data": {"events": []}}),
    post("/scenario/import/full", "scenario:import", {"scenario": {}}),
)

EMAIL = (
    get("/email/state", "email:state", participant=True),
    post("/email/query", "email:query", {}, participant=True),
    post("/email/send", "email:send", SEND_EMAIL, participant=True),
    post("/email/receive", "email:receive", SEND_EMAIL),
    post("/email/read", "email:read", MARK, participant=True),
    post("/email/unread", "email:unread", MARK, participant=True),
    post("/email/star", "email:star", MARK, participant=True),
    post("/email/unstar", "email:unstar", MARK, participant=True),
    post("/email/archive", "email:archive", MARK, participant=True),
    post("/email/delete", "email:delete", MARK, participant=True),
    post("/email/label", "email:label", LABEL, participant=True),
    post("/email/unlabel", "email:unlabel", LABEL, participant=True),
    post("/email/move", "email:move", {**MARK, "folder": "x"}, participant=True),
)

SMS = (
    get("/sms/state", "sms:state", participant=True),
    post("/sms/query", "sms:query", {}, participant=True),
    post("/sms/send", "sms:send", SEND_SMS, participant=True),
    post("/sms/receive", "sms:receive", SEND_SMS),
    post("/sms/read", "sms:read", MARK, participant=True),
    post("/sms/unread", "sms:unread", MARK, participant=True),
    post("/sms/delete", "sms:delete", MARK, participant=True),
    post(
        "/sms/react", "sms:react", {"message_id": "m", "phone_number": "+15550000000", "emoji": "x"}, participant=True
    ),
    post("/sms/conversation", "sms:conversation", {"thread_id": "t", "is_pinned": True}),
)

CHAT_ = (
    get("/chat/state", "chat:state", participant=True),
    post("/chat/query", "chat:query", {}, participant=True),
    post("/chat/send", "chat:send", CHAT, participant=True),
    post("/chat/delete", "chat:delete", {"message_id": "m"}),
    post("/chat/clear", "chat:clear", {}),
)

RESPONSE = {"event_id": "e", "attendee_email": "a@example.com", "response": "accepted"}
CALENDAR = (
    get("/calendar/state", "calendar:state", participant=True),
    post("/calendar/query", "calendar:query", {}, participant=True),
    post("/calendar/create", "calendar:create", MEETING, participant=True),
    post("/calendar/update", "calendar:update", {"event_id": "e", "title": "t"}, participant=True),
    post("/calendar/delete", "calendar:delete", {"event_id": "e"}, participant=True),
    post("/calendar/respond", "calendar:respond", RESPONSE, participant=True),
    get("/calendar/calendars", "calendar:calendars:list", participant=True),
    post("/calendar/calendars/create", "calendar:calendars:create", {"name": "n"}),
    post("/calendar/calendars/update", "calendar:calendars:update", {"calendar_id": "c", "name": "n"}),
    post("/calendar/calendars/delete", "calendar:calendars:delete", {"calendar_id": "c"}),
    post("/calendar/calendars/set-default", "calendar:calendars:default", {"calendar_id": "c"}),
)

CONTACTS = (
    get("/contacts/state", "contacts:state", participant=True),
    post("/contacts/query", "contacts:query", {}, participant=True),
    post("/contacts/create", "contacts:create", {"first_name": "Ann"}, participant=True),
    post("/contacts/update", "contacts:update", {**CONTACT, "first_name": "Ann"}, participant=True),
    post("/contacts/delete", "contacts:delete", CONTACT),
    post("/contacts/block", "contacts:block", CONTACT),
    post("/contacts/unblock", "contacts:unblock", CONTACT),
    post("/contacts/favorite", "contacts:favorite", CONTACT),
    post("/contacts/unfavorite", "contacts:unfavorite", CONTACT),
    post("/contacts/group/add", "contacts:group", {**CONTACT, "group": "g"}),
    post("/contacts/group/remove", "contacts:group", {**CONTACT, "group": "g"}),
    post("/contacts/merge", "contacts:merge", {"primary_contact_id": "c", "secondary_contact_id": "d"}),
)

WORLD = (
    get("/location/state", "location:state", participant=True),
    post("/location/query", "location:query", {}, participant=True),
    post("/location/update", "location:update", PLACE),
    get("/weather/state", "weather:state", participant=True),
    post("/weather/query", "weather:query", {"lat": 1, "lon": 1}, participant=True),
    post("/weather/update", "weather:update", {**PLACE, "report": report()}),
)

KEYS = (
    post("/keys", "keys:create", {"name": "n", "permissions": ["chat:send"]}),
    get("/keys", "keys:list"),
    get("/keys/{key_id}", "keys:read"),
    Endpoint("DELETE", "/keys/{key_id}", "keys:revoke"),
    get("/access-logs", "logs:read"),
    get("/access-logs/stats", "logs:read"),
    post("/access-logs/clear", "logs:clear"),
)

OURS = (
    post("/email/reply", "email:send", {"message_id": "m", "body_text": "t"}, participant=True),
    post("/email/forward", "email:send", {"message_id": "m", "to_addresses": ["b@example.com"]}, participant=True),
    Endpoint("GET", "/email/get", "email:query", participant=True, params={"message_id": "m"}),
    Endpoint(
        "GET", "/email/attachment", "email:query", participant=True, params={"message_id": "m", "attachment_id": "a"}
    ),
    Endpoint("GET", "/sms/get", "sms:query", participant=True, params={"message_id": "m"}),
    Endpoint("GET", "/calendar/get", "calendar:query", participant=True, params={"event_id": "e"}),
    Endpoint("GET", "/contacts/get", "contacts:query", participant=True, params={"contact_id": "c"}),
    get("/simulation/checkpoint", "simulation:checkpoint"),
    get("/simulation/checkpoint/current", "simulation:checkpoint"),
    get("/simulation/checkpoint/parts", "simulation:checkpoint"),
    get("/simulation/checkpoint/parts/{name}", "simulation:checkpoint"),
    post("/simulation/checkpoint/mark", "simulation:restore", {"mark": "m"}),
    post("/simulation/restore", "simulation:restore", {"not": "a checkpoint"}),
)
"""The page's 'What this project's simulator adds'."""

ENDPOINTS: tuple[Endpoint, ...] = (
    *TIME_,
    *ENVIRONMENT,
    *EVENTS,
    *SIMULATION,
    *SCENARIO,
    *EMAIL,
    *SMS,
    *CHAT_,
    *CALENDAR,
    *CONTACTS,
    *WORLD,
    *KEYS,
    *OURS,
)
