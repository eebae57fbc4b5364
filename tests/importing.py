"""The processes of a run import all tests, each from another place on, so that they share what has to be compiled.

In a fresh clone nothing is compiled, and that takes longer than the imports. In one order each process would compile
everything for itself, at the same time as the others.
"""

from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[1]


def modules(files: Sequence[Path], process: int, processes: int) -> list[str]:
    """The modules of test files in the order of one of the processes, each after the ``conftest`` of its folder."""
    begin = len(files) * process // processes
    own_first = [*files[begin:], *files[:begin]]
    pairs = [(file.with_name("conftest.py"), file) for file in own_first]
    paths = dict.fromkeys(path for pair in pairs for path in pair if path.exists())
    return [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]


def import_tests(process: int, processes: int) -> None:
    """Import all tests; what can't be imported says so when it is collected."""
    for name in modules(sorted((ROOT / "tests").rglob("test_*.py")), process, processes):
        with suppress(Exception):
            import_module(name)
