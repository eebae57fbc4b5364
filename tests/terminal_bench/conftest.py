"""A whole evaluator with a worker beside a real Docker engine."""

from collections.abc import Iterator

import pytest

from tests.stack import Stack, running_stack


@pytest.fixture(scope="session")
def terminal_stack(docker_engine: str) -> Iterator[Stack]:
    with running_stack(environment={"DOCKER_HOST": docker_engine, "AGENTBEATS_GREEN_CONTAINERS": "on"}) as running:
        yield running
