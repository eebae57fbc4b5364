"""The documents' transcripts, done again: every command runs, and prints what stands there.

In a transcript, ``…`` on a line of its own stands for any lines, and within a line for anything.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.blocks import Block, commands_in, of_language
from tests.programs import ROOT
from tests.waiting import PATIENCE
from tests.work import NIGHTLY


def expected(lines: tuple[str, ...]) -> re.Pattern[str]:
    """What output has to look like."""
    pattern = ""
    for line in lines:
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += r".*?".join(re.escape(part) for part in line.rstrip().split("…")) + r"\s*\n"
    return re.compile(pattern)


def transcripts() -> list[Any]:
    """All of them; one of several commands is long, since each starts Python, and the last an evaluator."""
    found = [block for block in of_language("console") if block.note == "replayed"]
    is_long = pytest.mark.skipif(not NIGHTLY, reason="takes long: make nightly")
    return [pytest.param(block, marks=is_long if len(commands_in(block)) > 1 else ()) for block in found]


@pytest.mark.timeout(4 * PATIENCE)  # as the longest of its commands, on a very busy machine
@pytest.mark.parametrize("block", transcripts(), ids=str)
def test_a_transcript_is_what_happens(block: Block, tmp_path: Path) -> None:
    programs = Path(sys.executable).parent
    (tmp_path / ".venv").symlink_to(programs.parent)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AGENTBEATS_", "UES_", "OPENAI"))}
    environment = {
        **kept,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "COLUMNS": "120",
    }
    for command in commands_in(block):
        done = subprocess.run(
            ["bash", "-c", command.text],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )
        assert expected(command.output).fullmatch(done.stdout), f"$ {command.text}\n{done.stdout}"
