"""Run work that takes much memory in a separate process. All memory is free again when the process ends.

``do`` starts this module with ``python -m``. The child process reads the pickled work from standard input, and answers
on standard output.
"""

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

_SHOWN = 500


def do(work: Callable[..., None], *arguments: Any) -> None:
    """Call a function of a module in a separate process, and wait for its end.

    Raises:
        Exception: any exception of the function.
        RuntimeError: the process has ended without an answer.
    """
    asked = pickle.dumps((work, arguments))
    ended = subprocess.run([sys.executable, "-m", __spec__.name], input=asked, capture_output=True, check=False)
    if ended.returncode:
        last = ended.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise RuntimeError(f"the process that {work.__name__} ran in ended with {ended.returncode}: {last[-_SHOWN:]}")
    problem = pickle.loads(ended.stdout)
    if problem is not None:
        raise problem


def main() -> None:
    work, arguments = pickle.load(sys.stdin.buffer)
    problem = None
    try:
        work(*arguments)
    except Exception as error:
        problem = error
    sys.stdout.buffer.write(pickle.dumps(problem))


if __name__ == "__main__":
    main()
