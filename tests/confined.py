"""What confined processes try, by the rows of the table in docs/operations/limits.md: a module of their own, too.

Only the standard library is imported. The numbers of system calls are those of x86-64.
"""

import ctypes
import errno
import fcntl
import os
import resource
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from glob import glob
from pathlib import Path
from typing import Any

_libc = ctypes.CDLL(None, use_errno=True)
_REFUSALS = (errno.EPERM, errno.EACCES, errno.EROFS, errno.EXDEV, errno.ENOSYS, errno.ENOENT, errno.ESRCH)
"""The last two: what is hidden is as if it weren't there."""

_IN_OPEN, _IN_NONBLOCK = 0x20, 0o4000


def _call(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _system_call(*arguments: Any) -> None:
    _call(_libc.syscall(*arguments))


def _connect(family: int, address: Any, kind: int = socket.SOCK_STREAM, protocol: int = 0) -> None:
    with socket.socket(family, kind, protocol) as end:
        end.connect(address)


def _connect_by_sending(port: int) -> None:
    with socket.socket() as end:
        end.sendto(b"x", 0x20000000, ("127.0.0.1", port))


def _send_by_a_pair(path: str) -> None:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"x", path)


def _listen() -> None:
    with socket.socket() as end:
        end.listen()


def _own_signals(pid: int) -> None:
    one, _ = socket.socketpair()
    fcntl.fcntl(one, fcntl.F_SETOWN, pid)


def _wait_for(child: int) -> None:
    if os.waitpid(child, 0)[1]:
        raise OSError(errno.EIO, "its child did not end well")


def _fork(then: Callable[[], object]) -> None:
    child = os.fork()
    if not child:
        with suppress(BaseException):
            then()
            os._exit(0)
        os._exit(1)
    _wait_for(child)


def _end_a_child() -> None:
    child = os.fork()
    if not child:
        time.sleep(600)
        os._exit(0)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _require(is_reached: object) -> None:
    if not is_reached:
        raise OSError(errno.EACCES, "it reaches a copy of its own")


def _meet_a_lock(file: Path) -> None:
    """The file is locked by another process."""
    try:
        fcntl.flock(os.open(file, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    _require(False)


def _watch(file: Path, own: Path) -> None:
    """Another process opens the file again and again. After each time it adds a byte to a file of our own."""
    notices = _libc.inotify_init1(_IN_NONBLOCK)
    _call(notices)
    _call(_libc.inotify_add_watch(notices, os.fsencode(file), _IN_OPEN))
    beats = own / "beats"
    seen = beats.stat().st_size
    while beats.stat().st_size < seen + 2:
        time.sleep(0.005)
    try:
        os.read(notices, 4096)
    except BlockingIOError:
        _require(False)


def _read_a_pipe(pipe: Path) -> None:
    """Another process has written to it, and has it open."""
    _require(os.read(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), 1))


def _reads_of_memory(pid: int) -> list[Callable[[], object]]:
    data = ctypes.create_string_buffer(8)
    return [
        lambda: _system_call(310, pid, data, 1, data, 1, 0),
        lambda: _system_call(311, pid, data, 1, data, 1, 0),
        lambda: _system_call(101, 16, pid, 0, 0),
        lambda: _system_call(256, pid, 8, data, data),
        lambda: os.open(f"/proc/{pid}/mem", os.O_RDONLY),
        lambda: os.open(f"/proc/{pid}/environ", os.O_RDONLY),
    ]


def _looks_at_files(process: str) -> list[Callable[[], object]]:
    return [
        lambda: os.listdir(f"{process}/fd") and os.readlink(f"{process}/fd/0"),
        lambda: os.listdir(f"{process}/root/"),
        lambda: os.listdir(f"{process}/cwd/"),
    ]


def attempts(own: Path, other: Path, hidden: Path, pid: int, port: int, other_port: int) -> dict[str, list[Any]]:
    """What is tried for each row.

    Args:
        own: a folder of the process's own, with a file ``file``.
        other: another file of its user's, which is locked, beside a Unix socket ``socket`` and a named pipe ``pipe``.
        hidden: another one, which is hidden from it.
        pid: another process.
        port: the one that it may connect to.
    """
    data = ctypes.create_string_buffer(8)
    unix = str(other.with_name("socket"))
    there = f"/proc/{pid}"
    others = (pid, os.getppid())  # in a namespace only the second one can be named
    return {
        "read its own files": [(own / "file").read_text],
        "write its own files": [
            lambda: (own / "new").write_text("x"),
            lambda: os.link(own / "file", own / "link"),
            lambda: (own / "file").chmod(0o600),
            lambda: os.utime(own / "file"),
        ],
        "read other files": [other.read_text],
        "read hidden files": [hidden.read_text],
        "list hidden folders": [lambda: _require(os.listdir(hidden.parent))],
        "lock hidden folders and other files": [
            lambda: _meet_a_lock(other),
            lambda: _meet_a_lock(other.parent),
            lambda: _meet_a_lock(hidden),
            lambda: _meet_a_lock(hidden.parent),
        ],
        "watch hidden folders and other files": [partial(_watch, file, own) for file in (other, hidden, other.parent)],
        "read named pipes of other processes": [lambda: _read_a_pipe(other.with_name("pipe"))],
        "write other files": [
            lambda: other.write_text("x"),
            lambda: other.with_name("new").write_text("x"),
            lambda: os.truncate(other, 0),
            lambda: os.unlink(other),
            lambda: os.mkfifo(other.with_name("new-pipe")),
            lambda: os.rename(other, other.with_name("renamed")),
            lambda: os.rename(other, own / "taken"),
            lambda: os.link(other, own / "linked"),
        ],
        "change modes, owners, times or attributes of other files": [
            lambda: other.chmod(0),
            lambda: os.fchmod(os.open(other, os.O_RDONLY), 0),
            lambda: os.chown(other, -1, os.getgid()),
            lambda: os.utime(other),
            lambda: other.parent.chmod(0),
        ],
        "read devices of disks, memory and terminals": [
            *(partial(os.open, device, os.O_RDONLY) for device in ("/dev/ptmx", *glob("/dev/[hsv]d[a-z]"))),
            lambda: os.mknod(own / "device", 0o20600, os.makedev(1, 1)),
        ],
        "connect to its port": [lambda: _connect(socket.AF_INET, ("127.0.0.1", port))],
        "connect to other TCP ports": [
            lambda: _connect(socket.AF_INET, ("127.0.0.1", other_port)),
            lambda: _connect(socket.AF_INET, ("127.0.0.1", other_port), protocol=262),
            lambda: _connect_by_sending(other_port),
        ],
        "send UDP": [lambda: _connect(socket.AF_INET, ("127.0.0.1", 53), socket.SOCK_DGRAM)],
        "connect to Unix sockets": [
            lambda: _connect(socket.AF_UNIX, unix),
            lambda: _connect(socket.AF_UNIX, "\0proctor-test"),
            lambda: _send_by_a_pair(unix),
        ],
        "listen": [lambda: socket.create_server(("127.0.0.1", 0)), _listen],
        "list network interfaces": [lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()],
        "start processes and programs": [
            lambda: _fork(lambda: os._exit(0)),
            lambda: _fork(lambda: os.execv("/bin/true", ["true"])),
        ],
        "start a session or process group": [lambda: _fork(os.setsid), lambda: _fork(os.setpgrp)],
        "end processes that it has started": [_end_a_child],
        "send signals to other processes": [
            lambda: os.kill(pid, 0),
            lambda: os.kill(os.getppid(), 0),
            lambda: _own_signals(pid),
            lambda: _system_call(129, pid, 0, data),
        ],
        "lower its own limits": [lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))],
        "change limits of other processes": [
            partial(resource.prlimit, each, resource.RLIMIT_NOFILE, (5, 5)) for each in others
        ],
        "lower its own priority": [lambda: os.setpriority(os.PRIO_PROCESS, 0, 19)],
        "change priority, scheduling or processors of other processes": [
            lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
            lambda: os.setpriority(os.PRIO_USER, 0, 19),
            lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)),
            lambda: os.sched_setaffinity(pid, {0}),
            lambda: _system_call(251, 1, pid, 3 << 13),
            lambda: _system_call(314, pid, data, 0),
            lambda: _call(_libc.prctl(62, 1, pid, 0, 0)),
            lambda: Path(there, "oom_score_adj").write_text("1000"),
        ],
        "read or write memory of other processes": [attempt for each in others for attempt in _reads_of_memory(each)],
        "reach open files and folders of other processes": [
            lambda: _system_call(438, 0, 0, 0),
            *(attempt for each in others for attempt in _looks_at_files(f"/proc/{each}")),
        ],
        "list other processes": [lambda: _require(str(pid) in os.listdir("/proc"))],
        "see whether a hidden file or another process exists": [lambda: os.stat(hidden), lambda: os.stat(there)],
        "read command lines of other processes": [Path(there, "cmdline").read_bytes],
        "share memory or queues with other processes": [
            lambda: _system_call(29, 0, 4096, 0o1600),
            lambda: _system_call(68, 0, 0o1600),
            lambda: Path("/dev/shm/proctor-test").write_text("x"),
        ],
        "make namespaces or mounts": [
            lambda: _system_call(272, 0x10000000),
            lambda: _system_call(56, 0x10000011, 0, 0, 0, 0),
            lambda: _system_call(165, b"none", b"/tmp", b"tmpfs", 0, None),
        ],
        "use io_uring, keys, traces of the kernel or its programs": [
            lambda: _system_call(425, 1, data),
            lambda: _system_call(250, 0, -3, 0),
            lambda: _system_call(298, data, 0, -1, -1, 0),
            lambda: _system_call(321, 0, data, 8),
            lambda: _system_call(323, 0),
        ],
    }


def try_all(**given: Any) -> dict[str, str]:
    """For each row "yes" where all attempts succeed, "no" where all are refused, else what happened."""
    places: dict[str, Any] = {name: Path(value) if isinstance(value, str) else value for name, value in given.items()}
    return {row: _outcome(tried) for row, tried in attempts(**places).items()}


def _outcome(tried: list[Callable[[], object]]) -> str:
    found = []
    for attempt in tried:
        try:
            attempt()
            found.append("yes")
        except OSError as error:
            is_refused = isinstance(error, PermissionError) or error.errno in _REFUSALS
            found.append("no" if is_refused else repr(error))
    return found[0] if len(set(found)) == 1 else ", ".join(found)
