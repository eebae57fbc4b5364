"""One of the processes of ``proctor worker --processes N``, started by ``worker_processes``.

``python -m proctor.worker_process '{"number": K, "attempts": FD, "flags": {…}}'``: which one it is, where it writes
down the attempts that it is at, and what the command line said.
"""

import json
import os
import signal
import sys

from proctor.errors import CommandError
from proctor.leaving import leave
from proctor_processes.announcing import announce
from proctor_processes.importing import import_less


def main() -> None:
    """Work until SIGTERM, and exit with the command's code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    import_less()
    from proctor.services import read_worker_settings, work
    from proctor.settings import announce_as_logs
    from proctor.worker import Part

    announce_as_logs()
    job = json.loads(sys.argv[1])
    try:
        work(read_worker_settings(**job["flags"]), part=Part(job["number"], os.getppid(), job["attempts"]))
    except CommandError as problem:
        announce(f"proctor: {problem}", "ERROR", sys.stderr)
        leave(problem.exit_code)
    leave(0)


if __name__ == "__main__":
    main()
