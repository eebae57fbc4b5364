"""A view of files of its own: folders are as they were, also beside others in which something is mounted."""

import fcntl
import json
import subprocess
import sys
from pathlib import Path

import pytest

from purple_sdk.processes.namespaces import has_own_view

pytestmark = pytest.mark.skipif(
    not has_own_view(processes=False), reason="this machine lets this user have no namespaces"
)
ARRANGED = """
import fcntl, json, os, sys
from purple_sdk.processes import namespaces
top = sys.argv[1]
namespaces.unshare(processes=False)
namespaces._mount("tmpfs", f"{top}/mounted", 0)
namespaces.arrange([f"{top}/own"], [f"{top}/hidden/kept", f"{top}/gone"], [f"{top}/hidden", f"{top}/absent"])
with open(f"{top}/own/file", "w") as file:
    file.write("written")
found = {"modes": [os.stat(f"{top}/{name}").st_mode & 0o7777 for name in ("own", "other", "hidden/kept")]}
found["hidden"] = os.listdir(f"{top}/hidden")
found["kept"] = open(f"{top}/hidden/kept/file").read()
fcntl.flock(os.open(f"{top}/other/file", os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
for path in ("other/file", "hidden/file", "hidden/kept/file"):
    try:
        open(f"{top}/{path}", "w")
    except OSError as problem:
        found[path] = problem.strerror
print(json.dumps(found))
"""


def test_folders_beside_one_with_a_mount(tmp_path: Path) -> None:
    for name, mode in (("mounted", 0o700), ("own", 0o750), ("other", 0o711), ("hidden", 0o700), ("hidden/kept", 0o701)):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(mode)
        (tmp_path / name / "file").write_text(name)
    with (tmp_path / "other" / "file").open() as locked:
        fcntl.flock(locked, fcntl.LOCK_EX)
        printed = subprocess.run(
            [sys.executable, "-c", ARRANGED, str(tmp_path)], capture_output=True, text=True, check=False, timeout=60
        )
    assert printed.returncode == 0, printed.stderr
    read_only = "Read-only file system"
    assert json.loads(printed.stdout) == {
        "modes": [0o750, 0o711, 0o701],
        "hidden": ["kept"],
        "kept": "hidden/kept",
        **dict.fromkeys(("other/file", "hidden/file", "hidden/kept/file"), read_only),
    }
    assert (tmp_path / "own" / "file").read_text() == "written"
