"""A move abroad."""

from tests.ues.helpers import Sim


def tell(sim: Sim) -> None:
    """Change the zone, then the way of writing."""
    sim.event("time", {"timezone": "Europe/Berlin", "format_preference": "24h"})
    sim.event("time", {"timezone": "Europe/Berlin", "format_preference": "12h", "week_start": "monday", "locale": "de"})
