"""A network between containers, made by hand: the tests' engine has none, as it may not touch the machine's firewall.

Containers are started with ``--network none``; ``Network.join`` puts a cable into them. On the network are only those
containers, and whoever is started with ``Network.inside``: this machine's own addresses are not on it.
"""

import os
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from tests.docker_engine import DockerEngine

SWITCH = "10.77.0.1"
"""The address of whoever is ``inside``."""


class Network:
    """A switch in a network namespace of its own; it carries 10.77.0.0/24."""

    def __init__(self, name: str, engine: DockerEngine) -> None:
        self.name = name
        self._engine = engine

    def inside(self, *command: str) -> list[str]:
        """The command that runs a command as one more host of the network."""
        return ["ip", "netns", "exec", self.name, *command]

    def join(self, container: str, address: str) -> None:
        """Connect a running container, which has no network, at an address."""
        pid = self._engine.docker("inspect", "--format", "{{.State.Pid}}", container)
        port = f"v{uuid.uuid4().hex[:10]}"
        # The far end's name in the container has to be free on this side, too, until it is there.
        _ip("-n", self.name, "link", "add", port, "type", "veth", "peer", "name", f"{port}p")
        _ip("-n", self.name, "link", "set", port, "master", "switch", "up")
        _ip("-n", self.name, "link", "set", f"{port}p", "netns", pid)
        for words in (
            ("link", "set", f"{port}p", "name", "eth0"),
            ("address", "add", f"{address}/24", "dev", "eth0"),
            ("link", "set", "eth0", "up"),
        ):
            _run("nsenter", "--target", pid, "--net", "ip", *words)


@contextmanager
def network(engine: DockerEngine) -> Iterator[Network]:
    """A network for the containers of an engine; it is gone afterwards."""
    name = f"proctor-{os.getpid()}-{uuid.uuid4().hex[:6]}"
    _ip("netns", "add", name)
    try:
        _ip("-n", name, "link", "add", "switch", "type", "bridge")
        _ip("-n", name, "address", "add", f"{SWITCH}/24", "dev", "switch")
        for link in ("lo", "switch"):
            _ip("-n", name, "link", "set", link, "up")
        yield Network(name, engine)
    finally:
        _ip("netns", "delete", name)


def _ip(*words: str) -> None:
    _run("ip", *words)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
