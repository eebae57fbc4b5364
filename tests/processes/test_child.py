"""A child ends with all that it has started, however its parent goes, and imports nothing from where it stands."""

import asyncio
import os
import signal
import socket
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from proctor.activities.simulation.server_process import ServerProcess
from purple_sdk.processes.child import Child, python_command
from purple_sdk.processes.guard import Guard
from tests import programs as processes
from tests.sentences import says
from tests.waiting import wait_until

PIPE = asyncio.subprocess.PIPE
PARENT = "import os, time; {}; os.fork(); os.write(1, b'%d\\n' % os.getpid()); time.sleep(600)"
"""A process with a child of its own; each prints its id."""


async def gone(*pids: int) -> bool:
    await asyncio.to_thread(wait_until, lambda: not any(map(processes.is_running, pids)), 60)
    return not any(map(processes.is_running, pids))


@pytest.fixture
async def guard() -> AsyncIterator[Guard]:
    guard = Guard()
    yield guard
    await asyncio.to_thread(guard.dismiss)


async def family(guard: Guard, does: str = "pass") -> tuple[Child, list[int]]:
    child = await Child.start(
        [sys.executable, "-c", PARENT.format(does)], guard, environment=dict(os.environ), stdout=PIPE
    )
    return child, [int(await child.stdout.readline()) for _ in range(2)]


async def test_what_a_child_has_started_ends_with_it(guard: Guard) -> None:
    child, pids = await family(guard)
    assert child.pid in pids
    assert all(map(processes.is_running, pids))
    assert await child.end(60)
    assert child.exit_code == -signal.SIGTERM
    assert await gone(*pids)


async def test_a_child_that_ignores_sigterm_is_killed(guard: Guard) -> None:
    child, pids = await family(guard, "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    assert not await child.end(0.2)
    assert child.exit_code == -signal.SIGKILL
    assert await gone(*pids)


async def test_what_a_child_leaves_behind_when_it_dies_is_killed_at_the_end(guard: Guard) -> None:
    child, pids = await family(guard)
    os.kill(child.pid, signal.SIGKILL)
    assert await child.wait() == -signal.SIGKILL
    (left,) = set(pids) - {child.pid}
    assert processes.is_running(left)
    assert await child.end(60)
    assert await gone(left)


@pytest.mark.parametrize("kind", [Child, ServerProcess])
async def test_nothing_is_left_of_a_start_that_was_given_up_halfway(
    guard: Guard, tmp_path: Path, kind: type[Child]
) -> None:
    told = tmp_path / "pids"
    already = psutil.Process().children()
    with told.open("wb") as file:
        starting = asyncio.create_task(
            kind.start([sys.executable, "-c", PARENT.format("pass")], guard, environment=dict(os.environ), stdout=file)
        )
        while len(psutil.Process().children()) == len(already):
            await asyncio.sleep(0)
    # The loop stands still while the child begins, so its start isn't over when it is given up.
    assert wait_until(lambda: told.read_text().count("\n") == 2)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert await gone(*map(int, told.read_text().split()))


async def test_a_child_is_out_of_reach_of_the_terminals_ctrl_c(guard: Guard) -> None:
    child, pids = await family(guard)
    assert {os.getsid(pid) for pid in pids} == {child.pid}
    await child.end(60)


async def test_a_child_is_waited_for_until_it_is_ready_or_has_ended(guard: Guard) -> None:
    child = await Child.start(["sh", "-c", "read line; exit 3"], guard, environment={}, stdin=PIPE)
    looks = 0

    async def is_ready() -> bool:
        nonlocal looks
        looks += 1
        return looks == 3

    assert await child.until(is_ready, 60)
    assert looks == 3
    child.stdin.close()
    assert not await child.until(lambda: asyncio.sleep(0, False), 60)
    assert child.exit_code == 3


async def test_a_program_that_is_not_there_is_an_os_error(guard: Guard) -> None:
    with pytest.raises(OSError, check=says()):
        await Child.start(["/no/such/program"], guard, environment={})


async def test_a_child_has_the_environment_that_it_is_given_and_no_other(guard: Guard) -> None:
    child = await Child.start(["/usr/bin/env"], guard, environment={"ONLY": "this"}, stdout=PIPE)
    assert (await child.stdout.read()).decode().splitlines() == ["ONLY=this"]
    assert await child.wait() == 0


async def test_a_child_has_the_open_files_that_it_is_given(guard: Guard) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        say = f"import os; os.write({theirs.fileno()}, b'heard')"
        child = await Child.start([sys.executable, "-c", say], guard, environment={}, descriptors=[theirs.fileno()])
        assert await asyncio.to_thread(ours.recv, 5) == b"heard"
        assert await child.wait() == 0


@pytest.mark.parametrize("way", [["-c", "import textwrap"], ["-m", "textwrap"]])
async def test_our_own_python_imports_nothing_from_the_working_directory(
    way: list[str], guard: Guard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "textwrap.py").write_text("raise SystemExit('imported from the working directory')")
    monkeypatch.chdir(tmp_path)
    child = await Child.start(python_command(*way), guard, environment=dict(os.environ))
    assert await child.wait() == 0


def test_nothing_is_left_when_the_parent_is_killed(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    (temporary / "inside").mkdir(parents=True)
    program = textwrap.dedent(
        """
        import asyncio, sys
        from pathlib import Path
        from purple_sdk.processes.guard import Guard
        from tests.processes.test_child import family

        async def main() -> None:
            child, pids = await family(Guard(Path(sys.argv[1])))
            print(*pids, flush=True)
            await child.wait()

        asyncio.run(main())
        """
    )
    with processes.running(processes.program(program, str(temporary)), by=signal.SIGKILL) as process:
        pids = [int(pid) for pid in processes.read_line(process).split()]
        assert len(pids) == 2
        assert all(map(processes.is_running, pids))
    wait_until(lambda: not any(map(processes.is_running, pids)) and not temporary.exists(), 60)
    assert not any(map(processes.is_running, pids))
    assert not temporary.exists()
