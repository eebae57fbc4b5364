"""Open log files again by their names after a SIGHUP, to let them be rotated while services run."""

import os
import signal
import stat

LOG_FILE = "PROCTOR_LOG_FILE"
"""The variable that names a child's log. The child can't look it up, since the file may have been renamed."""

_OUTPUTS = (1, 2)
_files: dict[int, str] = {}


def has_terminal() -> bool:
    """Whether a terminal shows this process's output. If so, a SIGHUP means that the terminal was closed."""
    return any(map(os.isatty, _OUTPUTS))


def reopen_on_hangup() -> None:
    """Make a SIGHUP call ``reopen`` instead of ending this process. Call this function at the process's start.

    If the process has a terminal, a SIGHUP still ends it.
    """
    named = os.environ.pop(LOG_FILE, None)
    _files.update({output: named or path for output in _OUTPUTS if (path := _find_path(output))})
    if not has_terminal():
        signal.signal(signal.SIGHUP, lambda *_: reopen())


def name_of_log() -> dict[str, str]:
    """Return the variable that names the log, for a child that inherits this process's standard error."""
    return {LOG_FILE: _files[2]} if 2 in _files else {}


def reopen() -> None:
    """Reopen the files that this process wrote to at its start. A file that can't be opened keeps its old handle."""
    for output, path in _files.items():
        try:
            mode = stat.S_IMODE(os.fstat(output).st_mode)
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, mode)
        except OSError as error:
            os.write(2, f"{path} can't be opened again: {error.strerror}\n".encode())
            continue
        os.dup2(file, output)
        os.close(file)


def _find_path(output: int) -> str | None:
    """Return the path of the file behind an output; None if it isn't a file, or the system doesn't tell."""
    try:
        return os.readlink(f"/proc/self/fd/{output}") if stat.S_ISREG(os.fstat(output).st_mode) else None
    except OSError:
        return None
