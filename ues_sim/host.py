"""The host: many simulations in one server, each apart from all the others."""

import re
import secrets

from ues_sim.problems import Conflict, NotFound
from ues_sim.simulation import Simulation

SIMULATION_ID_PATTERN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}")
"""No dot in front: clients take ``/simulations/..`` for the folder above."""


class Host:
    """The simulations of one server, by id."""

    def __init__(self) -> None:
        self.simulations: dict[str, Simulation] = {}

    def create(self, simulation_id: str | None, admin_secret: str, seed: str | None) -> Simulation:
        """Make a simulation; id and seed are drawn when not given. Raises Conflict (409) when the id is taken."""
        chosen = simulation_id or f"sim_{secrets.token_hex(8)}"
        if chosen in self.simulations:
            raise Conflict(f"simulation_id {chosen!r} is taken; choose another, or leave it out to have one made.")
        simulation = Simulation(chosen, admin_secret, seed if seed is not None else secrets.token_hex(16))
        self.simulations[chosen] = simulation
        return simulation

    def get(self, simulation_id: str) -> Simulation:
        """The simulation of that id. Raises NotFound (404)."""
        simulation = self.simulations.get(simulation_id)
        if simulation is None:
            raise NotFound(f"There is no simulation {simulation_id[:80]!r}.")
        return simulation

    def delete(self, simulation_id: str) -> None:
        """Forget a simulation and its keys. Raises NotFound (404)."""
        self.get(simulation_id)
        del self.simulations[simulation_id]
