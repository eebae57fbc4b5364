"""Where the participants of an assessment meet in a turn: the instant that time moves to, and what they sent."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from temporalio import workflow

from activities.characters.messages import OutgoingMessage
from activities.simulation.payloads import Sent


class Meeting(NamedTuple):
    """What comes of a turn for one role: the instant that time moves to, and the messages that arrive."""

    to: datetime
    arrivals: list[OutgoingMessage]


class Exchange:
    """One turn of the roles that play it; each meets the others once, or leaves."""

    def __init__(self, roles: Sequence[str]) -> None:
        self._roles = list(roles)
        self._awaited = set(roles)
        self._sent: dict[str, list[Sent]] = {}
        self._ends: list[datetime] = []
        self._settled: list[datetime] = []

    def leave(self, role: str, sent: Iterable[Sent] = ()) -> None:
        """Have the others not wait for a role, which has ended its assessment or failed; ``sent`` still arrives."""
        if role in self._awaited:
            self._sent[role] = list(sent)
            self._awaited.discard(role)

    async def meet(self, role: str, sent: Iterable[Sent], ends: datetime, settled_at: datetime) -> Meeting:
        """Wait until every other role has come here, or left.

        Args:
            role: who comes.
            sent: what its participant sent to users of other roles.
            ends: when its turn is to end. The earliest such instant counts for all, so that all have the same clock.
            settled_at: the instant of its simulation; time never moves to before that of any role.
        """
        self._ends.append(ends)
        self._settled.append(settled_at)
        self.leave(role, sent)
        await workflow.wait_condition(lambda: not self._awaited)
        arrivals = [each.message for other in self._roles for each in self._sent.get(other, ()) if each.role == role]
        return Meeting(max(min(self._ends), *self._settled), arrivals)
