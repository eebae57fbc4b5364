"""Whatever a scenario's code does is its own affair: attack after attack on one nursery, which stands them all.

Each stands beside an undisturbed neighbour: a criterion of another scenario, judged at the same time.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio

from activities.packages.manager import EvaluatorLoadError, ScenarioValidationError
from activities.packages.processes import EvaluatorFailedError, ScenarioCode
from tests.activities.scenario_code import ATTACKS, GOOD, LIMITS, SHORT, Write, judged_by

ENDLESS = ("sleeps", "waits", "spins")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def code() -> AsyncIterator[ScenarioCode]:
    code = ScenarioCode(LIMITS)
    yield code
    await code.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hasty() -> AsyncIterator[ScenarioCode]:
    """One that waits for nobody's evaluator for long."""
    code = ScenarioCode(SHORT)
    yield code
    await code.aclose()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        ("sleeps", "was still at work after 1 s and was stopped"),
        ("waits", "was still at work after 1 s and was stopped"),
        ("spins", "was still at work after 1 s and was stopped"),
        ("leaves", r"ended its process \(exit code 3\) instead of returning a result"),
        ("aborts", "was ended by signal 6"),
        ("exits", "raised SystemExit: enough"),
        ("interrupts", "raised KeyboardInterrupt"),
        ("cancels", "raised CancelledError"),
        ("hoards", "needed more memory than it may have"),
        ("hoards_at_once", "needed more memory than it may have"),
        ("forks", "raised PermissionError: a scenario's code may not start processes"),
        ("forks_in_c", "raised PermissionError: .*fork gave -1"),
        ("starts_programs", "raised PermissionError: a scenario's code may not start processes"),
        ("kills_its_parent", "raised PermissionError: a scenario's code may not send signals"),
        ("kills_in_c", r"raised RuntimeError: parent \d+ is still there"),
        ("floods", "printed more than 1024 kB and was stopped"),
        ("fills_the_disk", "raised OSError: .*File too large"),
        ("opens_everything", "raised OSError: .*Too many open files"),
        ("returns_a_lot", "returned more than 4 MB"),
        ("speaks_for_itself", "gave an answer that can't be read"),
    ],
)
async def test_an_attack_is_its_own_scenarios_fault_and_nobody_elses(
    write_scenario: Write, code: ScenarioCode, hasty: ScenarioCode, function: str, sentence: str
) -> None:
    write_scenario("bad", files={"evaluators.py": ATTACKS})
    scenarios = write_scenario("good", files={"evaluators.py": GOOD})
    memory = psutil.Process().memory_info().rss
    neighbour = asyncio.create_task(judged_by(code, scenarios / "good", "check"))
    with pytest.raises(EvaluatorFailedError, match=f"^evaluator {function} {sentence}"):
        await judged_by(hasty if function in ENDLESS else code, scenarios / "bad", function)
    assert (await neighbour).score == 3
    assert (await judged_by(code, scenarios / "good", "check")).score == 3
    assert psutil.Process().memory_info().rss - memory < 60_000_000
    with suppress(FileNotFoundError):
        os.unlink("/tmp/proctor-test-fill")


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("import os\nos._exit(3)", r"when it is imported ended its process \(exit code 3\)"),
        ("raise KeyboardInterrupt", r"evaluators\.py line 1 can't be imported: KeyboardInterrupt"),
        ("import asyncio\nraise asyncio.CancelledError", r"evaluators\.py line 2 can't be imported: CancelledError"),
        ("import os\nos.fork()", "can't be imported: PermissionError: a scenario's code may not start processes"),
        ("kept = bytearray(10 * 1024**3)", "can't be imported: MemoryError"),
        ("while True: print('a' * 1_000_000)", "printed more than 1024 kB"),
    ],
)
async def test_code_that_does_harm_when_it_is_imported_is_refused(
    write_scenario: Write, code: ScenarioCode, source: str, sentence: str
) -> None:
    with pytest.raises(EvaluatorLoadError, match=sentence):
        await code.load(write_scenario(files={"evaluators.py": source + "\n"}) / "small")


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (os.mkfifo, r"small/state\.json is a pipe, device or socket: it must be a plain file"),
        (lambda path: path.symlink_to("/dev/zero"), "name a file in the scenario's own folder"),
        (Path.mkdir, r"small/state\.json can't be read: Is a directory"),
        (lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 10**11), r"has \d+ MB: at most 64 MB"),
    ],
)
async def test_only_plain_files_of_a_bearable_size_are_read(
    write_scenario: Write, code: ScenarioCode, make: Any, sentence: str
) -> None:
    directory = write_scenario(initial_state="state.json") / "small"
    make(directory / "state.json")
    with pytest.raises(ScenarioValidationError, match=sentence):
        await code.load(directory)
