"""The route tables of one simulation, by subject."""

from proctor.ues.http.route import Call, Route
from proctor.ues.http.routes import (
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

ENDPOINT_PERMISSIONS: tuple[str, ...] = tuple(
    sorted({route.permission for route in SIMULATION_ROUTES if route.permission})
)
"""Every permission that some endpoint asks for."""

USER_PERMISSIONS: tuple[str, ...] = tuple(
    sorted({route.permission for route in SIMULATION_ROUTES if route.permission and route.participant})
)
"""The permissions of a participant's key (level "user"): read the clock and every modality, and act as the user."""
