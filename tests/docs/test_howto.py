"""The pages of docs/howto can be followed: their blocks are files, lines to insert and lines to replace.

``<!-- file PATH -->`` before a block: it is that file. ``<!-- insert PATH after TEXT -->`` (or ``before``): it comes
beside the only line with that text. ``<!-- replace PATH at TEXT -->``: it replaces that line. Then the generators and
the tests that the page names are run.
"""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import document, of_language
from tests.programs import ROOT
from tests.waiting import PATIENCE
from tests.work import only_nightly

SHORT_PAGES = ("docs/howto/setting.md", "docs/howto/judge.md")
LONG_PAGES = ("docs/howto/activity.md", "docs/howto/modality.md")
ALL_PAGES = (*SHORT_PAGES, *LONG_PAGES)
_CHANGE = re.compile(r"(?P<how>file|insert|replace) (?P<path>\S+)(?: (?P<where>after|before|at) (?P<text>.+))?")


def follow(page: str, tree: Path) -> None:
    """Make the changes of a page in a copy of the project."""
    for block in of_language("python"):
        change = _CHANGE.fullmatch(block.note)
        if block.document != page or change is None:
            continue
        path = tree / change["path"]
        if change["how"] == "file":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
            continue
        lines = path.read_text().splitlines(keepends=True)
        (at,) = [number for number, line in enumerate(lines) if change["text"] in line]
        lines[at : at + 1] = {
            "after": [lines[at], block.text],
            "before": [block.text, lines[at]],
            "at": [block.text],
        }[change["where"]]
        path.write_text("".join(lines))


@pytest.mark.timeout(4 * PATIENCE)
@pytest.mark.parametrize("pages", [SHORT_PAGES, *(pytest.param((page,), marks=only_nightly) for page in LONG_PAGES)])
def test_pages_can_be_followed(pages: tuple[str, ...], tmp_path: Path) -> None:
    """Those of one copy come one after the other; their tests are run together."""
    for entry in ROOT.iterdir():
        if (entry / "__init__.py").exists():
            # With what is compiled: it holds for the copies, which keep their times.
            shutil.copytree(entry, tmp_path / entry.name, True, shutil.ignore_patterns("node_modules"))
        elif entry.name == "docs":
            # Not a link: generators write pages.
            shutil.copytree(entry, tmp_path / entry.name, ignore=shutil.ignore_patterns("images"))
        elif not entry.name.startswith(".") and entry.name != "site":
            (tmp_path / entry.name).symlink_to(entry)
    tests: list[str] = []
    for page in pages:
        follow(page, tmp_path)
        for generator in re.findall(r"`\.venv/bin/python -m (tests\.[\w.]+)`", document(page)):
            subprocess.run([sys.executable, "-m", generator], cwd=tmp_path, timeout=PATIENCE, check=True)
        (command,) = re.findall(r"`\.venv/bin/python -m pytest ([^`]+)`", document(page))
        tests += shlex.split(command)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-1_000:]
