"""Derive keys from the deployment's secret (RFC 2104 HMAC with SHA-256), so none has to be stored."""

import hashlib
import hmac

from proctor.protocol.modalities import SHOWN

PARTICIPANT = "participant"
"""The name of every participant's key, and of the author of a participant's actions."""

READER_KEY_ID = "reader"
ADMIN_KEY_ID = "admin"

_OF_USERS = {
    "time": "read",
    "environment": "read list",
    "email": "state query send read unread star unstar archive delete label unlabel move",
    "sms": "state query send read unread delete react",
    "calendar": "state query create update delete respond calendars:list",
    "chat": "state query send",
    "contacts": "state query create update",
    "location": "state query",
    "weather": "state query",
}
USER_PERMISSIONS = [f"{what}:{action}" for what, actions in _OF_USERS.items() for action in actions.split()]
"""A participant's permissions: read, and act as the user (UES contract, keys and permissions, level "user")."""

READER_PERMISSIONS = [
    "time:read",
    "environment:read",
    "environment:list",
    "environment:validate",
    *(f"{modality}:{action}" for modality in SHOWN for action in ("state", "query")),
    "calendar:calendars:list",
    *(f"events:{action}" for action in ("list", "read", "summary")),
    "simulation:status",
]
"""An evaluator function's permissions: read everything, change nothing."""


def _derive(secret: str, purpose: str) -> str:
    return hmac.new(secret.encode(), purpose.encode(), hashlib.sha256).hexdigest()


def host_key(secret: str) -> str:
    """Return the key that makes and ends simulations on the simulator's server."""
    return _derive(secret, "host")


def admin_key(secret: str, simulation_id: str) -> str:
    return _derive(secret, f"admin:{simulation_id}")


def participant_key(secret: str, simulation_id: str, issue: int) -> str:
    """Return a key of the participant. ``issue`` is the fence of the attempt that made it; 0 for an assessment that
    began before fences existed.
    """
    if not issue:
        return _derive(secret, f"participant:{simulation_id}")
    return f"participant-{issue}-{_derive(secret, f'participant:{simulation_id}:{issue}')}"


def participant_key_id(issue: int) -> str:
    """Return the id by which the simulation's events name a participant's key."""
    return f"{PARTICIPANT}-{issue}" if issue else PARTICIPANT


def commands_key(secret: str, trial_id: str) -> str:
    """Return the key with which a terminal trial's agent sends commands to the trial's endpoint."""
    return _derive(secret, f"commands:{trial_id}")


def reader_key(secret: str, simulation_id: str) -> str:
    """Return the key with which evaluator functions read."""
    return _derive(secret, f"reader:{simulation_id}")


def list_keys(secret: str, simulation_id: str) -> set[str]:
    """Return all keys of a simulation that are derived from the deployment's secret, to remove them from texts."""
    return {
        host_key(secret),
        admin_key(secret, simulation_id),
        reader_key(secret, simulation_id),
        participant_key(secret, simulation_id, 0),
    }
