"""End a process quickly, after its exit handlers.

The interpreter isn't taken apart. That would take up to a fifth of a short command's time, for memory that the system
takes back anyway; and in one that has spoken with Temporal it would abort (``Fatal Python error: PyGILState_Release``):
the SDK's own threads (Rust's Tokio) take Python's lock to pass on messages from Temporal. They can't be stopped, since
the whole process has one runtime.
"""

import atexit
import os
import sys
import threading
from contextlib import suppress
from typing import NoReturn


def leave(code: str | int | None) -> NoReturn:
    """End the process as ``sys.exit`` does: wait for its threads, run its exit handlers, and flush its output."""
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads that are no daemons, as every exit does
    atexit._run_exitfuncs()
    if isinstance(code, str):
        print(code, file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # its reader has gone, or it is closed
            stream.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)
