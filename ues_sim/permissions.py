"""Who may do what: derived from the route tables, so that it can't differ from what the server asks for."""

from ues_sim.http.routes import SIMULATION_ROUTES

ENDPOINT_PERMISSIONS: tuple[str, ...] = tuple(
    sorted({route.permission for route in SIMULATION_ROUTES if route.permission is not None})
)
"""Every permission that some endpoint asks for."""

USER_PERMISSIONS: tuple[str, ...] = tuple(
    sorted({route.permission for route in SIMULATION_ROUTES if route.permission is not None and route.participant})
)
"""What a participant's key (level "user") may do: read the clock and every modality, and act as the user."""
