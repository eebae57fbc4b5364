"""Processes of ours for tests: started with a free port, known by their ready line, ended by their own pid."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]


@contextmanager
def running(*module_and_args: str, **environment: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Run ``python -m ...`` and give its address (with no slash at the end) once it listens."""
    process = subprocess.Popen(
        [sys.executable, "-m", *module_and_args],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(r"listening on (http://[^\s/]+)", line):
                yield found[1].replace("localhost", "127.0.0.1"), process
                break
        else:
            raise AssertionError(f"{module_and_args[0]} ended before it was ready, with {process.wait()}")
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
