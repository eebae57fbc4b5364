"""Locks between processes are waited for within limits, and CLI agents can't take those of builds."""

import fcntl
import os
import sys
import tempfile
from pathlib import Path

import pytest

from proctor.terminal.failures import TerminalError
from proctor.terminal.images import _alone
from purple_sdk.harness.launcher import Rules
from purple_sdk.harness.program import run_program
from purple_sdk.harness.starting import hidden_folders
from purple_sdk.processes.landlock import landlock_version
from purple_sdk.processes.locks import builds_folder
from tests.sentences import says

LOCKS = """
import fcntl, glob, os, sys
for file in glob.glob(sys.argv[1] + "/*"):
    try:
        fcntl.flock(os.open(file, os.O_RDONLY), fcntl.LOCK_EX)
        print("took", file)
    except PermissionError:
        print("refused")
print("tried")
"""


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


async def test_a_build_that_another_process_keeps_is_given_up() -> None:
    async with _alone("a build"):
        (file,) = builds_folder().iterdir()
    with file.open() as kept:
        fcntl.flock(kept, fcntl.LOCK_EX)
        with pytest.raises(TerminalError, check=says()):
            async with _alone("a build", 0):
                pass
    async with _alone("a build", 0):
        pass


@pytest.mark.skipif(landlock_version() < 1, reason="this kernel has no Landlock")
async def test_a_cli_agent_can_not_take_the_lock_of_a_build(tmp_path: Path) -> None:
    async with _alone("a build"):
        pass
    work = tmp_path / "homes" / "work"
    work.mkdir(parents=True)
    hidden = hidden_folders(tmp_path / "homes")
    rules = Rules(work=str(work), writable=[str(work)], hidden=hidden, readable=[sys.prefix], port=1)
    command = [sys.executable, "-c", LOCKS, str(builds_folder())]
    printed = await run_program(command, rules=rules, environment=dict(os.environ), seconds=60)
    assert (printed.stdout.splitlines()[-1], printed.stderr) == ("tried", "")
    assert "took" not in printed.stdout
