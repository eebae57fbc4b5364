"""Confine a process with a scenario's code. The process confines itself, irrevocably, before that code runs.

The system limits memory, file sizes and open files (``setrlimit``). On Linux the kernel also refuses (``enclose``)

* all system calls except those in ``system_calls``
* reading of files that don't belong to the scenario, Python or the libraries (by Landlock)
* writing of any file, and all TCP ports except the simulator's (by Landlock)

On all systems Python's audit hook refuses processes, programs and signals, with a sentence.
"""

import ctypes
import os
import resource
import site
import socket
import sys
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from proctor.processes.names import OWN_PACKAGES
from purple_sdk.processes import system_calls
from purple_sdk.processes.capabilities import drop_capabilities
from purple_sdk.processes.landlock import KNOWS_PORTS, allow_only, landlock_version

_MB = 1024 * 1024
_GROWTH = 20

_PR_SET_DUMPABLE = 4


@dataclass(frozen=True)
class Limits:
    """Limits for a scenario's code.

    Attributes:
        seconds: the time for one judgement, or for loading; waiting for a model doesn't count.
        memory_mb: address space in addition to the process's initial one and its input.
        output_bytes: printed text, and each file that is written.
        open_files: simultaneously open files and connections.
    """

    seconds: float = 30.0
    memory_mb: int = 512
    output_bytes: int = _MB
    open_files: int = 64

    def make_room(self, size: int) -> "Limits":
        """Return the limits of a process that reads this many bytes of JSON, which grow when they are parsed."""
        return replace(self, memory_mb=self.memory_mb + _GROWTH * size // _MB)


def hide_from_neighbours() -> None:
    """Keep other processes of the same user from reading this one's environment and memory (Linux)."""
    if sys.platform == "linux":
        _libc().prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def confine(limits: Limits) -> None:
    """Put limits on this process, irrevocably, and move it to a separate process group."""
    os.setsid()
    os.nice(10)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower(resource.RLIMIT_FSIZE, limits.output_bytes)
    _lower(resource.RLIMIT_NOFILE, limits.open_files)
    if sys.platform == "linux":
        _lower(resource.RLIMIT_AS, _address_space() + limits.memory_mb * _MB)
        drop_capabilities()
    sys.addaudithook(_refuse)


@cache
def filter_of_calls(*, connects: bool) -> bytes | None:
    """Return the result of ``system_calls.make_filter``, which is computed once. The fork server calls this before the
    first fork.
    """
    return system_calls.make_filter(system_calls.SCENARIO_CODE, connects=connects)


def find_missing_protections() -> list[str]:
    """Return a sentence for each protection against scenarios' code that this machine lacks."""
    version = landlock_version()
    filters = [filter_of_calls(connects=connects) for connects in (True, False)]
    lacks = {
        "system calls are not filtered (Linux with libseccomp)": None in filters,
        "files can be read and written (Linux 5.13 or later with Landlock)": version < 1,
        "TCP ports can be reached (Linux 6.7 or later with Landlock)": version < KNOWS_PORTS,
    }
    return [sentence for sentence, is_lacking in lacks.items() if is_lacking]


def enclose(directory: Path, simulation: str | None) -> None:
    """Restrict this process to a scenario's folder, Python and its libraries, and the simulator's port, if it needs
    one.

    The simulator's name is looked up here, since later look-ups are impossible. Raises ``OSError`` if the kernel has
    the protection but refuses to apply it.
    """
    port = None
    if simulation is not None:
        address = urlsplit(simulation)
        port = address.port or (443 if address.scheme == "https" else 80)
        _look_up_for_good(address.hostname or "", port)
    own = Path(__file__).parents[3]  # a checkout, or site-packages
    modules = [own] if own in _installed_paths() else [own / name for name in _OWN_PACKAGES]
    readable = [str(directory), *map(str, _installed_paths()), *map(str, modules), *_SYSTEM_FILES]
    allow_only(readable, ["/dev/null"], port, [str(own / "scenarios")])
    if (program := filter_of_calls(connects=port is not None)) is not None:
        system_calls.apply(program)


def _look_up_for_good(host: str, port: int) -> None:
    """Fix the addresses of one host for this process. All other names become unknown."""
    try:
        known = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        known = []

    def getaddrinfo(asked: Any, asked_port: Any, *_: Any, **__: Any) -> list[Any]:
        name = asked.decode() if isinstance(asked, bytes) else asked
        if name == host and known:
            return [(*entry[:4], (entry[4][0], asked_port, *entry[4][2:])) for entry in known]
        raise socket.gaierror(socket.EAI_NONAME, f"a scenario's code can reach only the simulator's host, not {name!r}")

    socket.getaddrinfo = getaddrinfo  # type: ignore[assignment]


def _installed_paths() -> list[Path]:
    """Return the folders of Python and its installed packages."""
    folders = {Path(path) for path in (sys.prefix, sys.base_prefix, sys.exec_prefix, *site.getsitepackages())}
    return sorted({*folders, *(folder.resolve() for folder in folders)})


_OWN_PACKAGES = (*OWN_PACKAGES, "activities", "scenarios/__init__.py", "scenarios/kit")
"""The parts of a checkout that are imported. The other scenarios are not readable."""

_SYSTEM_FILES = (
    *("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/usr/share/zoneinfo"),
    "/usr/share/ca-certificates",
    *("/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/localtime"),
    *("/etc/ssl", "/etc/ld.so.cache", "/etc/mime.types", "/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"),
    "/proc/self",
)
"""Files that libraries read: shared objects, time zones, certificates, settings of name look-up."""


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
