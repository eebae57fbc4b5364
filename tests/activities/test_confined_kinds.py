"""One table says what each kind of confined process may do (docs/operations/limits.md). Each of its rows is tried."""

import asyncio
import fcntl
import json
import os
import resource
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from proctor.activities.scenario_code.confinement import find_missing_protections
from proctor.activities.scenario_code.processes import ScenarioCode
from purple_sdk.harness.launcher import Rules, find_missing_confinement
from purple_sdk.harness.program import run_program
from tests import confined
from tests.activities.scenario_code import LIMITS, Write, judged_by

pytestmark = pytest.mark.usefixtures("quick_fork_servers")

DOCUMENT = Path(__file__).parents[2] / "docs" / "operations" / "limits.md"
EVALUATOR = """
import json
from attempts import try_all

async def check(ctx, params):
    return {"score": 4, "max_score": 4, "explanation": json.dumps(try_all(**params))}
"""


def table() -> dict[str, tuple[str, str]]:
    lines = DOCUMENT.read_text().partition("| action | scenario code | CLI agent |")[2].splitlines()[2:]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return {row[0]: (row[1], row[2]) for row in rows[: rows.index([])]}


@pytest.fixture
def places(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """What ``try_all`` is given, but for the process's own folder."""
    for name in ("other", "hidden"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("x")
    os.mkfifo(tmp_path / "other" / "pipe")
    with (
        ExitStack() as opened,
        socket.socket(socket.AF_UNIX) as unix,
        socket.create_server(("127.0.0.1", 0)) as own,
        socket.create_server(("127.0.0.1", 0)) as other,
    ):
        unix.bind(str(tmp_path / "other" / "socket"))
        unix.listen()
        for name in ("other", "other/file", "hidden", "hidden/file"):
            kept = os.open(tmp_path / name, os.O_RDONLY)
            opened.callback(os.close, kept)
            fcntl.flock(kept, fcntl.LOCK_EX)
        pipe = os.open(tmp_path / "other" / "pipe", os.O_RDWR)
        opened.callback(os.close, pipe)
        os.write(pipe, b"xxx")
        yield {
            **{name: str(tmp_path / name / "file") for name in ("other", "hidden")},
            "port": own.getsockname()[1],
            "other_port": other.getsockname()[1],
        }


@contextmanager
def beating(own: Path, places: dict[str, Any]) -> Iterator[None]:
    """A process that opens the files again and again, and notes it in the confined process's own folder."""
    has_ended = threading.Event()

    def beat() -> None:
        with (own / "beats").open("ab", buffering=0) as beats:
            while not has_ended.wait(0.005):
                for name in ("other", "hidden"):
                    Path(places[name]).read_text()
                beats.write(b".")

    (own / "beats").touch()
    thread = threading.Thread(target=beat)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()


async def _neighbour() -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec("sleep", "600")


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("kind", ["scenario code", "CLI agent"])
async def test_each_row_is_as_the_table_says(
    kind: str, places: dict[str, Any], tmp_path: Path, write_scenario: Write, one_fork_server: None
) -> None:
    if missing := find_missing_protections() + find_missing_confinement():
        pytest.skip(f"this machine lacks protections: {missing}")
    neighbour = await _neighbour()
    limit = resource.prlimit(neighbour.pid, resource.RLIMIT_NOFILE)
    try:
        given = {**places, "pid": neighbour.pid}
        if kind == "scenario code":
            source = Path(confined.__file__).read_text()
            files = {"evaluators.py": EVALUATOR, "attempts.py": source, "file": "x"}
            own = write_scenario(files=files) / "small"
            address = f"http://127.0.0.1:{places['port']}"
            params = {**given, "own": str(own)}
            with beating(own, places):
                verdict = await judged_by(ScenarioCode(LIMITS), own, "check", params=params, simulation=address)
            found = json.loads(verdict.explanation)
        else:
            found = await _of_cli_agent(tmp_path, given)
        assert resource.prlimit(neighbour.pid, resource.RLIMIT_NOFILE) == limit
        assert neighbour.returncode is None
    finally:
        neighbour.kill()
        await neighbour.wait()
    assert found == {row: kinds[kind == "CLI agent"] for row, kinds in table().items()}
    assert Path(places["other"]).read_text() == "x"


async def _of_cli_agent(folder: Path, given: dict[str, Any]) -> dict[str, str]:
    work = folder / "own"
    work.mkdir()
    (work / "file").write_text("x")
    (work / "attempts.py").write_text(Path(confined.__file__).read_text())
    does = "import json, sys; from attempts import try_all; print(json.dumps(try_all(**json.loads(sys.argv[1]))))"
    hidden = str(Path(given["hidden"]).parent)
    rules = Rules(work=str(work), writable=[str(work)], hidden=[hidden], readable=[], port=given["port"])
    with beating(work, given):
        printed = await run_program(
            [sys.executable, "-c", does, json.dumps({**given, "own": str(work)})],
            rules=rules,
            environment={},
            seconds=60,
        )
    assert printed.exit_code == 0, printed.stderr
    found: dict[str, str] = json.loads(printed.stdout)
    return found
