"""Works side by side: the first failure ends the others, and leaves as it is."""

import ast
import asyncio
from collections.abc import Iterator

import pytest

from purple_sdk.processes.together import do_all
from tests.programs import ROOT, files_of_packages

ELSEWHERE = {
    "purple_sdk/processes/together.py": "it is the way to do it",
    "activities/participant/earlier_tasks.py": "each is asked to stop, whatever the others answer",
    "activities/simulation/own_servers.py": "each is ended, whatever becomes of the others",
    "proctor/service/handing_back.py": "each is given back, whatever becomes of the others",
    "proctor/service/worker_processes.py": "each is ended, whatever becomes of the others",
    "proctor/terminal/removing.py": "each is removed, whatever becomes of the others",
    "purple_sdk/harness/relay.py": "both are ended, whatever becomes of the other",
    "workflows/judging.py": "a criterion's local judgement raises nothing but its workflow's cancellation",
}
"""Modules with a plain ``asyncio.gather``, and why."""


class _OddError(Exception):
    pass


async def test_the_first_failure_ends_the_others_and_leaves_as_it_is() -> None:
    ended: list[str] = []
    under_way = asyncio.Event()

    async def wait() -> None:
        try:
            under_way.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("wait")

    async def fail() -> None:
        await under_way.wait()
        raise _OddError("first") from KeyError("cause")

    async def fail_when_ended() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("second")

    with pytest.raises(_OddError, match="first") as caught:
        await do_all(wait(), fail(), fail_when_ended())
    assert isinstance(caught.value.__cause__, KeyError)
    assert ended == ["wait"], "its end is awaited"
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0, "a time limit around it still raises TimeoutError"


async def test_results_are_in_order_and_a_cancellation_ends_all() -> None:
    ended: list[int] = []

    async def work(number: int) -> int:
        try:
            await asyncio.sleep(0 if number < 3 else 600)
        finally:
            ended.append(number)
        return number

    assert await do_all(*map(work, (2, 1, 0))) == [2, 1, 0]
    assert await do_all() == []
    ended.clear()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await do_all(*map(work, (3, 4)))
    assert sorted(ended) == [3, 4]


def test_works_side_by_side_end_with_the_first_failure_everywhere() -> None:
    """``gather`` has what became of each (``return_exceptions``), or is ``do_all``; a group would lose the error."""
    files = files_of_packages()
    found = {path.relative_to(ROOT).as_posix() for path in files if any(_plain_in(path.read_text()))}
    assert found == set(ELSEWHERE)


def _plain_in(source: str) -> Iterator[str]:
    if "gather" not in source and "TaskGroup" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        name = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
        keywords = {keyword.arg for keyword in node.keywords} if isinstance(node, ast.Call) else set()
        if name == "TaskGroup" or (name == "gather" and "return_exceptions" not in keywords):
            yield name
