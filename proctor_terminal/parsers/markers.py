"""Verdicts of one word between two lines, as the tasks made from other benchmarks print them."""

from collections.abc import Mapping

from proctor_terminal.parsers.verdicts import TestStatus, UnparsableError


def swebench(text: str) -> Mapping[str, TestStatus]:
    """``PASSED`` between the lines that SWE-Bench tasks print; the last pair counts.

    Raises:
        UnparsableError: the lines are missing.
    """
    return _between(text, "SWEBench results", "PASSED")


def sweperf(text: str) -> Mapping[str, TestStatus]:
    """``PASSED`` between the lines that SWE-Perf tasks print.

    Raises:
        UnparsableError: the lines are missing.
    """
    return _between(text, "SWE-Perf results", "PASSED")


def mlebench(text: str) -> Mapping[str, TestStatus]:
    """``ALL TESTS PASSED`` between the lines that MLE-Bench tasks print.

    Raises:
        UnparsableError: the lines are missing.
    """
    return _between(text, "MLEBench results", "ALL TESTS PASSED")


def swelancer(text: str) -> Mapping[str, TestStatus]:
    """``SWE Lancer success`` or ``SWE Lancer failure``; where both are printed, it failed.

    Raises:
        UnparsableError: neither is printed.
    """
    lowered = text.lower()
    if "swe lancer failure" in lowered:
        return {"swelancer_task": "failed"}
    if "swe lancer success" in lowered or ("user_tool" in lowered and "completed" in lowered):
        return {"swelancer_task": "passed"}
    raise UnparsableError("The tests printed neither SWE Lancer success nor SWE Lancer failure: see in the log why")


def _between(text: str, what: str, good: str) -> Mapping[str, TestStatus]:
    begin, end = f"{what} starts here", f"{what} ends here"
    _, begun, block = text.rpartition(begin)
    block, ended, _ = block.partition(end)
    if not begun or not ended:
        raise UnparsableError(f'The tests printed no verdict between "{begin}" and "{end}": see in the log why')
    return {"tests": "passed" if block.strip() == good else "failed"}
