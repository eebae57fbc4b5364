"""A whole evaluator with a worker beside a real Docker engine."""

from collections.abc import Iterator

import pytest

from tests.stack import Stack, running_stack
from tests.waiting import wait_until
from tests.work import NIGHTLY


@pytest.fixture(scope="session")
def terminal_stack(request: pytest.FixtureRequest, docker_engine: str) -> Iterator[Stack]:
    """The session's evaluator, once it has found the engine; one of its own where all trials of all are counted."""
    if NIGHTLY:
        with running_stack(environment={"DOCKER_HOST": docker_engine, "AGENTBEATS_GREEN_CONTAINERS": "on"}) as running:
            yield running
        return
    stack: Stack = request.getfixturevalue("stack")
    log = stack.local.logs / "worker.log"
    assert wait_until(lambda: "Docker engine" in log.read_text()), log.read_text()
    yield stack
