"""End a process quickly, after its exit handlers.

The usual finalization of the interpreter is skipped, for two reasons:

* It takes up to a fifth of a short command's time, and only frees memory that the system takes back anyway.
* It aborts a command that used Temporal's client (``Fatal Python error: PyGILState_Release``). Threads of the SDK
  (Rust's Tokio) take Python's lock to pass on messages, and can't be stopped.
"""

import atexit
import os
import sys
import threading
from contextlib import suppress
from typing import NoReturn


def leave(code: str | int | None) -> NoReturn:
    """End the process as ``sys.exit`` does: wait for its threads, run its exit handlers, and flush its output."""
    threading._shutdown()  # type: ignore[attr-defined]  # waits for non-daemon threads, as every exit does
    atexit._run_exitfuncs()
    if isinstance(code, str):
        print(code, file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # its reader has gone, or it is closed
            stream.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)
