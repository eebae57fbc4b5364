"""Parsers of what tests say, by name; ``PARSERS`` is where another one is added."""

from collections.abc import Callable, Mapping

from proctor_terminal.parsers import markers, pytest_summary
from proctor_terminal.parsers.verdicts import TestStatus, UnparsableError

__all__ = ["PARSERS", "REWARD", "TestStatus", "UnparsableError"]

Parser = Callable[[str], Mapping[str, TestStatus]]
"""Reads what the tests printed; raises ``UnparsableError`` with a sentence where it isn't what it should be."""

REWARD = "reward"
"""Not read from what tests print, but from the reward file that they write (``reward_files``)."""

PARSERS: dict[str, Parser] = {
    "pytest": pytest_summary.parse,
    "swebench": markers.swebench,
    "sweperf": markers.sweperf,
    "mlebench": markers.mlebench,
    "swelancer": markers.swelancer,
}
"""By the names that ``parser_name`` has in tasks of the first format."""
