"""Restrict a confined process to the system calls that are listed for its kind (``man 2 seccomp``).

Landlock decides about files and TCP ports (``landlock``). Processes of either kind can't change another process's
limits, priority, scheduling or memory. They can't open sockets other than TCP, or listen. A table in
docs/operations/limits.md lists the rights of each kind; a test tries each of its rows.

* Scenario code (``SCENARIO_CODE``) has the calls of Python, its event loop and an HTTP client. It changes no files, and
  has no signals, processes or programs.
* CLI agents (``CLI_AGENT``) also have the calls of programs in Node.js, Python, Go and Rust: files, processes,
  programs, signals.
"""

import ctypes
import errno
import platform
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import Any

_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, _PR_SET_NO_NEW_PRIVS = 22, 2, 38
_CLONE_THREAD = 0x00010000
_CLONE_NAMESPACES = 0x7E020000
_MSG_FASTOPEN = 0x20000000
"""A flag that makes connections which Landlock doesn't check."""
_SOCK_TYPE = 0xF
_NETLINK, _NETLINK_ROUTE = 16, 0

_ALLOWED = (
    *("read", "readv", "pread64", "preadv", "preadv2", "write", "writev", "pwrite64", "lseek", "close", "close_range"),
    *("open", "openat", "openat2", "stat", "lstat", "fstat", "newfstatat", "statx", "statfs", "fstatfs", "fsync"),
    *("access", "faccessat", "faccessat2", "getdents", "getdents64", "readlink", "readlinkat", "getcwd", "chdir"),
    *("fchdir", "umask", "dup", "dup2", "dup3", "pipe", "pipe2", "eventfd", "eventfd2", "fadvise64", "readahead"),
    *("poll", "ppoll", "select", "pselect6", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait"),
    *("epoll_pwait", "epoll_pwait2", "timerfd_create", "timerfd_settime", "timerfd_gettime"),
    *("mmap", "mprotect", "munmap", "mremap", "madvise", "mincore", "msync", "brk", "membarrier", "get_mempolicy"),
    *("futex", "futex_waitv", "set_robust_list", "get_robust_list", "rseq", "set_tid_address", "sched_yield"),
    *("sched_getaffinity", "sched_getparam", "sched_getscheduler", "sched_get_priority_max", "getcpu"),
    *("sched_get_priority_min", "getpriority", "arch_prctl", "exit", "exit_group", "restart_syscall"),
    *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigsuspend", "rt_sigtimedwait"),
    *("sigaltstack", "pause", "alarm", "setitimer", "getitimer", "wait4", "waitid"),
    *("nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday", "time", "times"),
    *("getpid", "gettid", "getppid", "getpgrp", "getpgid", "getsid", "getuid", "geteuid", "getgid", "getegid"),
    *("getresuid", "getresgid", "getgroups", "getrlimit", "setrlimit", "getrusage", "uname", "sysinfo", "getrandom"),
    *("connect", "getsockname", "getpeername", "setsockopt", "getsockopt", "recvfrom", "recvmsg", "recvmmsg"),
    "shutdown",
)
_OF_PROGRAMS = (
    *("fork", "vfork", "execve", "execveat", "kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"),
    *("pidfd_open", "pidfd_send_signal", "setsid", "setpgid", "signalfd", "signalfd4", "capget", "capset"),
    *("setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "setfsuid", "setfsgid"),
    *("creat", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat"),
    *("symlink", "symlinkat", "mknod", "mknodat", "truncate", "ftruncate", "fallocate", "fdatasync", "flock"),
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "utime", "utimes", "utimensat", "futimesat", "chown", "lchown"),
    *("fchown", "fchownat", "pwritev", "pwritev2", "copy_file_range", "sendfile", "splice", "tee", "vmsplice"),
    *("sync_file_range", "getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr"),
    *("flistxattr", "inotify_init", "inotify_init1", "inotify_add_watch", "inotify_rm_watch", "cachestat"),
    *("memfd_create", "mlock", "mlock2", "munlock", "pkey_alloc", "pkey_free", "pkey_mprotect"),
    *("timer_create", "timer_settime", "timer_gettime", "timer_getoverrun", "timer_delete", "ioprio_get"),
    *("sched_getattr", "sched_rr_get_interval", "landlock_create_ruleset", "landlock_add_rule", "seccomp"),
    *("landlock_restrict_self", "bind"),  # bind: for netlink sockets; Landlock handles TCP ports
)

_FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 1030)
"""The allowed commands of ``fcntl``: duplicates, flags and locks. F_SETOWN is missing: it lets the kernel send signals
to another process.
"""
_IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX."""
_PRCTL = (15, 16, 0x53564D41)
"""PR_SET_NAME, PR_GET_NAME, PR_SET_VMA."""


@dataclass(frozen=True)
class Kind:
    """A kind of confined process, by the rights that it has in addition to ``_ALLOWED``.

    Attributes:
        calls: more system calls.
        values: allowed values of one argument, by the call and the argument's number. Other values are refused.
        clone: allowed bits of ``clone``'s flags, and the bits among them that must be set.
        pairs: allowed types of Unix sockets, in connected pairs only: an unconnected socket could send to any path.
        has_netlink: whether it may ask for the machine's network interfaces.
        has_own_priority: whether it may change its own priority.
        unavailable: calls that fail with another error than EPERM, by the error's number.
    """

    calls: Sequence[str]
    values: Mapping[tuple[str, int], Sequence[int]]
    clone: tuple[int, int]
    pairs: Sequence[int] = (socket.SOCK_STREAM,)
    has_netlink: bool = False
    has_own_priority: bool = False
    unavailable: Mapping[str, int] = field(default_factory=dict)


SCENARIO_CODE = Kind(
    calls=(),
    values={("fcntl", 1): _FCNTL, ("ioctl", 1): _IOCTL, ("prctl", 0): _PRCTL, ("prlimit64", 0): (0,)},
    clone=(_CLONE_THREAD, _CLONE_THREAD),
)
CLI_AGENT = Kind(
    calls=_OF_PROGRAMS,
    values={
        # More locks, pipe sizes, seals, hints. Not allowed: the receiver of signals, leases and notices of files.
        ("fcntl", 1): (*_FCNTL, 36, 37, 38, 1031, 1032, 1033, 1034, 1035, 1036, 1037, 1038),
        # For its own terminals (not TIOCSTI, TIOCSCTTY), copies of files, names and addresses of interfaces.
        ("ioctl", 1): (
            *(*_IOCTL, 0x5402, 0x5403, 0x5404, 0x5409, 0x540B, 0x540F, 0x5410, 0x5414, 0x5422, 0x5429),
            *(0x40049409, 0x4020940D, 0x8910, 0x8912, 0x8913, 0x8915, 0x891B, 0x8921, 0x8927, 0x8933),
        ),
        # Signal at the parent's end, dumps, new privileges, capabilities, timer slack, the reaper of orphans, large
        # pages. Not allowed: PR_SCHED_CORE, which names another process.
        ("prctl", 0): (*_PRCTL, 1, 2, 3, 4, 7, 8, 21, 22, 23, 29, 30, 36, 37, 38, 39, 41, 42, 47),
        ("prlimit64", 0): (0,),
        ("sched_setaffinity", 0): (0,),
        ("personality", 0): (0, 0xFFFFFFFF),
    },
    clone=(_CLONE_NAMESPACES, 0),
    pairs=(socket.SOCK_STREAM, socket.SOCK_SEQPACKET),
    has_netlink=True,
    has_own_priority=True,
    # If the system lacks these calls, programs use others.
    unavailable={
        "io_uring_setup": errno.ENOSYS,
        **dict.fromkeys((f"{file}{call}xattr" for file in ("", "l", "f") for call in ("set", "remove")), errno.ENOTSUP),
    },
)


def make_filter(kind: Kind, *, connects: bool = True) -> bytes | None:
    """Make the filter as a program for the kernel, with TCP connections if it ``connects``.

    Returns None if libseccomp or ``pyseccomp`` is missing.
    """
    if sys.platform != "linux":
        return None
    try:
        import pyseccomp  # type: ignore[import-untyped]
    except (ImportError, OSError, RuntimeError):
        return None
    calls = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))

    def allow(call: str, *arguments: Any) -> None:
        with suppress(ValueError, OSError):  # a call that this machine or this libseccomp lacks
            calls.add_rule(pyseccomp.ALLOW, call, *arguments)

    def only(number: int, value: int, mask: int | None = None) -> Any:
        if mask is None:
            return pyseccomp.Arg(number, pyseccomp.EQ, value)
        return pyseccomp.Arg(number, pyseccomp.MASKED_EQ, mask, value)

    for call in (*_ALLOWED, *kind.calls):
        allow(call)
    for call, flags in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
        allow(call, only(flags, 0, _MSG_FASTOPEN))
    allow("clone", only(0, kind.clone[1], kind.clone[0]))
    # Without clone3 libraries use clone, whose flags a filter can inspect.
    for call, number in {"clone3": errno.ENOSYS, **kind.unavailable}.items():
        with suppress(ValueError, OSError):
            calls.add_rule(pyseccomp.ERRNO(number), call)
    for (call, argument), values in kind.values.items():
        for value in values:
            allow(call, only(argument, value))
    if kind.has_own_priority:
        allow("setpriority", only(0, 0), only(1, 0))
    for pair in kind.pairs:
        allow("socketpair", only(0, socket.AF_UNIX), only(1, pair, _SOCK_TYPE))
    for family in (socket.AF_INET, socket.AF_INET6) if connects else ():
        for protocol in (0, socket.IPPROTO_TCP):
            allow("socket", only(0, family), only(1, socket.SOCK_STREAM, _SOCK_TYPE), only(2, protocol))
    if kind.has_netlink:
        allow("socket", only(0, _NETLINK), only(2, _NETLINK_ROUTE))
    with TemporaryFile() as file:
        calls.export_bpf(file)
        file.seek(0)
        return file.read()


def apply(program: bytes) -> None:
    """Apply a filter of ``make_filter`` to this process and its later threads. Raises ``OSError``."""

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.c_char_p))

    libc = ctypes.CDLL(None, use_errno=True)
    filter_program = Program(len(program) // 8, program)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(filter_program), 0, 0
    ):
        number = ctypes.get_errno()
        raise OSError(number, f"the kernel {platform.release()} takes no filter of system calls")
