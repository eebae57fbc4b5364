"""A test that fails, and leaves something behind that can't be torn down, ends all the same."""

import subprocess
import sys
from pathlib import Path

from tests.scheduling import ROOT
from tests.waiting import PATIENCE

STUBBORN = """
import asyncio

import pytest

async def stay():
    while True:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            pass

@pytest.mark.timeout(2)
async def test_that_leaves_a_task():
    task = asyncio.create_task(stay())
    await asyncio.sleep(0)
    assert not task
"""


def test_a_teardown_that_hangs_after_a_failure_is_ended(tmp_path: Path) -> None:
    (tmp_path / "test_stubborn.py").write_text(STUBBORN)
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\ntimeout = 1\n")
    plugins = [part for name in ("asyncio", "timeout", "tests.hangs") for part in ("-p", name)]
    command = [sys.executable, "-m", "pytest", "--disable-plugin-autoload", *plugins, "--rootdir", str(tmp_path)]
    ended = subprocess.run(
        [*command, "-c", str(tmp_path / "pytest.ini"), str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert "1 failed, 1 error" in ended.stdout, ended.stdout
    assert "the teardown hangs: it has taken 2 s" in ended.stdout
