"""What tests of every room share."""

import os
import signal
import sys
from collections.abc import Iterator

import pytest

from tests.chaos.table import recorded, table
from tests.docker_engine import shared_engine
from tests.stack import Stack, running_stack

# The processes of a run import the same modules a hundred times: compiled once, whatever the user's own setting is.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in the background so, and children would inherit it: Ctrl-C is tested here, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _nothing_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Services that are started with no settings find a state folder of the session's, not the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """One evaluator for all tests of a session that need one."""
    with running_stack() as running:
        yield running


@pytest.fixture(scope="session")
def docker_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of one Docker engine for all tests of a run that need one, in whichever process they are."""
    folder = tmp_path_factory.getbasetemp()
    with shared_engine(folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) as url:
        yield url


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """After a run with chaos tests: what was killed when, and how soon it went on."""
    reports = [*terminalreporter.stats.get("passed", []), *terminalreporter.stats.get("failed", [])]
    if recoveries := recorded(reports):
        terminalreporter.section("killed at, recovered")
        terminalreporter.write_line(table(recoveries))
