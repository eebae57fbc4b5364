"""One fork server for all commands that the tests of a process call: each start takes most of a second of a core."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import weakref
from dataclasses import dataclass

import pytest

from activities.scenario_code import processes
from activities.scenario_code.confinement import find_missing_protections
from activities.scenario_code.processes import ForkServer

_start, _aclose = ForkServer._start, ForkServer.aclose


@dataclass
class _Kept:
    """The fork server that is kept, our end of its socket, and which ``ForkServer`` uses it now."""

    process: subprocess.Popen[bytes]
    control: socket.socket
    user: "weakref.ref[ForkServer] | None" = None


_kept: list[_Kept] = []


def keep_fork_server(patch: pytest.MonkeyPatch) -> None:
    """Have each ``ForkServer`` use the one that is kept, unless another one uses it or it isn't in the main thread."""
    patch.setattr(ForkServer, "_start", _take)
    patch.setattr(ForkServer, "aclose", _leave)


async def _take(server: ForkServer) -> None:
    if server._control is not None:
        return
    if threading.current_thread() is not threading.main_thread():  # its end would be that of the process
        await _start(server)
        return
    if _kept and _kept[0].process.poll() is not None:
        _kept.clear()
    if not _kept:
        is_confined = not await asyncio.to_thread(find_missing_protections)
        _kept.append(_started("confined" if is_confined else "unconfined"))
    kept = _kept[0]
    if kept.user is not None and kept.user() is not None:
        await _start(server)
        return
    kept.user = weakref.ref(server)
    server._control = kept.control.dup()
    server._control.setblocking(False)
    server._reading = asyncio.create_task(server._read(server._control))


def _started(protection: str) -> _Kept:
    ours, theirs = socket.socketpair()
    path = [entry or os.getcwd() for entry in sys.path]
    words = [sys.executable, "-I", "-c", processes._PROGRAM, json.dumps(path), str(theirs.fileno()), str(os.getpid())]
    environment = {name: os.environ[name] for name in processes._ENVIRONMENT if name in os.environ}
    with theirs:
        process = subprocess.Popen(
            [*words, protection],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
    return _Kept(process, ours)


async def _leave(server: ForkServer) -> None:
    """What ``ForkServer.aclose`` does, without an end of the process, unless it still has to answer this one."""
    if not _kept or _kept[0].user is None or _kept[0].user() is not server:
        await _aclose(server)
        return
    _kept[0].user = None
    if server._asked_for:
        _kept.pop().process.kill()
    server._abandon()
