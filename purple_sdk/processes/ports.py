"""Find free ports and the owners of used ports, and claim ports."""

import contextlib
import os
import random
import socket
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

_NOT_FOR_OUTGOING = range(10_081, 32_000)
"""Ports that systems don't use for outgoing connections: Linux uses ports from 32768 for them, other systems from 49152
(RFC 6335). A free port outside of this range might be taken by a connection before the server binds it. The range
begins behind the last port that browsers refuse (10080, https://fetch.spec.whatwg.org/#port-blocking).
"""


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen at this port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Return ``count`` different TCP ports that are free on this machine at the moment."""
    shuffled = random.sample(_NOT_FOR_OUTGOING, len(_NOT_FOR_OUTGOING))
    ports = list(islice((port for port in shuffled if _is_free_and_not_kept(port)), count))
    if len(ports) < count:
        raise OSError(f"there are no {count} free ports from {_NOT_FOR_OUTGOING[0]} to {_NOT_FOR_OUTGOING[-1]}")
    return ports


def keep_port() -> int:
    """Reserve a free port for a server that starts much later. ``free_ports`` gives the port to no process until this
    process ends.

    The port is bound without listening; a server that binds it with ``SO_REUSEADDR``, as nearly all do, can listen.
    """
    (port,) = free_ports(1)
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind(("127.0.0.1", port))
    _kept.append(kept)
    return port


_kept: list[socket.socket] = []


def _is_free_and_not_kept(port: int) -> bool:
    """Return whether a port is free and not reserved. Without ``SO_REUSEADDR``, a port that is only bound isn't
    free.
    """
    with socket.socket() as probe, contextlib.suppress(OSError):
        probe.bind(("127.0.0.1", port))
        return True
    return False


def claim(port: int) -> socket.socket | None:
    """Claim the right to start a server at a port; None if another worker on this machine has claimed it.

    The claim holds until it is closed or its process ends. Without it two servers may be started for the same port, and
    not every system makes the second one fail. The claim is the name of an abstract socket (``man 7 unix``) on Linux;
    such names have the same reach as ports. On other systems, the claim is a plain socket without effect.
    """
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    if sys.platform == "linux":
        try:
            name.bind(f"\0proctor-port-{port}")
        except OSError:
            name.close()
            return None
    return name


def find_listener(port: int) -> str | None:
    """Name the process that listens on a TCP port, such as ``uvicorn (pid 4711)``; None if unknown.

    Reads ``/proc``: it works on Linux only, and only for processes that this user may inspect.
    """
    inodes = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    if not inodes:
        return None
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if any(os.readlink(descriptor) in inodes for descriptor in (process / "fd").iterdir()):
                return f"{(process / 'comm').read_text().strip()} (pid {process.name})"
    return None


def _listening_inodes(port: int) -> Iterator[str]:
    """Yield the inodes of sockets in state LISTEN (0A) on a port, from the kernel's tables (``man 5 proc_net``)."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                columns = line.split()
                if columns[3] == "0A" and int(columns[1].rpartition(":")[2], 16) == port:
                    yield columns[9]
