from collections.abc import AsyncIterator, Iterator

import pytest

from tests.processes import Process, serving
from tests.purple_sdk.evaluator import Evaluator
from tests.scenarios.playing import Rehearsal, rehearsing


@pytest.fixture(scope="session")
def rehearsal() -> Iterator[Rehearsal]:
    """Plays days of the shipped scenarios; one simulator for all."""
    with rehearsing() as made:
        yield made


@pytest.fixture(scope="session")
def probe() -> Iterator[tuple[str, Process]]:
    with serving("tests.purple_sdk.probe_agent", "--host", "127.0.0.1", "--port", "0") as found:
        yield found


@pytest.fixture
async def evaluator(probe: tuple[str, object]) -> AsyncIterator[Evaluator]:
    async with Evaluator(probe[0]) as caller:
        yield caller
