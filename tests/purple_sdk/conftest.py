from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple

import pytest

from proctor.activities.simulation.keys import host_key
from proctor.local.own_simulator import own_simulator
from proctor.settings.config import GreenAgentConfig
from tests.programs import Process, serving
from tests.purple_sdk.evaluator import Evaluator
from tests.scenarios.playing import Rehearsal, rehearsing


@pytest.fixture(scope="session")
def rehearsal() -> Iterator[Rehearsal]:
    """Plays days of the shipped scenarios; one simulator for all."""
    with rehearsing() as made:
        yield made


class Simulator(NamedTuple):
    """Where a simulator is, and the key with which simulations are made in it."""

    url: str
    host_key: str


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    """A real one over HTTP, on a thread of this process."""
    with own_simulator(GreenAgentConfig()) as settings:
        yield Simulator(str(settings.ues_url), host_key(settings.secret.get_secret_value()))


@pytest.fixture(scope="session")
def probe() -> Iterator[tuple[str, Process]]:
    with serving("tests.purple_sdk.probe_agent", "--host", "127.0.0.1", "--port", "0") as found:
        yield found


@pytest.fixture
async def evaluator(probe: tuple[str, object]) -> AsyncIterator[Evaluator]:
    async with Evaluator(probe[0]) as caller:
        yield caller
