"""API keys: who may do what. Only a secret's hash is kept."""

import re
import secrets
from hashlib import sha256

from proctor.ues.ids import IdSource
from proctor.ues.problems import Conflict, Impossible, NotFound
from proctor.ues.schema import JsonObject
from proctor.ues.times import wall_text

ADMIN_KEY_ID = "admin"

PERMISSION_PATTERN = re.compile(r"\*|[a-z][a-z_-]*(?::[a-z][a-z_-]*)?:(?:\*|[a-z][a-z_-]*)")
"""``resource:action`` or ``resource:sub:action``; ``*`` for everything, or in place of the action."""


def new_secret() -> str:
    """A secret of 256 random bits."""
    return f"ues_{secrets.token_urlsafe(32)}"


def hash_of(secret: str) -> str:
    """What is kept of a secret. Secrets are long and random, so one round of SHA-256 is enough."""
    return sha256(secret.encode()).hexdigest()


def grants(held: str, needed: str) -> bool:
    """Whether one held permission covers the needed one. ``email:*`` covers everything under ``email:``."""
    return held == needed or held == "*" or (held.endswith(":*") and needed.startswith(held[:-1]))


class Key:
    """One key. ``data`` is what a checkpoint stores; the set of permissions found granted is only a cache."""

    __slots__ = ("_granted", "_set", "data", "last_used_at")

    def __init__(self, data: JsonObject, last_used_at: str | None = None) -> None:
        self.data = data
        self.last_used_at = last_used_at
        self._granted: dict[str, bool] = {}
        self._set: frozenset[str] | None = None

    @property
    def key_id(self) -> str:
        return str(self.data["key_id"])

    def allows(self, permission: str) -> bool:
        known = self._granted.get(permission)
        if known is None:
            known = self._granted[permission] = any(grants(held, permission) for held in self.data["permissions"])
        return known

    def has_exactly(self, permissions: frozenset[str]) -> bool:
        """Whether these are the key's permissions, no more and no fewer."""
        if self._set is None:
            self._set = frozenset(self.data["permissions"])
        return self._set == permissions

    def answer(self) -> JsonObject:
        """The key as callers see it: without its hash."""
        revoked_at = self.data["revoked_at"]
        return {
            **{name: self.data[name] for name in ("key_id", "name", "permissions", "created_at", "created_by")},
            "last_used_at": self.last_used_at,
            "is_active": revoked_at is None,
            "revoked_at": revoked_at,
        }


class KeyRing:
    """The keys of one simulation, in order of creation.

    The admin key belongs to the server that runs the simulation, so that restoring a foreign checkpoint doesn't
    lock it out: after ``load`` both the server's own admin secret and the checkpoint's open the simulation.
    """

    def __init__(self, admin_secret: str) -> None:
        self._own_admin_hash = hash_of(admin_secret)
        self.by_id: dict[str, Key] = {}
        self._by_hash: dict[str, Key] = {}
        self._enter_new(ADMIN_KEY_ID, "Admin", ["*"], "system", self._own_admin_hash)

    def _enter_new(self, key_id: str, name: str, permissions: list[str], created_by: str, digest: str) -> Key:
        key = Key(
            {
                "key_id": key_id,
                "name": name,
                "permissions": permissions,
                "created_at": wall_text(),
                "created_by": created_by,
                "revoked_at": None,
                "secret_hash": digest,
            }
        )
        self._enter(key)
        return key

    def _enter(self, key: Key) -> None:
        self.by_id[key.key_id] = key
        if key.data["revoked_at"] is None:
            self._by_hash[key.data["secret_hash"]] = key

    def find(self, secret: str) -> Key | None:
        return self._by_hash.get(sha256(secret.encode("utf-8", "surrogateescape")).hexdigest())

    def create(
        self, key_id: str | None, name: str, permissions: list[str], secret: str, created_by: str, ids: IdSource
    ) -> Key:
        """Enter a new key, its id drawn when not given. Raises Conflict (409) when the id or the secret is taken."""
        digest = hash_of(secret)
        if key_id in self.by_id:
            raise Conflict(f"key_id {key_id!r} is taken; choose another, or leave it out to have one made.")
        if any(key.data["secret_hash"] == digest for key in self.by_id.values()):
            raise Conflict("This secret belongs to another key; choose another, or leave it out to have one made.")
        return self._enter_new(key_id or ids.draw(), name, permissions, created_by, digest)

    def get(self, key_id: str) -> Key:
        key = self.by_id.get(key_id)
        if key is None:
            raise NotFound(f"There is no key {key_id[:80]!r}.")
        return key

    def revoke(self, key_id: str) -> Key:
        """End a key for good. Raises NotFound (404), Conflict (409, already revoked), Impossible (400, admin)."""
        key = self.get(key_id)
        if key_id == ADMIN_KEY_ID:
            raise Impossible("The admin key can't be revoked.")
        if key.data["revoked_at"] is not None:
            raise Conflict(f"Key {key_id!r} was already revoked at {key.data['revoked_at']}.")
        key.data["revoked_at"] = wall_text()
        self._by_hash.pop(key.data["secret_hash"], None)
        return key

    def dump(self) -> list[JsonObject]:
        return [{**key.data, "last_used_at": key.last_used_at} for key in self.by_id.values()]

    def load(self, stored: list[JsonObject]) -> None:
        self.by_id.clear()
        self._by_hash.clear()
        for data in stored:
            rest = dict(data)
            self._enter(Key(rest, rest.pop("last_used_at")))
        admin = self.by_id.get(ADMIN_KEY_ID)
        if admin is not None:
            self._by_hash.setdefault(self._own_admin_hash, admin)
