"""The environment of our processes: checks of file names and proxies, before the first heavy import."""

import os
import sys
from contextlib import suppress

_LOOPBACK = ("localhost", "127.0.0.0/8", "127.0.0.1", "::1")  # not every library knows networks
_OURS = ("AGENTBEATS_", "UES_", "XDG_", "HOME", "TMPDIR")


class BadEnvironmentError(Exception):
    """Something in the environment is unusable; the message is a sentence."""


def keep_loopback_direct() -> None:
    """Keep requests to this machine away from the environment's proxies, in this process and its children."""
    proxies = {name for name in os.environ if name.lower().endswith("_proxy") and name.lower() != "no_proxy"}
    if proxies:  # if no proxy is named, a name in no_proxy would activate the system's settings (macOS)
        others = (os.environ.get("no_proxy") or os.environ.get("NO_PROXY", "")).split(",")
        direct = ",".join(dict.fromkeys(filter(None, [*map(str.strip, others), *_LOOPBACK])))
        os.environ.update({"no_proxy": direct, "NO_PROXY": direct})


def require_readable_names() -> None:
    """Check that the names of folders and files in this process's environment can be decoded as text.

    Raises:
        BadEnvironmentError: a name can't be decoded, as in a locale without UTF-8; the message has the name and the
            remedy.
    """
    given = {f"argument {place}": text for place, text in enumerate(sys.argv[1:], 1)}
    given |= {name: value for name, value in os.environ.items() if name.startswith(_OURS)}
    with suppress(FileNotFoundError):  # the working directory was removed
        given["the working directory"] = os.getcwd()
    for where, text in {**given, "Python's folder": sys.prefix}.items():
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            encoding = sys.getfilesystemencoding()
            remedy = "set LC_ALL=C.UTF-8 or PYTHONUTF8=1" if encoding != "utf-8" else "rename it in UTF-8"
            # A variable may be a secret.
            value = "" if where in os.environ else f" ({os.fsencode(text).decode(errors='replace')})"
            raise BadEnvironmentError(f"{where}{value} can't be read as {encoding}: {remedy}")
