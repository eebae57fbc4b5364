"""Which system calls a process with a scenario's code may make: those listed here, and no others (``man 2 seccomp``).

The list has what Python, its event loop and an HTTP client need: memory, threads, time, files that are open or can be
opened for reading, and TCP connections. Which files and which ports, Landlock says (``landlock``). Left out is
everything that reaches another process or outlives this one, such as signals, new processes, other programs, other
kinds of sockets, and changes to files.
"""

import ctypes
import errno
import platform
import socket
import sys
from contextlib import suppress
from tempfile import TemporaryFile
from typing import Any

_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, _PR_SET_NO_NEW_PRIVS = 22, 2, 38
_CLONE_THREAD = 0x00010000
_MSG_FASTOPEN = 0x20000000
"""Connects where Landlock doesn't look."""
_SOCK_TYPE = 0xF
_FCNTL_COMMANDS = (0, 1, 2, 3, 4, 5, 6, 7, 1030)
"""Duplicates, flags and locks; not F_SETOWN, by which a process may have the kernel signal another one."""
_IOCTL_REQUESTS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX."""
_PRCTL_OPTIONS = (15, 16, 0x53564D41)
"""PR_SET_NAME, PR_GET_NAME, PR_SET_VMA."""

ALLOWED = (
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
)
_OF_CONNECTIONS = (
    *("connect", "getsockname", "getpeername", "setsockopt", "getsockopt", "recvfrom", "recvmsg", "recvmmsg"),
    "shutdown",
)


def make_filter(*, connects: bool) -> bytes | None:
    """The filter as a program for the kernel, with TCP connections where it ``connects``; None where libseccomp or
    ``pyseccomp`` is missing.
    """
    if sys.platform != "linux":
        return None
    try:
        import pyseccomp  # type: ignore[import-untyped]
    except (ImportError, OSError, RuntimeError):
        return None
    calls = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))

    def allow(call: str, *arguments: Any) -> None:
        with suppress(ValueError, OSError):  # a call that this machine or this libseccomp doesn't have
            calls.add_rule(pyseccomp.ALLOW, call, *arguments)

    def only(number: int, value: int, mask: int | None = None) -> Any:
        if mask is None:
            return pyseccomp.Arg(number, pyseccomp.EQ, value)
        return pyseccomp.Arg(number, pyseccomp.MASKED_EQ, mask, value)

    for call in (*ALLOWED, *_OF_CONNECTIONS):
        allow(call)
    for call, flags in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
        allow(call, only(flags, 0, _MSG_FASTOPEN))
    allow("clone", only(0, _CLONE_THREAD, _CLONE_THREAD))
    calls.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")  # then libraries use clone, whose flags can be looked at
    allow("prlimit64", only(0, 0))
    allow("socketpair", only(0, socket.AF_UNIX), only(1, socket.SOCK_STREAM, _SOCK_TYPE))
    for call, number, values in (
        ("fcntl", 1, _FCNTL_COMMANDS),
        ("ioctl", 1, _IOCTL_REQUESTS),
        ("prctl", 0, _PRCTL_OPTIONS),
    ):
        for value in values:
            allow(call, only(number, value))
    for family in (socket.AF_INET, socket.AF_INET6) if connects else ():
        for protocol in (0, socket.IPPROTO_TCP):
            allow("socket", only(0, family), only(1, socket.SOCK_STREAM, _SOCK_TYPE), only(2, protocol))
    with TemporaryFile() as file:
        calls.export_bpf(file)
        file.seek(0)
        return file.read()


def apply(program: bytes) -> None:
    """Hold this process, and its threads to come, to a filter that ``make_filter`` made. Raises ``OSError``."""

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.c_char_p))

    libc = ctypes.CDLL(None, use_errno=True)
    filter_program = Program(len(program) // 8, program)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(filter_program), 0, 0
    ):
        number = ctypes.get_errno()
        raise OSError(number, f"the kernel {platform.release()} takes no filter of system calls")
