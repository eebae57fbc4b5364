"""A real server in its own process, and fresh simulations on it.

``sim`` is what most tests want: an HTTP client of a new simulation, with its admin key. See ``helpers.py``
for what it can do besides.
"""

from collections.abc import Iterator

import pytest

from tests.ues_sim.helpers import Server, Sim


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One host of simulations for the whole session."""
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def sim(server: Server) -> Iterator[Sim]:
    """A new simulation, its clock at 2025-01-06T09:00:00+00:00."""
    sim = server.new_simulation()
    yield sim
    sim.delete_me()
