"""Log files, opened again by their names after a SIGHUP, so that they can be rotated while services run."""

import os
import signal
import stat

LOG_FILE = "PROCTOR_LOG_FILE"
"""The variable that names a child's log, which may have another name by the time that the child looks."""

_OUTPUTS = (1, 2)
_files: dict[int, str] = {}


def has_terminal() -> bool:
    """Whether a terminal shows this process's output; a SIGHUP says then that it was closed."""
    return any(map(os.isatty, _OUTPUTS))


def reopen_on_hangup() -> None:
    """Have a SIGHUP call ``reopen``, and not end this process; to be called at its start. Without effect where it has a
    terminal.
    """
    named = os.environ.pop(LOG_FILE, None)
    _files.update({output: named or path for output in _OUTPUTS if (path := _path_of(output))})
    if not has_terminal():
        signal.signal(signal.SIGHUP, lambda *_: reopen())


def name_of_log() -> dict[str, str]:
    """The variable for a child that gets this process's standard error."""
    return {LOG_FILE: _files[2]} if 2 in _files else {}


def reopen() -> None:
    """Open the files again to which this process wrote at its start. One that can't be opened stays as it is."""
    for output, path in _files.items():
        try:
            mode = stat.S_IMODE(os.fstat(output).st_mode)
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, mode)
        except OSError as problem:
            os.write(2, f"{path} can't be opened again: {problem.strerror}\n".encode())
            continue
        os.dup2(file, output)
        os.close(file)


def _path_of(output: int) -> str | None:
    """The file that it goes to; None for all else, and where the system doesn't say."""
    try:
        return os.readlink(f"/proc/self/fd/{output}") if stat.S_ISREG(os.fstat(output).st_mode) else None
    except OSError:
        return None
