"""One of the processes of ``proctor worker --processes N``, started by ``worker_processes``.

``python -m proctor.service.worker_process '{"number": K, "parent": PID, "attempts": FD, "flags": {…}}'`` starts it.
The fields are the process's number, the parent's process id, the pipe for running attempts, and the command line's
flags.
"""

import json
import signal
import sys

from proctor.common.errors import CommandError
from proctor.common.leaving import leave
from proctor.processes.importing import import_less
from proctor.processes.log_files import reopen_on_hangup
from purple_sdk.processes.announcing import announce
from purple_sdk.processes.reaping import die_with_parent


def main() -> None:
    """Work until SIGTERM, and exit with the command's code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    reopen_on_hangup()
    job = json.loads(sys.argv[1])
    # The parent's guard ends this process, too, unless the parent dies before it has announced this process.
    die_with_parent(job["parent"])
    import_less()
    from proctor.common.settings import announce_as_logs
    from proctor.service.services import read_worker_settings, work
    from proctor.service.worker import Part

    announce_as_logs()
    try:
        work(read_worker_settings(**job["flags"]), part=Part(job["number"], job["parent"], job["attempts"]))
    except CommandError as error:
        announce(f"proctor: {error}", "ERROR", sys.stderr)
        leave(error.exit_code)
    leave(0)


if __name__ == "__main__":
    main()
