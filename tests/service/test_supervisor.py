"""Child processes: started in order, brought back, and never left behind."""

import os
import re
import signal
import sys
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from proctor.service.supervisor import Service, ServiceStartError, Supervisor
from tests import programs as processes
from tests.sentences import says
from tests.waiting import PATIENCE, eventually, wait_until

TOUCH = "import pathlib, signal, sys, time; {}; pathlib.Path(sys.argv[1]).touch(); time.sleep(600)"


def service(
    folder: Path, name: str, *, after: tuple[str, ...] = (), does: str = "pass", stop: float = PATIENCE
) -> Service:
    """A process that does something, and then says that it is ready by making a file of its name."""
    return Service(
        name,
        [sys.executable, "-c", TOUCH.format(does), str(folder / name)],
        made(folder / name),
        after=after,
        stop_seconds=stop,
    )


def made(path: Path) -> Callable[[int], Awaitable[bool]]:
    async def is_ready(pid: int) -> bool:
        return path.exists()

    return is_ready


async def test_a_service_starts_only_when_those_before_it_are_ready(tmp_path: Path) -> None:
    first = tmp_path / "first"
    look = f"sys.exit(3) if not pathlib.Path({str(first)!r}).exists() else None"
    slow = f"import pathlib, time; time.sleep(0.5); pathlib.Path({str(first)!r}).touch(); time.sleep(600)"
    late = Service("first", [sys.executable, "-c", slow], made(first))
    services = [late, service(tmp_path, "second", after=("first",), does=look)]
    async with Supervisor(services, tmp_path / "logs", print) as supervisor:
        await supervisor.start()
        assert processes.is_running(supervisor.find_pid("second"))


async def test_all_are_ended_last_to_first(tmp_path: Path) -> None:
    noting = "signal.signal(signal.SIGTERM, lambda *a: (open({!r}, 'a').write('{}\\n'), sys.exit(0)))"
    order = tmp_path / "order"
    services = [service(tmp_path, name, does=noting.format(str(order), name)) for name in ("a", "b", "c")]
    async with Supervisor(services, tmp_path / "logs", print) as supervisor:
        await supervisor.start()
        pids = [supervisor.find_pid(name) for name in ("a", "b", "c")]
    assert order.read_text().split() == ["c", "b", "a"]
    assert not any(map(processes.is_running, pids))


async def test_a_service_that_dies_is_started_again(tmp_path: Path) -> None:
    said: list[str] = []
    async with Supervisor([service(tmp_path, "a")], tmp_path / "logs", said.append) as supervisor:
        await supervisor.start()
        before = supervisor.find_pid("a")
        assert before is not None
        os.kill(before, signal.SIGKILL)
        await eventually(lambda: len(said) == 2)
        assert processes.is_running(supervisor.find_pid("a"))
        assert supervisor.find_pid("a") != before
    assert says("SIGKILL", time=re.compile(r"\d\d:\d\d:\d\d")).within(said[0])
    assert "ready again" in said[1]


async def test_a_service_that_ends_before_it_is_ready_is_told_with_its_log(tmp_path: Path) -> None:
    broken = Service("broken", [sys.executable, "-c", "import sys; sys.exit('no such database')"], made(tmp_path / "x"))
    async with Supervisor([service(tmp_path, "a"), broken], tmp_path / "logs", print) as supervisor:
        with pytest.raises(ServiceStartError, check=says()) as raised:
            await supervisor.start()
        started = supervisor.find_pid("a")
    assert "no such database" in str(raised.value)
    assert not processes.is_running(started)


async def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    missing = Service("missing", ["/no/such/program"], made(tmp_path / "x"))
    async with Supervisor([missing], tmp_path / "logs", print) as supervisor:
        with pytest.raises(ServiceStartError, check=says()):
            await supervisor.start()


async def test_a_service_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    said: list[str] = []
    deaf = service(tmp_path, "deaf", does="signal.signal(signal.SIGTERM, signal.SIG_IGN)", stop=0.5)
    async with Supervisor([deaf], tmp_path / "logs", said.append) as supervisor:
        await supervisor.start()
        pid = supervisor.find_pid("deaf")
    assert not processes.is_running(pid)
    assert said == [says("0.5")]


async def test_what_a_service_started_itself_ends_with_it(tmp_path: Path) -> None:
    child = tmp_path / "child"
    deaf = ["sh", "-c", "trap '' TERM; echo $$ > \"$0\"; exec sleep 60", str(child)]
    forking = f"import subprocess; subprocess.Popen({deaf!r})"
    async with Supervisor([service(tmp_path, "a", does=forking)], tmp_path / "logs", print) as supervisor:
        await supervisor.start()
        await eventually(lambda: child.exists() and bool(child.read_text()))
        grandchild = int(child.read_text())
        assert processes.is_running(grandchild)
    await eventually(lambda: not processes.is_running(grandchild))


def test_nothing_is_left_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    program = textwrap.dedent(
        """
        import asyncio, sys
        from pathlib import Path
        from proctor.service.supervisor import Supervisor
        from tests.service.test_supervisor import service

        async def main(folder: Path) -> None:
            services = [service(folder, "a"), service(folder, "b")]
            async with Supervisor(services, folder / "logs", print, temporary=folder) as supervisor:
                await supervisor.start()
                print(supervisor.find_pid("a"), supervisor.find_pid("b"), flush=True)
                await asyncio.sleep(60)

        asyncio.run(main(Path(sys.argv[1])))
        """
    )
    with processes.running(processes.program(program, str(temporary)), by=signal.SIGKILL) as process:
        pids = [int(pid) for pid in processes.read_line(process).split()]
        assert len(pids) == 2
        assert all(map(processes.is_running, pids))
    wait_until(lambda: not any(map(processes.is_running, pids)) and not temporary.exists())
    assert not any(map(processes.is_running, pids))
    assert not temporary.exists()
