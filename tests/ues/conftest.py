"""A real server in its own process, and fresh simulations on it.

``sim`` is what most tests want: an HTTP client of a new simulation, with its admin key. See ``helpers.py``
for what it can do besides.

Hypothesis has two profiles, chosen by ``HYPOTHESIS_PROFILE``: ``short`` (by default; the same examples every time)
and ``nightly`` (many, and others every night).
"""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.ues.helpers import Server, Sim

settings.register_profile(
    "short",
    max_examples=2,
    deadline=None,
    derandomize=True,
    # What fails here is told at once; the nightly run takes the time to make it small.
    phases=[Phase.explicit, Phase.generate],
    database=None,
    suppress_health_check=list(HealthCheck),
)
settings.register_profile(
    "nightly",
    max_examples=400,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))


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
