"""A worker whose event loop stands still ends by itself, with what it was at in its log; a frozen one goes on."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.service.watchdog import EXIT_CODE
from tests import programs as processes
from tests.sentences import says

ROOT = Path(__file__).parents[2]
_PROGRAM = """
import asyncio, sys, threading, time
from proctor.service.watchdog import watched

def stuck_in_sleep():
    time.sleep(600)

def stuck_in_a_loop():
    while True:
        pass

def stuck_in_c():
    import ctypes
    ctypes.PyDLL(None).sleep(600)  # keeps Python's lock

async def main():
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), over.set()), daemon=True).start()
    with watched(float(sys.argv[1])):
        print("ready", flush=True)
        if len(sys.argv) > 2:
            globals()[sys.argv[2]]()
        while not over.is_set():
            await asyncio.sleep(0.01)
        print("alive", flush=True)

asyncio.run(main())
"""


STUCK = ("stuck_in_sleep", "stuck_in_a_loop", "stuck_in_c")


@pytest.fixture(scope="module", autouse=True)
def stuck() -> Iterator[dict[str, processes.Process]]:
    """One process for each way to stand still, all at once: each takes its time to be noticed."""
    started = {function: _start("1", function) for function in STUCK}
    yield started
    for process in started.values():
        processes.end(process, signal.SIGKILL)


def _start(*arguments: str) -> processes.Process:
    process = processes.start(processes.program(_PROGRAM, *arguments), stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert processes.read_line(process) == "ready"
    return process


def test_a_process_that_was_frozen_goes_on() -> None:
    process = _start("2")
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(3)  # longer than a loop may stand still
    os.kill(process.pid, signal.SIGCONT)
    said, problems = process.communicate("end\n", timeout=100)
    assert (process.returncode, said) == (0, "alive\n"), problems


@pytest.mark.parametrize("function", STUCK[:2])
def test_a_loop_that_stands_still_ends_its_process_and_says_where_it_stood(
    function: str, stuck: dict[str, processes.Process]
) -> None:
    process = stuck[function]
    _, said = process.communicate(timeout=100)
    assert process.returncode == EXIT_CODE
    assert says().within(said)
    assert f"in {function}" in said


def test_python_that_is_held_up_ends_too(stuck: dict[str, processes.Process]) -> None:
    process = stuck["stuck_in_c"]
    _, said = process.communicate(timeout=100)
    assert process.returncode == 1
    assert "in stuck_in_c" in said
