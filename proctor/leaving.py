"""How a process ends that has spoken with Temporal.

The SDK runs threads of its own (Rust's Tokio) that hand over what comes from Temporal by taking Python's lock. They
can't be stopped: the runtime is one for the whole process, and what they do may go on after the client's last call is
over. An interpreter that takes itself apart under such a thread aborts: ``Fatal Python error: PyGILState_Release``. So
the interpreter isn't taken apart: once all that has to be done at an exit is done, the process ends at once.
"""

import atexit
import os
import sys
import threading
from contextlib import suppress
from typing import NoReturn

_SDK = "temporalio.bridge.temporal_sdk_bridge"


def leave(code: str | int | None) -> NoReturn:
    """End the process as ``sys.exit`` does: after its threads, its exit handlers and what it has written."""
    if _SDK not in sys.modules:
        sys.exit(code)
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads that are no daemons, as every exit does
    atexit._run_exitfuncs()
    if isinstance(code, str):
        print(code, file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # whoever read it has gone, or it is closed
            stream.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)
