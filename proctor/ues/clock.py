"""Keep the simulator's clock: it moves by request, or follows the wall clock at a given scale."""

from datetime import UTC, datetime, timedelta

from proctor.ues.schema import JsonObject
from proctor.ues.times import from_text, to_text, wall_now

LAST_INSTANT = datetime.max.replace(tzinfo=UTC)


class Clock:
    """The current time and how it moves. There is no timer: with auto-advance, ``find_target`` computes the time."""

    def __init__(self, now: datetime) -> None:
        self._moment = now
        self.text = to_text(now)
        """The current time as canonical text."""
        self.time_scale = 1.0
        self.is_paused = False
        self.auto_advance = False
        self.last_wall = wall_now()
        """The wall time up to which auto-advance has been applied."""

    @property
    def moment(self) -> datetime:
        return self._moment

    def move(self, moment: datetime) -> None:
        self._moment = moment
        self.text = to_text(moment)

    def move_to_text(self, text: str) -> None:
        self._moment = from_text(text)
        self.text = text

    @property
    def mode(self) -> str:
        """The clock's mode: ``paused``, ``auto_advance`` or ``manual``."""
        if self.is_paused:
            return "paused"
        return "auto_advance" if self.auto_advance else "manual"

    def find_target(self, wall: datetime, still_until: datetime | None) -> datetime:
        """Return the time that auto-advance reaches at ``wall``; wall time before ``still_until`` doesn't count."""
        since = self.last_wall if still_until is None else max(self.last_wall, still_until)
        elapsed = max(0.0, (wall - since).total_seconds()) * self.time_scale
        try:
            return self._moment + timedelta(seconds=elapsed)
        except OverflowError:
            return LAST_INSTANT

    def dump(self) -> JsonObject:
        return {
            "current_time": self.text,
            "time_scale": self.time_scale,
            "is_paused": self.is_paused,
            "last_wall_time_update": to_text(self.last_wall),
            "auto_advance": self.auto_advance,
        }

    def load(self, state: JsonObject) -> None:
        """Load a checked ``time_state``. Wall time before the load doesn't count for auto-advance."""
        self.move_to_text(state["current_time"])
        self.time_scale = state["time_scale"]
        self.is_paused = state["is_paused"]
        self.auto_advance = state["auto_advance"]
        self.last_wall = wall_now()

    def answer(self) -> JsonObject:
        return {
            "current_time": self.text,
            "time_scale": self.time_scale,
            "is_paused": self.is_paused,
            "auto_advance": self.auto_advance,
            "mode": self.mode,
        }
