"""A sandbox for each test that runs the command."""

from pathlib import Path

import pytest

from tests.kept_fork_server import keep_fork_server
from tests.proctor.commands import Sandbox


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


@pytest.fixture(autouse=True)
def _one_fork_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """What tests call in their own process shares one; the services' own workers have theirs."""
    keep_fork_server(monkeypatch)
