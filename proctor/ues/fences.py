"""Check fences, which let only the latest holder of a simulation change it.

A fence is a number that only rises. Before changing a simulation, a caller *claims* it with a fence (``claims``). The
caller then sends this fence with every change. A request with a lower fence is refused: since its sender's claim,
another caller has claimed the simulation. An unclaimed simulation takes requests without a fence, as UES does.

The fence of an ended simulation is remembered. No earlier holder can therefore bring the simulation back.
"""

from collections import OrderedDict

from proctor.ues.metrics import FENCES_REFUSED
from proctor.ues.problems import Conflict, FenceMissing, Overtaken

HEADER = b"x-ues-fence"

MOST_ENDED = 10_000
"""The number of ended simulations whose fences are remembered, at some 100 bytes each."""


def refuse_lower(fence: int, held: int) -> None:
    """Raise Overtaken (412) for a fence lower than the held one."""
    if fence < held:
        FENCES_REFUSED.inc()
        raise Overtaken(
            {
                "message": f"another attempt has taken over: the fence {fence} of this request is lower than {held}, "
                "which holds the simulation.",
                "fence": held,
            }
        )


def require(fence: int | None, held: int, *, changes: bool) -> None:
    """Check the fence of a request to a simulation that is held by ``held`` (0: not held).

    Raises:
        Overtaken: 412, the request has a lower fence.
        Conflict: 409, the request has a higher fence, since its sender's claim was lost.
        FenceMissing: 428, a request without a fence would change something.
    """
    if fence is None:
        if changes and held:
            raise FenceMissing("This simulation was claimed with a fence: send yours as X-UES-Fence.")
        return
    refuse_lower(fence, held)
    if fence > held:
        raise Conflict(
            f"the fence {fence} of this request has not claimed this simulation; it is held by {held}: "
            "it was lost and made again since. Claim it again."
        )


class Ended:
    """The fences of ended simulations, by their ids; the oldest are forgotten."""

    def __init__(self, most: int = MOST_ENDED) -> None:
        self._most = most
        self._fences: OrderedDict[str, int] = OrderedDict()

    def note(self, simulation_id: str, fence: int) -> None:
        self._fences[simulation_id] = max(fence, self.find_fence(simulation_id))
        self._fences.move_to_end(simulation_id)
        while len(self._fences) > self._most:
            self._fences.popitem(last=False)

    def find_fence(self, simulation_id: str) -> int:
        """Return the fence that ended a simulation; 0 if none did."""
        return self._fences.get(simulation_id, 0)

    def forget(self, simulation_id: str) -> None:
        self._fences.pop(simulation_id, None)
