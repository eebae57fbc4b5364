"""A typed client of the User Environment Simulator, async and sync; ``answers`` has the types of its answers."""

from purple_sdk.ues.answers import ActionResult, EventRecord, KeyCreated, SimulationStatus, TimeState
from purple_sdk.ues.client import AsyncUESClient, AsyncUESHost, UESClient, UESHost
from purple_sdk.ues.errors import (
    AuthenticationError,
    BadRequestError,
    ConflictError,
    NotFoundError,
    OvertakenError,
    PermissionDeniedError,
    ServerError,
    UESConnectionError,
    UESError,
    UESResponseError,
    UESTimeoutError,
    UnexpectedAnswerError,
    ValidationError_,
)

__all__ = [
    "ActionResult",
    "AsyncUESClient",
    "AsyncUESHost",
    "AuthenticationError",
    "BadRequestError",
    "ConflictError",
    "EventRecord",
    "KeyCreated",
    "NotFoundError",
    "OvertakenError",
    "PermissionDeniedError",
    "ServerError",
    "SimulationStatus",
    "TimeState",
    "UESClient",
    "UESConnectionError",
    "UESError",
    "UESHost",
    "UESResponseError",
    "UESTimeoutError",
    "UnexpectedAnswerError",
    "ValidationError_",
]
