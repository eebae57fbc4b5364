"""Host many isolated simulations in one server."""

import re
import secrets
from collections.abc import Iterable
from time import monotonic

from proctor.ues import fences
from proctor.ues.fences import Ended
from proctor.ues.parts import Name, name_content
from proctor.ues.problems import Conflict, NotFound
from proctor.ues.simulation import Simulation

SIMULATION_ID_PATTERN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}")
"""Ids don't begin with a dot, because clients read ``/simulations/..`` as the parent folder."""


PENDING_SECONDS = 300.0
"""The seconds for which parts of a checkpoint are kept for a claim, counted from the latest part."""


class Host:
    """The simulations of one server, by id."""

    def __init__(self) -> None:
        self.simulations: dict[str, Simulation] = {}
        self.ended = Ended()
        self._pending: dict[str, tuple[float, dict[Name, bytes]]] = {}

    def leave_parts(self, simulation_id: str, contents: Iterable[bytes]) -> int:
        """Keep parts of a checkpoint for a coming claim on a simulation. Returns the number of all kept parts."""
        now = monotonic()
        self._pending = {name: entry for name, entry in self._pending.items() if now - entry[0] < PENDING_SECONDS}
        kept = self.pending_parts(simulation_id)
        kept.update((name_content(content), content) for content in contents)
        self._pending[simulation_id] = (now, kept)
        return len(kept)

    def pending_parts(self, simulation_id: str) -> dict[Name, bytes]:
        return self._pending.get(simulation_id, (0.0, {}))[1]

    def forget_parts(self, simulation_id: str) -> None:
        self._pending.pop(simulation_id, None)

    def create(self, simulation_id: str | None, admin_secret: str, seed: int | str | None) -> Simulation:
        """Make a simulation; omitted id and seed are drawn.

        Raises:
            Conflict: 409, the id is taken.
            FenceMissing: 428, a simulation with this id was ended with a fence, and only a claim can bring it back.
        """
        chosen = simulation_id or f"sim_{secrets.token_hex(8)}"
        fences.require(None, self.ended.find_fence(chosen), changes=True)
        if chosen in self.simulations:
            raise Conflict(f"simulation_id {chosen!r} is taken; choose another, or leave it out to have one made.")
        return self.replace(chosen, admin_secret, seed)

    def replace(self, simulation_id: str, admin_secret: str, seed: int | str | None) -> Simulation:
        """Make an empty simulation with this id, replacing any that has it; a ``seed`` of None is drawn."""
        simulation = Simulation(simulation_id, admin_secret, str(seed) if seed is not None else secrets.token_hex(16))
        self.keep(simulation)
        return simulation

    def keep(self, simulation: Simulation) -> None:
        self.ended.forget(simulation.simulation_id)
        self.simulations[simulation.simulation_id] = simulation

    def get(self, simulation_id: str) -> Simulation:
        simulation = self.simulations.get(simulation_id)
        if simulation is None:
            raise NotFound(f"There is no simulation {simulation_id[:80]!r}.")
        return simulation

    def find_fence(self, simulation_id: str) -> int:
        """Return the fence that holds a simulation or has ended it; 0 for none."""
        simulation = self.simulations.get(simulation_id)
        return max(simulation.fence if simulation else 0, self.ended.find_fence(simulation_id))

    def delete(self, simulation_id: str, fence: int | None = None) -> None:
        """Forget a simulation and its keys; the fence is remembered, even if there is no such simulation.

        Raises:
            NotFound: 404, there is no such simulation.
            Overtaken: 412, the fence is lower than the held one.
            FenceMissing: 428, the simulation has a fence and the request has none.
        """
        held = self.find_fence(simulation_id)
        if fence is None:
            fences.require(None, held, changes=True)
        else:
            fences.refuse_lower(fence, held)
            self.ended.note(simulation_id, fence)
        self.forget_parts(simulation_id)
        self.get(simulation_id)
        del self.simulations[simulation_id]
