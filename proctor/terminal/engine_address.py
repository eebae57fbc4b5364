"""The Docker engine's address; needs no client."""

import os

USUAL_SOCKET = "unix:///var/run/docker.sock"
"""The default address of an engine."""


def engine_address(url: str | None) -> str:
    """Return the address that a setting names; else ``DOCKER_HOST``, else the usual socket."""
    return url or os.environ.get("DOCKER_HOST") or USUAL_SOCKET
