"""List the processes of a container, and end those that an agent left."""

from collections.abc import Iterable

from pydantic import BaseModel

from proctor.terminal.commands import losing, run_plainly, script
from proctor.terminal.engine import Engine
from proctor.terminal.failures import EnvironmentLostError
from proctor.terminal.references import EnvironmentRef, Process
from purple_sdk.protocol.terminal import LeaveRunning

LIST = script("list_processes")

_WAITING = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}
"""The state of a listening socket in the tables of ``/proc/net``, if it is reachable from outside."""

_ACCEPTS = 0x10000


class Running(BaseModel, frozen=True):
    """A process that runs, its parent, and whether it listens on a socket."""

    process: Process
    parent: int
    is_listening: bool = False


async def running(engine: Engine, environment: EnvironmentRef) -> dict[int, Running]:
    """Return the processes of a container by id, without the first one and our own listing.

    Raises EnvironmentLostError if the container is gone or can't run another command, as after a fork bomb.
    """
    code, text = await run_plainly(engine, environment, ["/bin/sh", "-c", LIST])
    if code != 0 or not text.startswith("self "):
        raise EnvironmentLostError(f"The container {environment.container} can't list its processes: {text[:200]!r}")
    return read_listing(text)


def read_listing(text: str) -> dict[int, Running]:
    rows: dict[int, tuple[int, int, str]] = {}
    sockets: set[str] = set()
    holds: dict[int, set[str]] = {}
    own = at = 0
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        words = rest.split()
        if kind == "self":
            own = int(words[0])
        elif kind == "process" and len(words) >= 3 and all(word.isdigit() for word in words[:3]):
            rows[int(words[0])] = (int(words[1]), int(words[2]), " ".join(words[3:]))
        elif kind in _WAITING and len(words) > 9 and words[3] == _WAITING[kind]:
            sockets.add(words[9])
        elif kind == "unix" and len(words) > 6 and _is_hex(words[3]) and int(words[3], 16) & _ACCEPTS:
            sockets.add(words[6])
        elif line.startswith("/proc/") and line.endswith("/fd:"):
            at = int(line.split("/")[2])
        elif "-> socket:[" in line:
            holds.setdefault(at, set()).add(line.rpartition("socket:[")[2].rstrip("]"))
    return {
        pid: Running(
            process=Process(pid=pid, began=began, command=name),
            parent=parent,
            # A terminal multiplexer isn't a service, although it listens to its clients.
            is_listening=bool(holds.get(pid, set()) & sockets) and not name.startswith("tmux"),
        )
        for pid, (began, parent, name) in rows.items()
        if pid not in (1, own) and parent != own
    }


def _is_hex(word: str) -> bool:
    return all(letter in "0123456789abcdefABCDEF" for letter in word)


def find_services(everything: dict[int, Running], spared: Iterable[Process]) -> list[Process]:
    """Return the listening processes and all their descendants, apart from those that are spared anyway."""
    own = {(process.pid, process.began) for process in spared}
    kept: set[int] = {pid for pid, entry in everything.items() if entry.is_listening}
    grown = True
    while grown:
        more = {pid for pid, entry in everything.items() if entry.parent in kept} - kept
        kept |= more
        grown = bool(more)
    return [everything[pid].process for pid in sorted(kept) if (pid, everything[pid].process.began) not in own]


async def end_leftovers(engine: Engine, environment: EnvironmentRef, kept: LeaveRunning) -> tuple[Process, ...]:
    """Kill the agent's processes, apart from those to keep. Returns the agent's processes that keep running.

    Processes are stopped before they are killed, to prevent new ones. If the container can't list its processes, it is
    restarted, which ends all of them. Even if ``kept`` is ``everything``, the agent's processes are killed if they use
    more than half of the container's limit, because the tests need room for their own. Raises EnvironmentLostError (the
    container has stopped).
    """
    if kept == "everything":
        try:
            everything = await running(engine, environment)
        except EnvironmentLostError:
            await _start_again(engine, environment)
            return ()
        own = {(process.pid, process.began) for process in environment.own_processes}
        leftovers = [
            entry.process for entry in everything.values() if (entry.process.pid, entry.process.began) not in own
        ]
        if len(leftovers) <= engine.limits.processes // 2:
            return tuple(leftovers)
    for _ in range(3):
        try:
            everything = await running(engine, environment)
        except EnvironmentLostError:
            await _start_again(engine, environment)
            return ()
        own = {(process.pid, process.began) for process in environment.own_processes}
        services = find_services(everything, environment.own_processes) if kept == "services" else []
        spared = own | {(service.pid, service.began) for service in services}
        doomed = [pid for pid, entry in everything.items() if (pid, entry.process.began) not in spared]
        if not doomed:
            return tuple(services)
        spared_pids = " ".join(str(pid) for pid, _ in sorted(spared))
        command = f'SPARED="{spared_pids}"\n{script("kill_others")}'
        code, _ = await run_plainly(engine, environment, ["/bin/sh", "-c", command])
        if code != 0:
            break
    else:
        return tuple(services)
    await _start_again(engine, environment)
    return ()


async def _start_again(engine: Engine, environment: EnvironmentRef) -> None:
    with losing(environment):
        about = await engine.ask("GET", f"containers/{environment.container_id}/json")
        if not about["State"]["Running"]:  # a container that stopped by itself has lost the agent's processes, too
            raise EnvironmentLostError(f"The container {environment.container} has stopped")
        await engine.ask("POST", f"containers/{environment.container_id}/restart", {"t": 0})
