"""A machine of its own, as far as ports go: services in a terminal each, then a command that asks them for something.

``python -m tests.cli.terminals FOLDER`` reads ``FOLDER/services.json``, a list of ``[command, what it says when it
is ready]``, starts each in a new folder of its own once the one before is ready, and then runs the command in
``FOLDER/asks``. What the services say goes to ``FOLDER/NUMBER.txt``; the answer is printed.
"""

import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

from tests.waiting import wait_until

_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1


def alone(command: list[str]) -> list[str]:
    """The command with a network of its own, where this user may have that; all that it starts ends with it."""
    unshare = ["unshare", "--net", "--pid", "--fork", "--kill-child"]
    may = shutil.which("unshare") and subprocess.run([*unshare, "true"], capture_output=True, check=False)
    return [*unshare, *command] if may and may.returncode == 0 else command


def main(folder: Path) -> int:
    with socket.socket() as any_socket:
        try:
            fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP))
        except OSError:
            pass  # the machine's own network, where it is up
    services = []
    try:
        for number, (command, ready) in enumerate(json.loads((folder / "services.json").read_text())):
            where, said = folder / f"terminal-{number}", folder / f"{number}.txt"
            where.mkdir()
            with said.open("w") as output:
                service = subprocess.Popen(
                    command, shell=True, cwd=where, stdout=output, stderr=output, start_new_session=True
                )
            services.append(service)
            wait_until(lambda s=service, t=said, r=ready: r in t.read_text() or s.poll() is not None)  # type: ignore[misc]
            if ready not in said.read_text():
                print(f"{command} never said {ready!r}:\n{said.read_text()}", file=sys.stderr)
                return 1
        return subprocess.run((folder / "asks").read_text(), shell=True, check=False).returncode
    finally:
        for service in services:
            os.killpg(service.pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
