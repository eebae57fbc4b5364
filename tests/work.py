"""How much work something is, in a measure that is the same on every machine; and how much a run shall do."""

import os
import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

NIGHTLY = os.environ.get("PROCTOR_TEST_PROFILE") == "nightly"
"""Whether this run is ``make nightly``, which has the time for many more examples."""

only_nightly = pytest.mark.skipif(not NIGHTLY, reason="make nightly plays it")
"""For a test whose behaviour has a shorter one in the default run."""


def some_of(cases: Iterable[T], most: int) -> list[T]:
    """Cases of one behaviour: all of them in ``make nightly``, at most ``most`` in the default run, evenly spread."""
    all_cases = list(cases)
    return all_cases if NIGHTLY else all_cases[:: max(1, -(-len(all_cases) // most))]


def calls_in(work: Callable[[], T]) -> tuple[int, T]:
    """How many calls of functions (Python's and C's) a piece of work is made of, and what it returns."""
    calls = 0

    def note(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        result = work()
    finally:
        sys.setprofile(before)
    return calls, result
