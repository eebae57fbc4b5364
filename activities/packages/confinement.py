"""What a process that runs a scenario's code may not do; set by the process itself, for good, before that code runs.

Limits on memory, files and open files are the system's own (``setrlimit``). On Linux the kernel also refuses

* by a filter of system calls (seccomp, ``man 2 seccomp``) what could outlive the process, harm another one or change
  the system: new processes, other programs, signals, tracing, others' limits, namespaces, mounts, keys, io_uring; and
  sockets of any kind but TCP and UDP;
* by Landlock (``enclose``) reading any file but the scenario's own, Python's and its libraries'; writing any file; and
  every TCP port but the simulator's.

Elsewhere Python's audit hook refuses processes, programs and signals to code that is written in Python.
"""

import ctypes
import os
import platform
import resource
import signal
import site
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from activities.packages.landlock import allow_only

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


def enclose(directory: Path, simulation: str | None) -> None:
    """Leave this process only a scenario's folder, Python and its libraries, and the simulator's port.

    Args:
        directory: the scenario's folder.
        simulation: the simulator's address; None where none is needed.

    Raises:
        OSError: the kernel has Landlock, and refused.
    """
    port = None
    if simulation is not None:
        address = urlsplit(simulation)
        port = address.port or (443 if address.scheme == "https" else 80)
    own = Path(__file__).parents[2]  # a checkout, or site-packages
    modules = [own] if own in _installed() else [own / name for name in _OWN_PACKAGES]
    readable = [str(directory), *map(str, _installed()), *map(str, modules), *_SYSTEM_FILES]
    allow_only(readable, ["/dev/null"], port, [str(own / "scenarios")])


def _installed() -> list[Path]:
    """Where Python and what is installed for it are."""
    folders = {Path(path) for path in (sys.prefix, sys.base_prefix, sys.exec_prefix, *site.getsitepackages())}
    return sorted({*folders, *(folder.resolve() for folder in folders)})


_OWN_PACKAGES = (
    *("activities", "proctor_processes", "proctor_protocol", "proctor_storage", "purple_sdk"),
    *("scenarios/__init__.py", "scenarios/kit"),
)
"""What of a checkout is imported; the other scenarios are not readable."""

_SYSTEM_FILES = (
    *("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/usr/share/zoneinfo"),
    "/usr/share/ca-certificates",
    *("/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/localtime"),
    *("/etc/ssl", "/etc/ld.so.cache", "/etc/mime.types", "/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"),
    "/proc/self",
)
"""What libraries read: shared objects, time zones, certificates, how names are looked up."""


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
        "pidfd_getfd": 438,
        "process_madvise": 440,
        "kcmp": 312,
        "setpriority": 141,
        "sched_setaffinity": 203,
        "sched_setparam": 142,
        "sched_setscheduler": 144,
        "sched_setattr": 314,
        "ioprio_set": 251,
        "migrate_pages": 256,
        "move_pages": 279,
        "pivot_root": 155,
        "chroot": 161,
        "mount": 165,
        "umount2": 166,
        "unshare": 272,
        "setns": 308,
        "add_key": 248,
        "request_key": 249,
        "keyctl": 250,
        "name_to_handle_at": 303,
        "open_by_handle_at": 304,
        "perf_event_open": 298,
        "bpf": 321,
        "userfaultfd": 323,
        "io_uring_setup": 425,
        "io_uring_enter": 426,
        "io_uring_register": 427,
        "chmod": 90,
        "fchmod": 91,
        "chown": 92,
        "fchown": 93,
        "lchown": 94,
        "fchownat": 260,
        "fchmodat": 268,
        "fchmodat2": 452,
        "utime": 132,
        "utimes": 235,
        "futimesat": 261,
        "utimensat": 280,
        "setxattr": 188,
        "lsetxattr": 189,
        "fsetxattr": 190,
        "removexattr": 197,
        "lremovexattr": 198,
        "fremovexattr": 199,
        "setxattrat": 463,
        "removexattrat": 466,
        "file_setattr": 469,
        "shmget": 29,
        "shmat": 30,
        "shmctl": 31,
        "semget": 64,
        "semop": 65,
        "semctl": 66,
        "semtimedop": 220,
        "msgget": 68,
        "msgsnd": 69,
        "msgrcv": 70,
        "msgctl": 71,
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
        "pidfd_getfd": 438,
        "process_madvise": 440,
        "kcmp": 272,
        "setpriority": 140,
        "sched_setaffinity": 122,
        "sched_setparam": 118,
        "sched_setscheduler": 119,
        "sched_setattr": 274,
        "ioprio_set": 30,
        "migrate_pages": 238,
        "move_pages": 239,
        "pivot_root": 41,
        "chroot": 51,
        "mount": 40,
        "umount2": 39,
        "unshare": 97,
        "setns": 268,
        "add_key": 217,
        "request_key": 218,
        "keyctl": 219,
        "name_to_handle_at": 264,
        "open_by_handle_at": 265,
        "perf_event_open": 241,
        "bpf": 280,
        "userfaultfd": 282,
        "io_uring_setup": 425,
        "io_uring_enter": 426,
        "io_uring_register": 427,
        "fchmod": 52,
        "fchmodat": 53,
        "fchownat": 54,
        "fchown": 55,
        "fchmodat2": 452,
        "utimensat": 88,
        "setxattr": 5,
        "lsetxattr": 6,
        "fsetxattr": 7,
        "removexattr": 14,
        "lremovexattr": 15,
        "fremovexattr": 16,
        "setxattrat": 463,
        "removexattrat": 466,
        "file_setattr": 469,
        "shmget": 194,
        "shmctl": 195,
        "shmat": 196,
        "semget": 190,
        "semctl": 191,
        "semtimedop": 192,
        "semop": 193,
        "msgget": 186,
        "msgctl": 187,
        "msgrcv": 188,
        "msgsnd": 189,
    },
}
_PRLIMIT = {"x86_64": 302, "aarch64": 261}
_SOCKET = {"x86_64": 41, "aarch64": 198}
_AF_INET, _AF_INET6 = 2, 10
_SOCK_STREAM, _SOCK_DGRAM, _SOCK_TYPES = 1, 2, 0xF
_IPPROTO_TCP, _IPPROTO_UDP = 6, 17
_SENDS = {"x86_64": ((44, 40), (46, 32), (307, 40)), "aarch64": ((206, 40), (211, 32), (269, 40))}
"""sendto, sendmsg and sendmmsg, each with where its flags are in struct seccomp_data."""

_MSG_FASTOPEN = 0x20000000
_KILL_AND_TGKILL = {"x86_64": (62, 234), "aarch64": (129, 131)}
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_AUDIT_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_CALLS = 0x40000000

_CLONE_THREAD = 0x00010000
_EPERM, _ENOSYS = 1, 38
# Offsets in struct seccomp_data (linux/seccomp.h), whose words are little-endian on both architectures.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT, _THIRD_ARGUMENT = 0, 4, 16, 24, 32
# Instructions of linux/bpf_common.h.
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_BITS, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
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
    steps += [
        (_IF_EQUAL, 0, 5, _PRLIMIT[machine]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_IF_EQUAL, 2, 0, 0),
        (_IF_EQUAL, 1, 0, os.getpid()),
        refuse,
        (_RETURN, 0, 0, _ALLOW),
    ]
    for number, flags in _SENDS[machine]:  # TCP Fast Open connects where Landlock doesn't look
        steps += [
            (_IF_EQUAL, 0, 4, number),
            (_LOAD, 0, 0, flags),
            (_IF_BITS, 0, 1, _MSG_FASTOPEN),
            refuse,
            (_RETURN, 0, 0, _ALLOW),
        ]
    # Landlock knows TCP only, so MPTCP and SCTP are refused here.
    steps += [
        (_IF_EQUAL, 0, 14, _SOCKET[machine]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_IF_EQUAL, 2, 0, _AF_INET),
        (_IF_EQUAL, 1, 0, _AF_INET6),
        refuse,
        (_LOAD, 0, 0, _SECOND_ARGUMENT),
        (_AND, 0, 0, _SOCK_TYPES),
        (_IF_EQUAL, 2, 0, _SOCK_STREAM),
        (_IF_EQUAL, 1, 0, _SOCK_DGRAM),
        refuse,
        (_LOAD, 0, 0, _THIRD_ARGUMENT),
        (_IF_EQUAL, 3, 0, 0),
        (_IF_EQUAL, 2, 0, _IPPROTO_TCP),
        (_IF_EQUAL, 1, 0, _IPPROTO_UDP),
        refuse,
    ]
    return [*steps, (_RETURN, 0, 0, _ALLOW)]
