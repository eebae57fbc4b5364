"""Commands that the agent refuses to run for the model: a list, searched at the places of commands."""

import re
from collections.abc import Collection

_SEPARATORS = re.compile(r"\|\|?|&&?|;|\n|\$\(|`|\(|\{|\b(?:do|then|else)\b")
_ASSIGNMENT = re.compile(r"\w+=\S*\s+")
_RUNNERS = {"sudo", "env", "nohup", "exec", "time", "command", "xargs", "nice", "setsid", "timeout"}


def blocked_command(line: str, blocked: Collection[str]) -> str | None:
    """The first command of a line that is one of the blocked; or None.

    It is a seat belt and no wall: who wants to run something has a shell. What must not happen, the container's limits
    keep from happening.
    """
    for piece in _SEPARATORS.split(line):
        words = _ASSIGNMENT.sub("", piece.strip()).split()
        for word in words:
            name = word.strip("'\"\\").rpartition("/")[2]
            if name in blocked:
                return name
            if name not in _RUNNERS and not word.startswith("-") and not word.replace(".", "").isdigit():
                break
    return None
