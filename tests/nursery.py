"""Fork servers of scenarios' code that are there at once: forked from a process that has imported all that they need.

Each start of one takes half a second of a core otherwise. Only fork servers of the tests' own process start so: those
of services, and of the tests of starts and ends, are as they are.
"""

import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Collection, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from tests.programs import Process, end, module, start

_LONGEST_ORDER = 200_000


def main() -> None:
    """Fork fork servers on demand, until the tests' process closes its end; they end with this one."""
    from pydantic import BaseModel

    from proctor.activities.scenario_code import fork_server
    from proctor.activities.scenario_code.confinement import find_missing_protections
    from purple_sdk.processes.http_clients import tls

    orders = socket.socket(fileno=int(sys.argv[1]))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)
    fork_server.import_late_ones()
    fork_server.build_models(BaseModel)
    tls()
    find_missing_protections()
    gc.freeze()
    while True:
        order, descriptors, _, _ = socket.recv_fds(orders, _LONGEST_ORDER, 1)
        if not order:
            return
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            orders.close()
            given = json.loads(order)
            os.environ.clear()
            os.environ.update(given["environment"])
            sys.path[:] = given["path"]
            control = socket.socket(fileno=descriptors[0])
            fork_server.main(control, os.getppid(), is_confined=given["is_confined"])
            os._exit(0)
        os.close(descriptors[0])


class Nursery:
    """What ``ForkServer`` starts its process by, in the place of ``Child``."""

    def __init__(self) -> None:
        self._orders, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process: Process | None = None

    def _begin(self) -> None:
        """Start the process that forks, when the first fork server is wanted."""
        command = module("tests.nursery", str(self._theirs.fileno()))
        self._process = start(command, pass_fds=[self._theirs.fileno()], stdout=None)
        self._theirs.close()

    async def start(
        self,
        command: Sequence[str],
        _guard: None,
        *,
        environment: Mapping[str, str],
        descriptors: Collection[int],
        **_more: Any,
    ) -> SimpleNamespace:
        """Have a fork server forked; the command line is that of its own program."""
        *_, path, _fd, _parent, protection = command
        order = {"path": json.loads(path), "environment": dict(environment), "is_confined": protection == "confined"}
        if self._process is None:
            self._begin()
        socket.send_fds(self._orders, [json.dumps(order).encode()], list(descriptors))

        async def ended(_seconds: float) -> None:
            """It ends by itself, as its socket is closed."""

        return SimpleNamespace(end=ended)

    def close(self) -> None:
        self._orders.close()
        self._theirs.close()
        if self._process is not None:
            end(self._process, signal.SIGKILL)


if __name__ == "__main__":
    from proctor.processes.importing import import_less

    import_less()
    main()
