"""``/keys``: who may do what."""

from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from proctor.ues.http.route import Call, Routes
from proctor.ues.keys import PERMISSION_PATTERN, new_secret
from proctor.ues.schema import JsonObject, Request, Response, Secret
from proctor.ues.times import Instant


def _permission(value: str) -> str:
    if PERMISSION_PATTERN.fullmatch(value) is None:
        raise PydanticCustomError(
            "permission", "Input should be '*', 'resource:*', 'resource:action' or 'resource:sub:action'"
        )
    return value


class CreateKeyRequest(Request):
    """A key to be made. Without ``secret`` and ``key_id`` they are drawn."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    permissions: Annotated[list[Annotated[str, AfterValidator(_permission)]], Field(min_length=1)]
    secret: Secret | None = Field(default=None, description="The secret to use: printable ASCII without spaces.")
    key_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None


class CreateKeyResponse(Response):
    """A new key. Its secret is shown this once; only its hash is kept."""

    key_id: str
    secret: str
    name: str
    permissions: list[str]
    created_at: Instant
    created_by: str


class KeyResponse(Response):
    """A key without its secret."""

    key_id: str
    name: str
    permissions: list[str]
    created_at: Instant
    created_by: str
    last_used_at: Instant | None
    is_active: bool
    revoked_at: Instant | None


class KeyListParams(Request):
    """Whether revoked keys are listed too."""

    include_revoked: bool = False


class KeyListResponse(Response):
    """Keys in order of creation. ``total`` is ``active`` plus ``revoked``, listed or not."""

    keys: list[KeyResponse]
    total: int
    active: int
    revoked: int


class RevokeKeyResponse(Response):
    """A key that opens nothing any more."""

    key_id: str
    name: str
    revoked_at: Instant
    message: str


ROUTES: Routes[Call] = Routes()


@ROUTES.declare("POST", "/keys", "keys:create", CreateKeyResponse, body=CreateKeyRequest, status=201, errors=(409,))
def _create(call: Call) -> JsonObject:
    """Make a key."""
    body: CreateKeyRequest = call.body
    simulation = call.simulation
    secret = body.secret or new_secret()
    key = simulation.keys.create(body.key_id, body.name, body.permissions, secret, call.key.key_id, simulation.ids)
    simulation.note_change()
    return {
        "key_id": key.key_id,
        "secret": secret,
        **{name: key.data[name] for name in ("name", "permissions", "created_at", "created_by")},
    }


@ROUTES.declare("GET", "/keys", "keys:list", KeyListResponse, params=KeyListParams)
def _list(call: Call) -> JsonObject:
    """List the keys."""
    params: KeyListParams = call.params
    answers = [key.answer() for key in call.simulation.keys.by_id.values()]
    active = sum(answer["is_active"] for answer in answers)
    return {
        "keys": [answer for answer in answers if params.include_revoked or answer["is_active"]],
        "total": len(answers),
        "active": active,
        "revoked": len(answers) - active,
    }


@ROUTES.declare("GET", "/keys/{key_id}", "keys:read", KeyResponse, errors=(404,))
def _get(call: Call) -> JsonObject:
    """Read one key."""
    return call.simulation.keys.get(call.path["key_id"]).answer()


@ROUTES.declare("DELETE", "/keys/{key_id}", "keys:revoke", RevokeKeyResponse, errors=(400, 404, 409))
def _revoke(call: Call) -> JsonObject:
    """Revoke a key."""
    key = call.simulation.keys.revoke(call.path["key_id"])
    call.simulation.note_change()
    return {
        "key_id": key.key_id,
        "name": key.data["name"],
        "revoked_at": key.data["revoked_at"],
        "message": f"Key {key.key_id} is revoked.",
    }
