"""Which tests run a module: ``python -m tests.index [ROOM ...]`` writes ``tests/INDEX.md``.

The tests are run once under coverage.py (``pip install coverage``), with the file of the running test as
context. Only code in the tests' own process is seen, so rooms that talk to services in other processes are left out
(``_SERVICES``). With rooms as arguments, only their part is measured again. All take half an hour.
"""

import ast
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
INDEX = ROOT / "tests" / "INDEX.md"
MOST = 4
"""The number of test files that are listed for a module: those that run most lines of its functions."""

_PACKAGES = ("a2a_gateway", "activities", "proctor*", "purple_sdk", "scenarios", "ues_sim", "viewer", "workflows")
_SERVICES = ("assessments", "chaos", "containers", "foreign_ues", "histories", "sizes", "terminal_bench", "ui")
_HEAD = """# Modules and the tests that run them

Written by `python -m tests.index` (`tests/index.py`). The files are in `tests/`. The number says how many lines of the
module's functions a file runs. Modules that run only in services, or in other processes, have the files that name their
functions or classes, or that run what imports them, and no number. Measured rooms: {}.
"""
_SHORTEST = 8
"""Letters of a name that is looked for in tests: shorter ones are common words."""

_TEST = re.compile(r"(\S+) (\d+)")
_ROW = re.compile(r"^\| `(\S+)` \| (.*) \|$", re.MULTILINE)

Index = dict[str, Counter[str]]
"""Module (path) to test files (paths within ``tests``) with the lines of functions that they run."""


def pytest_runtest_protocol(item: pytest.Item) -> None:
    """As a plugin of a measured run: the test's file is the context of what is run from now on."""
    import coverage

    if measured := coverage.Coverage.current():
        measured.switch_context(item.path.relative_to(ROOT / "tests").as_posix())


def measure(rooms: list[str]) -> Index:
    """Run the rooms' tests under coverage. Failures don't matter here."""
    import coverage

    with tempfile.TemporaryDirectory() as folder:
        data = f"{folder}/coverage"
        command = [sys.executable, "-m", "coverage", "run", f"--data-file={data}", f"--include={_included()}"]
        command += ["-m", "pytest", "-q", "-p", "tests.index", *(f"tests/{room}" for room in rooms)]
        subprocess.run(command, cwd=ROOT, check=False)
        read = coverage.CoverageData(data)
        read.read()
        files = [path for path in read.measured_files() if path.endswith(".py")]  # and no templates
        return {_name(path): _lines_by_test(Path(path), read.contexts_by_lineno(path)) for path in files}


def _included() -> str:
    return ",".join(f"{ROOT}/{package}/*" for package in _PACKAGES)


def _name(path: str) -> str:
    return Path(path).relative_to(ROOT).as_posix()


def _lines_by_test(path: Path, contexts: dict[int, list[str]]) -> Counter[str]:
    """Test file to the number of lines of functions that it runs: others are run by an import."""
    inner = {line for span in _functions(path) for line in span}
    return Counter(test for line in inner & contexts.keys() for test in contexts[line] if test)


def _functions(path: Path) -> Iterator[range]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)


def modules() -> list[str]:
    """The modules of the project, without the ``__init__.py`` that have no code."""
    found = [path for package in _PACKAGES for path in ROOT.glob(f"{package}/**/*.py")]
    return sorted(_name(str(path)) for path in found if any(_functions(path)) and "terminal_bench/" not in str(path))


def table(index: Index) -> str:
    """The index as a page."""
    rooms = sorted({test.partition("/")[0] for tests in index.values() for test in tests})
    texts = {_name(str(path)): path.read_text() for path in (ROOT / "tests").rglob("test_*.py")}
    sources = {name: (ROOT / name).read_text() for name in modules()}
    rows = []
    for name in sources:
        measured = [f"{test} {lines}" for test, lines in _ranked(index.get(name))]
        rows.append(f"| `{name}` | {', '.join(measured or _naming(name, texts) or _importing(name, sources, index))} |")
    return "\n".join([_HEAD.format(", ".join(rooms)), "| module | tests |", "| --- | --- |", *rows, ""])


def _ranked(tests: Counter[str] | None) -> list[tuple[str, int]]:
    return sorted((tests or Counter()).items(), key=lambda each: (-each[1], each[0]))[:MOST]


def _naming(name: str, texts: dict[str, str]) -> list[str]:
    """The test files that name a module, its public functions and classes, or its command; most names first."""
    defined = [getattr(node, "name", "") for node in ast.parse((ROOT / name).read_text()).body]
    names = [_dotted(name), *(each for each in defined if len(each) >= _SHORTEST)]
    if "/commands/" in name:
        names.append(f'"{Path(name).stem.replace("_", "-")}"')
    words = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names))
    found = Counter({test.removeprefix("tests/"): len(set(words.findall(text))) for test, text in texts.items()})
    return [test for test, _ in _ranked(+found)]


def _importing(name: str, sources: dict[str, str], index: Index) -> list[str]:
    """The test files that run the modules which import this one."""
    package, _, stem = _dotted(name).rpartition(".")
    imports = re.compile(rf"{re.escape(_dotted(name))}\b|from {re.escape(package)} import .*\b{stem}\b")
    importers = [other for other, source in sources.items() if imports.search(source)]
    return [test for test, _ in _ranked(sum((index.get(other, Counter()) for other in importers), Counter[str]()))]


def _dotted(name: str) -> str:
    return name.removesuffix(".py").replace("/", ".")


def stored(page: str, without: list[str]) -> Index:
    """The index that a page has, without some rooms' tests."""
    return {
        name: Counter(
            {test: int(lines) for test, lines in _TEST.findall(tests) if test.partition("/")[0] not in without}
        )
        for name, tests in _ROW.findall(page)
    }


def main(rooms: list[str]) -> int:
    """Measure rooms (all but those of services, by default), and write the page."""
    every = sorted(path.name for path in (ROOT / "tests").iterdir() if any(path.glob("test_*.py")))
    index: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, tests in measure(rooms or [room for room in every if room not in _SERVICES]).items():
        index[name] += tests
    if rooms and INDEX.exists():
        for name, tests in stored(INDEX.read_text(), rooms).items():
            index[name] += tests
    INDEX.write_text(table(index))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
