"""One simulator in this process for all plays."""

from collections.abc import Iterator

import pytest

from tests.scenarios.playing import Rehearsal, rehearsing


@pytest.fixture(scope="module", autouse=True)
def _quick(quick_fork_servers: None) -> None:
    """Scenarios' code is judged by processes that are there at once."""


@pytest.fixture(scope="session")
def rehearsal() -> Iterator[Rehearsal]:
    """Plays scripts of shipped scenarios; see ``playing``."""
    with rehearsing() as rehearsal:
        yield rehearsal
