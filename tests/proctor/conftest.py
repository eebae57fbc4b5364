"""A sandbox for each test that runs the command."""

from pathlib import Path

import pytest

from tests.proctor.commands import Sandbox


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)
