"""The environment of our processes: what it says of names and proxies, before the first heavy import."""

import os
import sys
from contextlib import suppress

_LOOPBACK = ("localhost", "127.0.0.0/8", "127.0.0.1", "::1")  # not every library knows networks
_OURS = ("AGENTBEATS_", "UES_", "XDG_", "HOME", "TMPDIR")


class BadEnvironmentError(Exception):
    """Something in the environment can't be used; the message is a sentence."""


def keep_loopback_direct() -> None:
    """Have no library of this process, and no child, send what is for this machine to a proxy of the environment."""
    proxies = {name for name in os.environ if name.lower().endswith("_proxy") and name.lower() != "no_proxy"}
    if proxies:  # where none is named, a name in no_proxy would stand for the system's settings (macOS)
        others = (os.environ.get("no_proxy") or os.environ.get("NO_PROXY", "")).split(",")
        direct = ",".join(dict.fromkeys(filter(None, [*map(str.strip, others), *_LOOPBACK])))
        os.environ.update({"no_proxy": direct, "NO_PROXY": direct})


def require_readable_names() -> None:
    """Make sure that the names of folders and files that this process gets can be read as text.

    Raises:
        BadEnvironmentError: one can't, as in a locale without UTF-8; the message has the name and the remedy.
    """
    given = {f"argument {place}": text for place, text in enumerate(sys.argv[1:], 1)}
    given |= {name: value for name, value in os.environ.items() if name.startswith(_OURS)}
    with suppress(FileNotFoundError):  # it was removed
        given["the working directory"] = os.getcwd()
    for where, text in {**given, "Python's folder": sys.prefix}.items():
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            encoding = sys.getfilesystemencoding()
            remedy = "set LC_ALL=C.UTF-8 or PYTHONUTF8=1" if encoding != "utf-8" else "rename it in UTF-8"
            # A variable may be a secret.
            value = "" if where in os.environ else f" ({os.fsencode(text).decode(errors='replace')})"
            raise BadEnvironmentError(f"{where}{value} can't be read as {encoding}: {remedy}")
