"""A walk."""

from tests.ues.helpers import Sim


def tell(sim: Sim) -> None:
    """Leave home, walk, arrive."""
    sim.do("/location/update", latitude=52.5, longitude=13.4, named_location="Home", address="Allee 1 🏠", accuracy=5)
    sim.do("/location/update", latitude=52.51, longitude=13.41, speed=1.4, bearing=45, altitude=34.5)
    sim.do("/location/update", latitude=-0.0, longitude=180, named_location="Work")
