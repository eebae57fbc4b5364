"""What a process that runs a scenario's code may not do; set by the process itself, for good, before that code runs.

Limits on memory, files and open files are the system's own (``setrlimit``). On Linux the kernel also refuses, by a
filter of system calls (seccomp, ``man 2 seccomp``), whatever could outlive the process or harm another one: new
processes, other programs, signals, tracing. Elsewhere Python's audit hook refuses the same to code that is written in
Python.
"""

import ctypes
import os
import platform
import resource
import signal
import sys
from dataclasses import dataclass, replace
from typing import Any

_MB = 1024 * 1024
_GROWTH = 20

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38


@dataclass(frozen=True)
class Limits:
    """What a scenario's code may use at most.

    Attributes:
        seconds: for one judgement, or for loading; waiting for a model doesn't count.
        memory_mb: address space beyond what the process begins with, and what it is given to read.
        output_bytes: printed text, and each file that is written.
        open_files: files and connections that are open at a time.
    """

    seconds: float = 30.0
    memory_mb: int = 512
    output_bytes: int = _MB
    open_files: int = 64

    def with_room_for(self, given: int) -> "Limits":
        """The same for a process that has so many bytes of JSON to read, which grows when it is parsed."""
        return replace(self, memory_mb=self.memory_mb + _GROWTH * given // _MB)


def die_with_parent(parent: int) -> None:
    """End this process when the process ``parent``, which has started it, ends, however that goes (Linux)."""
    if sys.platform == "linux":
        _libc().prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def hide_from_neighbours() -> None:
    """Keep other processes of the same user from reading this one's environment and memory (Linux)."""
    if sys.platform == "linux":
        _libc().prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def confine(limits: Limits) -> None:
    """Put limits on this process; it has a process group of its own afterwards, and nothing lifts them again."""
    os.setsid()
    os.nice(10)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower(resource.RLIMIT_FSIZE, limits.output_bytes)
    _lower(resource.RLIMIT_NOFILE, limits.open_files)
    if sys.platform == "linux":
        _lower(resource.RLIMIT_AS, _address_space() + limits.memory_mb * _MB)
        _drop_capabilities()
        _filter_system_calls()
    sys.addaudithook(_refuse)


def _lower(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


def _address_space() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


_REFUSED_EVENTS = {
    "os.fork": "start processes",
    "os.forkpty": "start processes",
    "os.posix_spawn": "start processes",
    "os.spawn": "start processes",
    "os.system": "start processes",
    "subprocess.Popen": "start processes",
    "os.exec": "run other programs",
    "os.kill": "send signals",
    "os.killpg": "send signals",
    "signal.pthread_kill": "send signals",
}


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if what := _REFUSED_EVENTS.get(event):
        raise PermissionError(f"a scenario's code may not {what}")


# Linux


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION_3 = 0x20080522
_READS_ANY_FILE = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: in a container, a scenario's folder may belong to another user."""


def _drop_capabilities() -> None:
    """Give up root's powers over other processes and the system, where this process has any."""
    number = _CAPSET.get(platform.machine())
    if number is None or os.geteuid() != 0:
        return
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    kept = ctypes.c_uint32(_READS_ANY_FILE)
    data = (ctypes.c_uint32 * 6)(kept.value, kept.value, 0, 0, 0, 0)
    _libc().syscall(number, header, data)


_REFUSED_CALLS = {
    "x86_64": {
        "fork": 57,
        "vfork": 58,
        "execve": 59,
        "ptrace": 101,
        "setpgid": 109,
        "setsid": 112,
        "rt_sigqueueinfo": 129,
        "tkill": 200,
        "rt_tgsigqueueinfo": 297,
        "process_vm_readv": 310,
        "process_vm_writev": 311,
        "execveat": 322,
        "pidfd_send_signal": 424,
    },
    "aarch64": {
        "ptrace": 117,
        "tkill": 130,
        "rt_sigqueueinfo": 138,
        "setpgid": 154,
        "setsid": 157,
        "execve": 221,
        "rt_tgsigqueueinfo": 240,
        "process_vm_readv": 270,
        "process_vm_writev": 271,
        "execveat": 281,
        "pidfd_send_signal": 424,
    },
}
_KILL_AND_TGKILL = {"x86_64": (62, 234), "aarch64": (129, 131)}
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_AUDIT_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_CALLS = 0x40000000

_CLONE_THREAD = 0x00010000
_EPERM, _ENOSYS = 1, 38
# Offsets in struct seccomp_data (linux/seccomp.h), whose words are little-endian on both architectures.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
# Instructions of linux/bpf_common.h.
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def _filter_system_calls() -> None:
    machine = platform.machine()
    if machine not in _REFUSED_CALLS:
        return
    steps = _steps(machine)
    instructions = (_Instruction * len(steps))(*(_Instruction(*step) for step in steps))
    program = _Program(len(steps), instructions)
    libc = _libc()
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # Where the kernel has no such filters the audit hook is all there is.
    libc.prctl(_PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0)


def _steps(machine: str) -> list[tuple[int, int, int, int]]:
    """The filter's program: jumps say how many instructions are skipped if yes, and if no."""
    refuse = (_RETURN, 0, 0, _FAIL | _EPERM)
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_IF_EQUAL, 1, 0, _AUDIT_ARCHITECTURE[machine]),
        refuse,
        (_LOAD, 0, 0, _NUMBER),
        (_IF_AT_LEAST, 0, 1, _X32_CALLS),
        refuse,
        # The C library falls back to clone, whose flags can be looked at.
        (_IF_EQUAL, 0, 1, _CLONE3),
        (_RETURN, 0, 0, _FAIL | _ENOSYS),
    ]
    for number in _REFUSED_CALLS[machine].values():
        steps += [(_IF_EQUAL, 0, 1, number), refuse]
    steps += [
        (_IF_EQUAL, 0, 4, _CLONE[machine]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_IF_BITS, 1, 0, _CLONE_THREAD),
        refuse,
        (_RETURN, 0, 0, _ALLOW),
    ]
    for number in _KILL_AND_TGKILL[machine]:  # a process may end itself (abort)
        steps += [
            (_IF_EQUAL, 0, 4, number),
            (_LOAD, 0, 0, _FIRST_ARGUMENT),
            (_IF_EQUAL, 1, 0, os.getpid()),
            refuse,
            (_RETURN, 0, 0, _ALLOW),
        ]
    return [*steps, (_RETURN, 0, 0, _ALLOW)]
