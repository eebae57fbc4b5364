"""Processes for scenarios' code: what they need is there when they are forked, and each is who it is taken for."""

import asyncio
import os
import signal
import subprocess
import sys
from uuid import uuid4

import pytest

from proctor.activities.scenario_code.confinement import Limits
from proctor.activities.scenario_code.fork_server import import_makers
from proctor.activities.scenario_code.frames import HungUpError
from proctor.activities.scenario_code.processes import ForkServer, ScenarioCode
from proctor.scenarios.kit.making import names
from tests.programs import ROOT
from tests.stack import SCENARIOS
from tests.waiting import PATIENCE

_PROGRAM = """
import asyncio, importlib, sys
from proctor.activities.scenario_code import fork_server, tasks

fork_server.import_late_ones()
before = set(sys.modules)

async def ask():
    async def answer(reader, writer):
        await reader.readuntil(b"\\r\\n\\r\\n")
        writer.write(b"HTTP/1.1 204 No Content\\r\\n\\r\\n")
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        address = "http://127.0.0.1:%d" % server.sockets[0].getsockname()[1]
        async with tasks.make_http_client() as http:
            print((await http.get(address)).status_code)

asyncio.run(ask())
print(*sorted(set(sys.modules) - before))
print("temporalio" in before)
"""


def test_a_question_to_the_simulator_imports_nothing_more_and_nothing_imports_temporalio() -> None:
    """What a question imports would be imported in every process: a third of what judging a scenario costs.

    Temporal's client would be a sixth of the fork server's start, and a quarter of its memory.
    """
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["204", "False"]


def test_names_are_read_before_processes_that_make_days_are_forked() -> None:
    """Each process would read them again: most of what a small day costs."""
    names._lists.cache_clear()
    import_makers.__wrapped__()
    assert names._lists.cache_info().currsize > 0


@pytest.mark.asyncio(loop_scope="module")
async def test_a_process_that_nobody_waits_for_any_more_is_not_taken_for_the_next_one(lender: ForkServer) -> None:
    """Else whoever ends one would end another's from then on."""
    (await lender.fork(0)).end()
    given_up = asyncio.create_task(lender.fork(0))
    while not lender._asked_for:
        await asyncio.sleep(0)
    given_up.cancel()
    process = await lender.fork(0)
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(HungUpError):
        await asyncio.wait_for(process.hear(), PATIENCE)
    process.end()


@pytest.mark.asyncio(loop_scope="module")
async def test_what_a_process_prints_comes_by_a_socket(lender: ForkServer) -> None:
    """uvloop closes a pipe twice, and between the two a thread of the worker may open a file by that number."""
    process = await lender.fork(0)
    assert process._output.get_extra_info("socket") is not None
    process.end()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.usefixtures("one_fork_server")
async def test_the_kit_is_found_though_files_come_into_the_checkout() -> None:
    """The confined processes can't list the checkout's folder, which Python does again once it has changed."""
    code = ScenarioCode(Limits())
    await code.load(SCENARIOS / "reschedule_day")  # the fork server is there
    new = ROOT / f"new-{uuid4().hex}"
    new.touch()
    new.unlink()
    assert await code.load(SCENARIOS / "email_triage_basic")
