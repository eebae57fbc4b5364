"""Temporary folders of processes that were killed go with the next process of the same kind."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from proctor.processes.own_folders import OwnFolder, remove_left_over

_MAKER = """
import sys
from proctor.processes.own_folders import OwnFolder
folder = OwnFolder("proctor-try-")
print(folder.name, flush=True)
sys.stdin.read()
"""


def test_a_folder_is_removed_once_its_process_was_killed_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", _MAKER], stdin=pipe, stdout=pipe, text=True) as maker:
        assert maker.stdout is not None
        folder = Path(maker.stdout.readline().strip())
        (folder / "some" / "files").mkdir(parents=True)
        (tmp_path / "proctor-try-link").symlink_to(tmp_path)
        just_made = tmp_path / "proctor-try-made"
        just_made.mkdir()
        with OwnFolder("proctor-try-") as own:
            assert folder.is_dir()
            assert own != str(folder)
            maker.kill()
            maker.wait()
            with OwnFolder("proctor-try-"):
                assert not folder.exists()
            assert Path(own).is_dir()
        assert not Path(own).exists()
        os.utime(just_made, (0, 0))
        assert remove_left_over("proctor-try-") == [just_made.name]
        assert [path.name for path in tmp_path.iterdir()] == ["proctor-try-link"]
