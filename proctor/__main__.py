"""Start the ``proctor`` command; some checks come before the first import of our modules."""

import os
import signal
import sys


def run() -> None:
    """Run ``proctor``, as a command or as ``python -m proctor``.

    Until a command sets its own handler, a Ctrl-C ends the process at once and silently. Python's default handler would
    raise an exception, and print a traceback if an import is unfinished.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # under nohup, the signal is ignored and stays so
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from proctor.processes.importing import import_less

    import_less()
    from proctor.cli.main import main
    from proctor.common.leaving import leave

    try:
        main()
    except SystemExit as error:
        leave(error.code)
    except BaseException:  # a defect: Python prints its traceback
        sys.excepthook(*sys.exc_info())
        leave(1)
    leave(0)


def _leave_the_working_directory() -> None:
    """Remove the working directory from the import path: ``python -m`` puts it first."""
    first = os.path.realpath(sys.path[0] or os.curdir)
    if not sys.flags.safe_path and first != os.path.dirname(os.path.dirname(os.path.realpath(__file__))):
        del sys.path[0]


if __name__ == "__main__":
    _leave_the_working_directory()
    run()
