"""The route tables of one simulation, by subject."""

from ues_sim.http.route import Call, Route
from ues_sim.http.routes import (
    access_logs,
    checkpoints,
    environment,
    events,
    keys,
    modalities,
    scenario,
    simulation,
    time,
)

SIMULATION_ROUTES: tuple[Route[Call], ...] = (
    *time.ROUTES,
    *environment.ROUTES,
    *events.ROUTES,
    *simulation.ROUTES,
    *checkpoints.ROUTES,
    *scenario.ROUTES,
    *modalities.ROUTES,
    *keys.ROUTES,
    *access_logs.ROUTES,
)
"""Every route of a simulation that needs a key."""
