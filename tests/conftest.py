"""What tests of every room share."""

import gc
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import certifi
import pytest

from tests.activities.families import faulty, write_family
from tests.docker_engine import shared_address, shared_engine
from tests.hangs import pytest_runtest_teardown as pytest_runtest_teardown
from tests.importing import ROOT, import_tests
from tests.nursery import Nursery
from tests.scheduling import Together
from tests.stack import SCENARIOS, Stack, running_stack
from tests.system_programs import ENGINE_PROGRAMS, require
from tests.work import NIGHTLY

pytest_plugins = ["tests.sentences"]

# The processes of a run import the same modules a hundred times: compiled once, whatever the user's own setting is.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Importing and collecting makes millions of objects and hardly any garbage.
gc.disable()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in the background so, and children would inherit it: Ctrl-C is tested here, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _nothing_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Services that are started with no settings find a state folder of the session's, not the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        for name in [name for name in os.environ if name.startswith("TEMPORAL_")]:
            patch.delenv(name)
        patch.setenv("TEMPORAL_CONFIG_FILE", os.devnull)
        # Dev servers of tests have little to do and are soon gone: with one thread and rare collections they cost a
        # third less.
        patch.setenv("GOMAXPROCS", "1")
        patch.setenv("GOGC", "300")
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Processes of the tests trust one authority instead of some 140, which every HTTP client would read."""
    text, end, _ = Path(certifi.where()).read_text().partition("-----END CERTIFICATE-----")
    file = tmp_path_factory.mktemp("trusted") / "one.pem"
    file.write_text(text + end + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certifi, "where", lambda: str(file))
        if not NIGHTLY:  # which downloads packages
            patch.setenv("SSL_CERT_FILE", str(file))
        yield


_NOTES_ARE_READ = """
async def asked(ctx, params):
    return {"score": 0, "max_score": 1, "explanation": str(ctx.turn_notes)}

told = asked
"""


@pytest.fixture(scope="session")
def scenarios_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of scenarios: those that come with proctor, and the tiny one with its broken relatives."""
    from tests.assessments.bad_packages import write_bad_packages
    from tests.assessments.packages import write_package, write_pair

    directory = tmp_path_factory.mktemp("scenarios")
    shutil.copytree(SCENARIOS, directory, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    write_package(directory, "tiny")
    in_steps_of = {"default_time_step": "PT20M"}
    notes = {"evaluators.py": _NOTES_ARE_READ}
    write_package(directory, "notes_are_read", change=lambda scenario: scenario.update(in_steps_of), files=notes)
    write_package(directory, "half_hours", change=lambda scenario: scenario.update(default_time_step="PT30M"))
    write_pair(directory)
    write_bad_packages(directory)
    write_family(directory)
    write_family(directory, faulty("raise InconsistentDayError('door', 'two answers are right')"), "two_truths")
    return directory


@pytest.fixture(scope="session")
def stack(scenarios_dir: Path, engine_folder: Path) -> Iterator[Stack]:
    """One evaluator for all tests of a session that need one; it has no model, whatever the user's environment says.

    It plays terminal trials as soon as there is the engine that ``docker_engine`` starts.
    """
    settings: dict[str, str | None] = {"OPENAI_API_KEY": None, "OPENAI_BASE_URL": None, "OPENAI_API_BASE": None}
    settings |= {"DOCKER_HOST": shared_address(engine_folder)}
    with running_stack(scenarios_dir, environment=settings) as running:
        yield running


@pytest.fixture(scope="session")
def engine_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What all processes of a run know of their Docker engine."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def docker_engine(engine_folder: Path) -> Iterator[str]:
    """The address of one Docker engine for all tests of a run that need one, in whichever process they are."""
    require(*ENGINE_PROGRAMS)
    with shared_engine(engine_folder) as url:
        yield url


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """What fork servers of this process start by at once, for ``quick_fork_servers`` and fixtures of a session."""
    with closing(Nursery()) as made:
        yield made


@pytest.fixture(scope="module")
def quick_fork_servers(nursery: Nursery) -> Iterator[None]:
    """For a file whose fork servers of scenarios' code, in this process, needn't be started as a worker's are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("proctor.activities.scenario_code.processes.Child", nursery)
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """One process of several that play everything begins its imports elsewhere than the others."""
    config, worker = session.config, os.environ.get("PYTEST_XDIST_WORKER")
    if worker and [config.rootpath / path for path in config.args] == [ROOT / "tests"]:
        import_tests(int(worker.removeprefix("gw")), int(os.environ["PYTEST_XDIST_WORKER_COUNT"]))


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Together | None:
    """``--dist loadfile`` keeps more together than files."""
    return Together(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """After a run with chaos tests: what was killed when, and how soon it went on."""
    reports = [*terminalreporter.stats.get("passed", []), *terminalreporter.stats.get("failed", [])]
    if not any(getattr(report, "user_properties", ()) for report in reports):
        return
    from tests.chaos.table import recorded, table

    if recoveries := recorded(reports):
        terminalreporter.section("killed at, recovered")
        terminalreporter.write_line(table(recoveries))
