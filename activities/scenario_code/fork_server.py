"""The fork server for processes with scenarios' code; it imports all their libraries once.

No scenario's code runs in it. The worker starts it (``processes.ForkServer``) and sends it commands over a socket, one
JSON object per line. ``{"fork": LIMITS, "has_model": BOOL, "makes_days": BOOL}`` comes with a socket for messages and
one for output. The answer is ``{"pid": PID}``; ``{"kill": PID}`` kills a process. The server reports ``{"ended": PID,
"status": N}``. When the worker is gone, the server ends with all processes that it has forked.
"""

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from functools import cache
from types import FrameType
from typing import Any

from pydantic import BaseModel

from proctor.activities.scenario_code import tasks
from proctor.activities.scenario_code.confinement import Limits, confine, find_missing_protections
from proctor.activities.scenario_code.evaluator_modules import KIT_NAME, installed_kit
from proctor.processes.names import import_old_names
from purple_sdk.processes.http_clients import tls
from purple_sdk.processes.reaping import die_with_parent

_LONGEST_LINE = 64 * 1024

_IMPORTED_LATE = ("anyio._backends._asyncio", "httpcore")
"""Modules that httpx and its libraries import only at their first use."""


def main(control: socket.socket, parent: int, *, is_confined: bool) -> None:
    """Fork on demand until the other end of ``control`` is closed. With ``is_confined``, the worker has found all
    protections, and this process exits if it lacks one.
    """
    die_with_parent(parent)
    for number in (signal.SIGINT, signal.SIGTERM):  # a Ctrl-C is for the worker, which closes the socket
        signal.signal(number, signal.SIG_IGN)
    import_late_ones()
    import_old_names()
    build_models(BaseModel)
    tls()
    if (missing := find_missing_protections()) and is_confined:
        sys.exit(f"Scenario code can't be confined any more: {'; '.join(missing)}. Restart the worker.")
    gc.freeze()  # no collection visits permanent objects, which would copy their pages
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _nothing)
    children: set[int] = set()
    while True:
        ready = select.select([control.fileno(), woken], [], [])[0]
        if woken in ready:
            with suppress(BlockingIOError):
                while os.read(woken, 4096):
                    pass
        _reap(control, children)
        if control.fileno() in ready and not _obey(control, children):
            break
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def import_late_ones() -> None:
    """Import modules that libraries import at their first use, once here and not in every forked process.

    The authors' kit has to be imported here, too. A confined process may not list the folder that has ``scenarios``.
    Once a file is added to that folder, the process would no longer find the kit.
    """
    for name in _IMPORTED_LATE:
        importlib.import_module(name)
    for path in installed_kit().glob("*.py"):
        importlib.import_module(KIT_NAME if path.stem == "__init__" else f"{KIT_NAME}.{path.stem}")


@cache
def import_makers() -> None:
    """Import the code that makes the days of families, with the library of names; only at its first use.

    A first world is made here, too. Its lists of names and its grammar take most of a small day's time, and all later
    processes share them. If a module can't be imported, the process for the day fails.
    """
    folder = installed_kit()
    for path in sorted((folder / "making").rglob("*.py")):
        name = ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
        with suppress(Exception):
            importlib.import_module(f"{KIT_NAME}.{name}")
    build_models(BaseModel)
    with suppress(Exception):
        worlds, draws = (importlib.import_module(f"{KIT_NAME}.making.{name}") for name in ("worlds", "draws"))
        worlds.make_world(draws.Draws("first"))


def build_models(base: type[BaseModel]) -> None:
    """Build all pydantic models that would be built at their first use, once here and not in every forked process."""
    for model in base.__subclasses__():
        model.model_rebuild(raise_errors=False)
        build_models(model)


def _nothing(number: int, frame: FrameType | None) -> None:
    """Do nothing: a handler must exist for the signal to wake this process."""


def _reap(control: socket.socket, children: set[int]) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        children.discard(pid)
        _say(control, {"ended": pid, "status": os.waitstatus_to_exitcode(status)})


def _obey(control: socket.socket, children: set[int]) -> bool:
    """Carry out the received requests. Return False if the sender has ended."""
    try:
        line, descriptors, _, _ = socket.recv_fds(control, _LONGEST_LINE, 2)
    except ConnectionError:
        return False
    for command in map(json.loads, line.splitlines()):  # a kill may have been sent just before a fork
        if "fork" in command:
            job, output = descriptors
            if command["has_model"]:  # imports take a second: done once here, not in each process
                importlib.import_module("proctor.activities.scenario_code.relayed_model")
            if command["makes_days"]:
                import_makers()
            pid = _fork(control, socket.socket(fileno=job), output, Limits(**command["fork"]))
            children.add(pid)
            os.close(output)
            _say(control, {"pid": pid})
        elif command["kill"] in children:
            os.kill(command["kill"], signal.SIGKILL)
    return bool(line)


def _fork(control: socket.socket, job: socket.socket, output: int, limits: Limits) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        job.close()
        return pid
    try:
        die_with_parent(parent)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        control.close()
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        os.closerange(3, job.fileno())
        os.closerange(job.fileno() + 1, 256)
        confine(limits)
        tasks.serve(job)
        sys.stdout.flush()
        os._exit(0)  # threads that are still running end here
    finally:
        os._exit(70)


def _say(control: socket.socket, report: dict[str, Any]) -> None:
    with suppress(ConnectionError):
        control.sendall(json.dumps(report).encode() + b"\n")
