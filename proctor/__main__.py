"""The command's beginning: its checks before the first of our modules is imported."""

import os
import signal
import sys


def run() -> None:
    """Run ``proctor``; also what ``python -m proctor`` does.

    Until a command sets its own handler, a Ctrl-C ends the process at once and silently. Python's default, an exception
    at any place, would print a traceback out of an unfinished import.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where it is ignored, as under nohup
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from proctor.processes.importing import import_less

    import_less()
    from proctor.cli.main import main
    from proctor.common.leaving import leave

    try:
        main()
    except SystemExit as error:
        leave(error.code)
    except BaseException:  # a defect: told as Python tells it
        sys.excepthook(*sys.exc_info())
        leave(1)
    leave(0)


def _leave_the_working_directory() -> None:
    """Import nothing from where the command is typed: ``python -m`` puts that first."""
    first = os.path.realpath(sys.path[0] or os.curdir)
    if not sys.flags.safe_path and first != os.path.dirname(os.path.dirname(os.path.realpath(__file__))):
        del sys.path[0]


if __name__ == "__main__":
    _leave_the_working_directory()
    run()
