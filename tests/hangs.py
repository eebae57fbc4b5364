"""A limit for teardowns: pytest-timeout stops its clock when a test fails, and then a teardown can hang for good.

It stops it in ``pytest_exception_interact``, for those who debug the failure. Whatever a failed test leaves behind is
waited for when its event loop is closed, such as a task that doesn't end when it is cancelled.
"""

import signal
from collections.abc import Generator
from typing import Any

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail whatever still hangs in a teardown after the time of a test, and again whatever hangs after that."""
    own = item.get_closest_marker("timeout")  # such as that of images, whose files take long to remove
    seconds = max(float(item.config.getini("timeout")), float(own.args[0]) if own else 0)

    def fail(*_: Any) -> None:
        pytest.fail(f"the teardown hangs: it has taken {seconds:g} s. See what the test has left behind.")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if before is None else before)  # None: of a library in C
