"""One simulator in this process for all plays."""

from collections.abc import Iterator

import pytest

from tests.scenarios.playing import Rehearsal, rehearsing


@pytest.fixture(scope="session")
def rehearsal() -> Iterator[Rehearsal]:
    """Plays scripts of shipped scenarios; see ``playing``."""
    with rehearsing() as rehearsal:
        yield rehearsal
