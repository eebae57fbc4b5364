"""What the simulator counts."""

from collections.abc import Callable

from prometheus_client import Counter, Gauge, Histogram

from proctor.observing.requests import CountedRequests

REQUESTS = Counter("proctor_simulator_requests", "Requests to the simulator, by the status of the answer.", ["status"])
REQUEST_SECONDS = Histogram(
    "proctor_simulator_request_seconds",
    "How long the simulator takes for a request.",
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
SIMULATIONS = Gauge("proctor_simulations", "Simulations on this host.")
FENCES_REFUSED = Counter("proctor_simulator_fences_refused", "Requests that were refused for a fence from the past.")


def counted(app: object, count_simulations: Callable[[], int]) -> CountedRequests:
    """The simulator's application, with its requests and simulations counted."""
    SIMULATIONS.set_function(count_simulations)
    return CountedRequests(app, REQUESTS, REQUEST_SECONDS)
