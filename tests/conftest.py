"""What tests of every room share."""

from collections.abc import Iterator

import pytest

from tests.stack import Stack, running_stack


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """One evaluator for all tests of a session that need one."""
    with running_stack() as running:
        yield running
