"""Starts a CLI agent in confinement: ``python -S -P -m purple_sdk.harness.launcher RULES PROGRAM ARGUMENT…``.

A child applies the rules to itself, irrevocably, and becomes the CLI agent:

* Landlock (Linux 5.13+) refuses to write files outside of its own folders, and to read the folders of other assessments
  and of scenarios. It also refuses every TCP port except the relay's.
* seccomp refuses all system calls except the listed ones (``system_calls.CLI_AGENT``).
* In its own namespaces, the CLI agent sees no hidden folders and no other processes.

None of this needs root; root's capabilities are dropped.

The launcher waits for the end of the CLI agent or of its own standard input, or for SIGTERM. Then it ends all processes
of the CLI agent, and exits with the CLI agent's exit code. If the launcher is killed, the kernel ends these processes,
if they have a namespace. Only the standard library is imported here.
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import NoReturn

from purple_sdk.processes import system_calls
from purple_sdk.processes.capabilities import drop_capabilities, forbid_new_privileges
from purple_sdk.processes.landlock import KNOWS_PORTS, KNOWS_SIGNALS, allow_only, landlock_version
from purple_sdk.processes.namespaces import arrange, has_own_view, unshare
from purple_sdk.processes.reaping import Reaper, leave_first_process

_FILE_BYTES = 1_024_000_000
MEMORY_BYTES = 8 << 30
"""Bytes of data for each process. A limit on address space would break JavaScript engines, which reserve much of it."""

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")
_READ_DEVICES = ("/dev/random", "/dev/urandom")
"""Devices that stay visible; others are hidden: a disk's device has the content of all hidden folders."""

_FOR_PYTHON = {"PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONCOERCECLOCALE": "0"}
"""Variables for the Python that runs the launcher: where to find it, and no change of the locale. They are removed
before the CLI agent begins.
"""


@cache
def _filter() -> str:
    return (system_calls.make_filter(system_calls.CLI_AGENT) or b"").hex()


@cache
def _view() -> str | None:
    """Return the best separate view of files and processes that this machine supports."""
    if has_own_view(processes=True):
        return "files and processes"
    return "files" if has_own_view(processes=False) else None


@dataclass(frozen=True)
class Rules:
    """The rights of a CLI agent.

    Attributes:
        hidden: the folders that it may not read.
        readable: folders below hidden ones that it may read nevertheless.
        port: the TCP port that it may connect to.
        calls: the filter of its system calls, in hexadecimal digits; empty if this machine can't make one.
        view: its separate views: "files and processes", "files", or nothing.
    """

    work: str
    writable: Sequence[str]
    hidden: Sequence[str]
    readable: Sequence[str]
    port: int
    calls: str = field(default_factory=_filter)
    view: str | None = field(default_factory=_view)


def launcher_command(rules: Rules, command: Sequence[str]) -> list[str]:
    """Return the command line that starts a CLI agent under rules."""
    return [sys.executable, "-S", "-P", "-m", __name__, json.dumps(asdict(rules)), *command]


def launcher_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of that command, from the CLI agent's environment."""
    return {**environment, **_FOR_PYTHON}


def find_missing_confinement() -> list[str]:
    """Return a sentence on each part of the confinement that this machine lacks."""
    version = landlock_version()
    lacks = {
        "it can write files outside of its home (Linux 5.13 or later with Landlock prevents that)": version < 1,
        "it can connect to any address (Linux 6.7 or later with Landlock prevents that)": version < KNOWS_PORTS,
        "it can send signals to your other processes (Linux 6.12 or later with Landlock prevents that)": version
        < KNOWS_SIGNALS,
        "it can change the limits of your other processes (Linux with libseccomp prevents that)": not _filter(),
        "it can change modes and times of your other files, lock them, and list hidden folders (root, or namespaces "
        "for users, prevent that)": _view() is None,
        "it sees your other processes, and continues if its launcher is killed (namespaces and a /proc with nothing "
        "mounted in it prevent that)": _view() != "files and processes",
    }
    return [sentence for sentence, is_lacking in lacks.items() if is_lacking]


def confine(rules: Rules) -> None:
    """Apply the rules to this process. Raises OSError if the kernel has Landlock but refuses to apply it."""
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, _FILE_BYTES)
    if sys.platform == "linux":
        _lower(resource.RLIMIT_DATA, MEMORY_BYTES)
        hidden = [Path("/dev"), *map(Path, rules.hidden)]
        readable = [path for top in ("/", *rules.readable) for path in _all_but(Path(top), hidden)]
        forbid_new_privileges()
        allow_only([*readable, *_READ_DEVICES], [*rules.writable, *_DEVICES], rules.port, ["/"])
        drop_capabilities()
        if rules.calls:
            system_calls.apply(bytes.fromhex(rules.calls))


def _all_but(folder: Path, hidden: Sequence[Path]) -> Iterator[str]:
    """Yield a folder's contents except for hidden folders. Landlock has no rules that exclude folders, so the others
    are listed.

    A folder without a hidden one inside is yielded as a whole. In other folders, links are left out, since they may
    lead to a hidden folder. The contents of a folder that this user can't list are left out, too.
    """
    if not any(folder in hidden_path.parents for hidden_path in hidden):
        yield str(folder)
        return
    with suppress(PermissionError):
        for entry in os.scandir(folder):
            path = Path(entry.path)
            if path not in hidden and not entry.is_symlink():
                yield from _all_but(path, hidden)


def _lower(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


def main() -> None:
    """Start the CLI agent, end all its processes, and exit with its exit code."""
    rules, command = Rules(**json.loads(sys.argv[1])), sys.argv[2:]
    reaper = Reaper()
    try:
        if rules.view:
            unshare(processes=rules.view == "files and processes")
    except OSError as error:
        sys.exit(f"{command[0]} can't be confined: {error}")
    if reaper.fork():
        _become(rules, command)
    os._exit(reaper.wait(lifeline=0))


def _become(rules: Rules, command: list[str]) -> NoReturn:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    try:
        if rules.view:
            arrange(rules.writable, rules.readable, rules.hidden)
        if os.getpid() == 1:
            leave_first_process()
        confine(rules)
    except OSError as error:
        sys.exit(f"{command[0]} can't be confined: {error}")
    for name in _FOR_PYTHON:
        del os.environ[name]
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores these signals, and the CLI agent would inherit that
    os.umask(0o077)
    os.chdir(rules.work)
    try:
        os.execvp(command[0], [*command])
    except OSError as error:
        sys.exit(f"{command[0]} can't be started: {error.strerror}")


if __name__ == "__main__":
    main()
