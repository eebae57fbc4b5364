"""A sandbox for each test that runs the command."""

from pathlib import Path

import pytest

from tests.cli.commands import Sandbox


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


@pytest.fixture(autouse=True)
def _quick(quick_fork_servers: None) -> None:
    """What tests call in their own process; the services' own workers start theirs."""
