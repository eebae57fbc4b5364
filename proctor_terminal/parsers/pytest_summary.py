"""pytest's short test summary (``pytest -rA``)."""

import re
from collections.abc import Mapping

from proctor_terminal.parsers.verdicts import TestStatus, UnparsableError

_HEADING = re.compile(r"^=+ *short test summary info *=+ *$", re.MULTILINE | re.IGNORECASE)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LINE = re.compile(r"(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS):? +(?P<test>.*\S)")
_GOOD = {"PASSED", "XFAIL", "SKIPPED"}


def parse(text: str) -> Mapping[str, TestStatus]:
    """Each test by its name, as written below the first summary's heading.

    A test that failed once stays failed, even if a later line says otherwise; a summary without a test isn't a verdict,
    since "all of none passed" would be one that nothing was done for.

    Raises:
        UnparsableError: there is no summary, or no test in it.
    """
    text = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    heading = _HEADING.search(text)
    if heading is None:
        raise UnparsableError(
            "The tests printed no short test summary of pytest: run it as pytest -rA; the log says why it didn't end"
        )
    results: dict[str, TestStatus] = {}
    for line in text[heading.end() :].splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        test = match["test"]
        if match[1] in ("FAILED", "ERROR", "XFAIL", "XPASS"):
            test = test.partition(" - ")[0]
        name = test.partition("::")[2] or test
        if match[1] not in _GOOD:
            results[name] = "failed"
        else:
            results.setdefault(name, "passed")
    if not results:
        raise UnparsableError("pytest's short test summary names no test: run it as pytest -rA, with a test to run")
    return results
