"""Processes that tests start: the one home for them, so that none outlives its test.

A process is given as a command, its output is text to read line by line, and it is over when the block is.
"""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import psutil

from proctor.processes.names import OWN_PACKAGES
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[1]
LINKED = frozenset(path.name for path in (ROOT / "proctor").iterdir() if path.is_symlink())
"""The folders at the top that are parts of ``proctor`` by links in it."""


def files_of_packages() -> list[Path]:
    """The Python files of our packages, each once: those in linked folders by their own place."""
    return [path for folder in (*OWN_PACKAGES, *LINKED) for path in (ROOT / folder).rglob("*.py")]


Process = subprocess.Popen[str]


def module(name: str, *arguments: str) -> list[str]:
    """The command ``python -m NAME ...``."""
    return [sys.executable, "-m", name, *arguments]


def program(text: str, *arguments: str) -> list[str]:
    """The command that runs a program given as text; it may import ours and the tests."""
    return [sys.executable, "-c", text, *arguments]


def start(command: list[str], environment: Mapping[str, str] | None = None, **options: Any) -> Process:
    """Start a command, from the root of the repository; whoever starts it ends it (``end``).

    Args:
        command: program and arguments.
        environment: is added to this process's own.
        options: of ``subprocess.Popen``; the output is a pipe unless they say otherwise.
    """
    own = {"cwd": ROOT, "env": {**os.environ, **(environment or {})}, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **{**own, **options})


def end(process: Process, by: signal.Signals = signal.SIGTERM) -> int:
    """Ask it to end, kill it if it doesn't, and return its exit code once it is gone."""
    process.send_signal(by)
    try:
        return process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
    finally:
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


@contextmanager
def running(
    command: list[str],
    environment: Mapping[str, str] | None = None,
    by: signal.Signals = signal.SIGTERM,
    **options: Any,
) -> Iterator[Process]:
    """Run a command beside the test (``start``), until the end of the block (``end``)."""
    process = start(command, environment, **options)
    try:
        yield process
    finally:
        end(process, by)


@asynccontextmanager
async def running_beside(
    command: list[str],
    environment: Mapping[str, str] | None = None,
    by: signal.Signals = signal.SIGTERM,
    **options: Any,
) -> AsyncIterator[Process]:
    """The same where the process needs the test's own event loop to come to its end."""
    process = start(command, environment, **options)
    try:
        yield process
    finally:
        await asyncio.to_thread(end, process, by)


def read_line(process: Process) -> str:
    """The next line of its output, without its end."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def read_address(process: Process) -> str:
    """Where it listens, once it says so: a URL without a slash at the end."""
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r'listening on (http://[^\s/"]+)', line):
            return found[1].replace("localhost", "127.0.0.1")
    raise AssertionError(f"{process.args!r} ended before it was ready, with {process.wait()}")


@contextmanager
def serving(*module_and_arguments: str, **environment: str) -> Iterator[tuple[str, Process]]:
    """Run ``python -m ...`` and give its address once it listens."""
    with running(module(*module_and_arguments), environment) as process:
        yield read_address(process), process


def is_running(pid: int | None) -> bool:
    """Whether there is such a process, and it has not ended: one may do so while it is looked at."""
    if pid is None:
        return False
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
