"""No process of a CLI agent outlives its turn or its server, and output over the limit ends as what it is."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from purple_sdk.harness import program
from purple_sdk.harness.declared import HarnessError, Printed
from purple_sdk.harness.launcher import Rules
from purple_sdk.harness.program import run_program
from purple_sdk.processes.namespaces import has_own_view
from tests.sentences import says
from tests.waiting import eventually, wait_until

ROOT = Path(__file__).parents[3]
START = """
import ctypes, os, sys, time
def start(*calls):
    if os.fork() == 0:
        for call in calls:
            call()
        with open(f"started-{os.getpid()}", "w"):
            pass
        time.sleep(600)
def orphan():
    if os.fork():
        os._exit(0)
def adopt():
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
start(os.setsid)
start(os.setsid, orphan, os.setsid)
start(adopt, os.setsid, lambda: start(os.setsid, orphan))
start(os.setpgrp)
while len([name for name in os.listdir() if name.startswith("started-")]) < 5:
    time.sleep(0.01)
print("all have started", flush=True)
"""
COMET = "import os\nif os.fork() == 0:\n    os.setsid()\n    while True:\n        if os.fork(): os._exit(0)\n"
"""Its child has ended before anything that finds it can end it."""


async def run(folder: Path, does: str, seconds: float = 60) -> Printed:
    folder.mkdir(exist_ok=True)
    rules = Rules(work=str(folder), writable=[str(folder)], hidden=[], readable=[], port=1)
    return await run_program(
        [sys.executable, "-c", does], rules=rules, environment={"HOME": str(folder)}, seconds=seconds
    )


def started(folder: Path) -> list[Path]:
    return list(folder.glob("started-*"))


def of_home(folder: Path) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"HOME={folder}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            continue
    return found


async def test_what_left_its_session_ends_with_the_turn(tmp_path: Path) -> None:
    printed = await run(tmp_path / "home", START)
    assert (printed.stdout, printed.exit_code) == ("all have started\n", 0), printed.stderr
    assert len(started(tmp_path / "home")) == 5
    assert of_home(tmp_path / "home") == []


async def test_so_does_all_of_a_start_that_is_given_up_halfway(tmp_path: Path) -> None:
    already = psutil.Process().children()
    starting = asyncio.create_task(run(tmp_path / "home", START + "time.sleep(600)"))
    while len(psutil.Process().children()) == len(already):
        await asyncio.sleep(0)
    assert wait_until(lambda: len(started(tmp_path / "home")) == 5)  # the loop stands still meanwhile
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert of_home(tmp_path / "home") == []


async def test_so_does_a_process_that_is_always_another_one(tmp_path: Path) -> None:
    await run(tmp_path / "home", COMET)
    assert of_home(tmp_path / "home") == []


async def test_so_does_all_on_a_kernel_without_scopes_of_signals(tmp_path: Path) -> None:
    reaper = "from purple_sdk.processes import reaping\nreaping.keep_signals_inside = lambda: False\n"
    reaper += (
        "reaper = reaping.Reaper()\nif reaper.fork():\n    sys.exit(exec(START))\nos._exit(reaper.wait(lifeline=0))"
    )
    does = f"import os, sys\nSTART = {START!r}\n{reaper}"
    (tmp_path / "home").mkdir()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        does,
        stdin=asyncio.subprocess.PIPE,
        cwd=tmp_path / "home",
        env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path / "home")},
        start_new_session=True,
    )
    assert await process.wait() == 0
    assert len(started(tmp_path / "home")) == 5
    assert of_home(tmp_path / "home") == []


async def test_all_ends_with_a_server_that_is_killed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    does = "import asyncio; from pathlib import Path; from tests.purple_sdk.harness.test_processes import START, run; "
    does += f"asyncio.run(run(Path({str(home)!r}), START + 'time.sleep(600)'))"
    server = await asyncio.create_subprocess_exec(sys.executable, "-c", does, env=dict(os.environ))
    await eventually(lambda: len(started(home)) == 5)
    server.send_signal(signal.SIGKILL)
    await server.wait()
    await eventually(lambda: not of_home(home))


@pytest.mark.skipif(not has_own_view(processes=True), reason="this machine lets this user have no namespaces")
async def test_all_ends_with_a_launcher_that_is_killed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    rules = Rules(work=str(home), writable=[str(home)], hidden=[], readable=[], port=1)
    launcher: list[int] = []
    running = asyncio.create_task(
        run_program(
            [sys.executable, "-c", START + "time.sleep(600)"],
            rules=rules,
            environment={"HOME": str(home)},
            seconds=60,
            started=launcher.append,
        )
    )
    await eventually(lambda: len(started(home)) == 5)
    os.kill(launcher[0], signal.SIGKILL)
    assert (await running).exit_code == -signal.SIGKILL
    await eventually(lambda: not of_home(home))


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_too_much_output_is_reported_as_that(
    stream: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "MOST_OUTPUT", 100_000)
    with pytest.raises(HarnessError, check=says("0.1")):
        await run(tmp_path / "home", f"import sys\nwhile True: print('x' * 1000, file=sys.{stream})")
    assert of_home(tmp_path / "home") == []


async def test_a_program_that_a_signal_ends_has_the_exit_code_of_shells(tmp_path: Path) -> None:
    printed = await run(tmp_path / "home", "import os, sys; sys.stderr.write('last words\\n'); os.kill(os.getpid(), 9)")
    assert (printed.exit_code, printed.stderr) == (137, "last words")
