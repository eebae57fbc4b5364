"""The command as a person runs it: a process of its own, with what it leaves behind; or only what it says."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import psutil
import pytest

from proctor.cli.main import build, main
from tests.programs import Process, end, start
from tests.waiting import PATIENCE, wait_until

PROCTOR = (sys.executable, "-m", "proctor")
DEAD_PROXIES = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
"""An environment with proxies at which nothing listens."""

MARK = "PROCTOR_TEST_MARK"
RUN = "PROCTOR_TEST_RUN"


def run_proctor(*arguments: str) -> object:
    """Run ``proctor ...`` in this process and environment; its errors are raised, its exit code is returned."""
    return build()(list(arguments), standalone_mode=False)


def marked(name: str, value: str) -> list[psutil.Process]:
    """Every running process with this in its environment."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(name) == value and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


@dataclass
class Sandbox:
    """A working folder and a temporary folder of their own, and a mark in the environment that children inherit."""

    folder: Path
    program: tuple[str, ...] = PROCTOR
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def temporary(self) -> Path:
        path = self.folder / "tmp"
        path.mkdir(exist_ok=True)
        return path

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AGENTBEATS_", "UES_"))}
        own = {"TMPDIR": str(self.temporary), "XDG_STATE_HOME": str(self.folder / "user-state"), MARK: self.mark}
        own["AGENTBEATS_GREEN_WORKER_PROCESSES"] = "1"  # unless a test is about them: each takes its time to start
        return {**kept, **own, **more}

    def run(self, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run ``proctor ...`` to its end."""
        return subprocess.run(
            [*self.program, *arguments],
            cwd=self.folder,
            env=self.environment(**environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )

    def call(self, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run ``proctor ...`` to its end in this process: for what ends soon and leaves nothing behind."""
        written = io.BytesIO(), io.BytesIO()
        out, err = (io.TextIOWrapper(stream, "utf-8", write_through=True) for stream in written)
        with (
            patch.dict(os.environ, self.environment(**environment), clear=True),
            patch.object(sys, "argv", ["proctor", *arguments]),
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as ended,
        ):
            main()
        code = ended.value.code or 0
        assert isinstance(code, int)
        return subprocess.CompletedProcess(arguments, code, *(stream.getvalue().decode() for stream in written))

    @contextmanager
    def started(self, *arguments: str, **environment: str) -> "Iterator[Running]":
        """Run ``proctor ...`` beside the test; what still runs of it at the end of the block is killed."""
        run = uuid.uuid4().hex
        output = self.folder / f"output-{run[:8]}.txt"
        with output.open("w") as file:
            process = start(
                [*self.program, *arguments],
                cwd=self.folder,
                env=self.environment(**environment, **{RUN: run}),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        try:
            yield Running(process, output)
        finally:
            end(process, signal.SIGKILL)
            assert wait_until(lambda: not marked(RUN, run)), marked(RUN, run)

    def processes(self) -> list[psutil.Process]:
        """Every process that was started in this sandbox and still runs."""
        return marked(MARK, self.mark)

    def process_running(self, *words: str) -> psutil.Process:
        """The process whose command line has all these words."""
        for process in self.processes():
            if all(word in process.cmdline() for word in words):
                return process
        raise AssertionError(f"no process runs {' '.join(words)}: {[p.cmdline() for p in self.processes()]}")


@dataclass
class Running:
    """A command that was started."""

    process: Process
    file: Path

    @property
    def output(self) -> str:
        return self.file.read_text()

    def wait_for(self, text: str, seconds: float = PATIENCE, times: int = 1) -> None:
        """Wait until the command has written a text so many times."""
        wait_until(lambda: self.output.count(text) >= times or self.process.poll() is not None, seconds)
        assert self.output.count(text) >= times, f"{text!r} never came:\n{self.output}"

    def wait_for_that(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so, or the command has ended."""
        wait_until(lambda: is_so() or self.process.poll() is not None)
        assert is_so(), self.output

    def end(self, number: int, seconds: float = PATIENCE) -> int:
        """Send a signal and wait for the exit code."""
        self.process.send_signal(number)
        return self.process.wait(seconds)
