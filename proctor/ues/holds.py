"""Keep holds, which stop the clock while a caller thinks. A hold expires after a timeout in wall time."""

from datetime import datetime, timedelta

from proctor.ues.problems import NotFound
from proctor.ues.schema import JsonObject
from proctor.ues.times import from_text, to_text, wall_now


class Holds:
    """The holds of one simulation, by id. Expired holds are dropped at the next access."""

    def __init__(self, holds: list[JsonObject] | None = None) -> None:
        self.by_id: dict[str, JsonObject] = {hold["hold_id"]: hold for hold in holds or ()}
        self.still_until: datetime | None = None
        """The wall time at which a hold last ended; auto-advance ignores the time before it."""

    def list_active(self) -> list[JsonObject]:
        """Return the holds that haven't expired, oldest first."""
        if not self.by_id:
            return []
        now = wall_now()
        for hold in list(self.by_id.values()):
            latest = now + timedelta(seconds=hold["timeout_seconds"])
            expires = min(from_text(hold["expires_at"]), latest)
            hold["expires_at"] = to_text(expires)  # the wall clock may have been set back
            if expires <= now:
                del self.by_id[hold["hold_id"]]
                self.still_until = max(expires, self.still_until or expires)
        return list(self.by_id.values())

    def acquire(self, hold_id: str, agent_id: str, reason: str, timeout_seconds: float) -> JsonObject:
        """Add a hold of ``timeout_seconds`` of wall time from now, and return it as callers see it."""
        now = wall_now()
        hold = {
            "hold_id": hold_id,
            "agent_id": agent_id,
            "reason": reason,
            "timeout_seconds": timeout_seconds,
            "acquired_at": to_text(now),
            "expires_at": to_text(now + timedelta(seconds=timeout_seconds)),
        }
        self.by_id[hold_id] = hold
        return hold

    def release(self, hold_id: str) -> None:
        """End a hold. Raises NotFound (404) if there is no such active hold."""
        self.list_active()
        if self.by_id.pop(hold_id, None) is None:
            raise NotFound(f"There is no active hold {hold_id[:80]!r}; it may have expired.")
        self.still_until = wall_now()

    def clear(self) -> None:
        if self.by_id:
            self.still_until = wall_now()
        self.by_id.clear()
