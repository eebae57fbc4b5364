"""Where the Docker engine is; known without a client of one."""

import os

USUAL_SOCKET = "unix:///var/run/docker.sock"
"""The address at which an engine listens by default."""


def engine_address(url: str | None) -> str:
    """The address that a setting names; else what ``DOCKER_HOST`` says, else the usual socket."""
    return url or os.environ.get("DOCKER_HOST") or USUAL_SOCKET
