"""What tests call in their own process has quick fork servers."""

import pytest


@pytest.fixture(autouse=True)
def _quick(quick_fork_servers: None) -> None:
    pass
