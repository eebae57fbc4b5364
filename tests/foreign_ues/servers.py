"""Commands that start UES servers, and what of them is running."""

import sys
from pathlib import Path
from uuid import uuid4

import psutil

from tests.waiting import wait_until

LIMITED = Path(__file__).parent / "limited_server.py"
KEYLESS = Path(__file__).parent / "keyless_server.py"


class Program:
    """The program that the setting names: a shell script, as launchers often are, whose content a test may change.

    Its path is on the command line of all that it starts.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"ues-{uuid4().hex}"
        self.trap = folder / "trap"
        self.command = f"{self.path} {{host}} {{port}}"
        self.be_limited()

    def be_limited(self) -> None:
        """Start limited servers, which is what it does at first."""
        self.be(f"{sys.executable} {LIMITED} --host $1 --port $2 --trap {self.trap} --mark $0; echo gone")

    def be_like_ours(self) -> None:
        """Start our own simulator."""
        self.be(f"exec {sys.executable} -m proctor.ues --single --host $1 --port $2 --seed $0")

    def be(self, script: str) -> None:
        """Be this shell script."""
        self.path.write_text(f"#!/bin/sh\n{script}\n")
        self.path.chmod(0o755)

    def die_at(self, *requests: str) -> None:
        """Have the server die when it has carried out the last of these requests, which come in this order."""
        self.trap.write_text("\n".join(requests))

    def are_all_gone(self) -> bool:
        """Whether nothing that it has started is left, or nothing will be."""
        return wait_until(lambda: not self.processes())

    def processes(self) -> list[psutil.Process]:
        """The shells and servers that run."""
        return running(str(self.path))

    def servers(self) -> list[psutil.Process]:
        """The servers that run."""
        return [process for process in self.processes() if "python" in Path(process.exe()).name]


def running(mark: str) -> list[psutil.Process]:
    """The processes with this on their command lines."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"] or []
        if process.info["status"] != psutil.STATUS_ZOMBIE and any(mark in word for word in words):
            found.append(process)
    return found
