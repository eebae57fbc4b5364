"""Check whether the agent in this container answers with its card, for ``HEALTHCHECK`` in the images.

The exit code is 0 if it does, else 1. The port is that of the container's command (``--port``), else the environment's.
"""

import os
import sys
import urllib.request
from pathlib import Path


def find_port(words: list[str]) -> str:
    """The port that a command line and the environment name."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == "--port":
            return following
        if word.startswith("--port="):
            return word.removeprefix("--port=")
    names = ("AGENTBEATS_GREEN_PORT", "AGENTBEATS_PURPLE_PORT", "AGENTBEATS_PORT")
    return next((os.environ[name] for name in names if os.environ.get(name)), "9009")


if __name__ == "__main__":
    port = find_port(Path("/proc/1/cmdline").read_text().split("\0"))
    try:
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        direct.open(f"http://127.0.0.1:{port}/.well-known/agent-card.json", timeout=20)
    except OSError as error:
        sys.exit(f"port {port}: {error}")
