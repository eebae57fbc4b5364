"""A participant without tasks that dies in mid-turn: its actions count once, whoever starts it again."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from proctor_processes.ports import free_ports
from tests.processes import end, module, start
from tests.stack import Stack, assess


@asynccontextmanager
async def restarted(folder: Path, dies: str) -> AsyncIterator[str]:
    """The agent, started again whenever it has died; gives its address."""
    (port,) = free_ports(1)
    command = module("tests.assessments.dying_agent", "--port", str(port), "--folder", str(folder), "--dies", dies)

    async def keep() -> None:
        process = start(command)
        try:
            while True:
                if process.poll() is not None:
                    end(process)
                    process = start(command)
                await asyncio.sleep(0.05)
        finally:
            end(process)

    keeping = asyncio.create_task(keep())
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        keeping.cancel()
        await asyncio.wait({keeping})


@pytest.mark.parametrize(("dies", "tries"), [("after", {"1": 2}), ("before", {}), ("start", {})])
async def test_its_actions_count_once(dies: str, tries: dict[str, int], stack: Stack, tmp_path: Path) -> None:
    """What it did until it died is set back, and the turn is played again; where it did nothing, that is no new try."""
    async with restarted(tmp_path, dies) as url:
        assessed = await assess(stack, url, "tiny", max_turns=2)
    assert assessed.state == "completed", assessed.sentence
    assert assessed.results is not None
    done = Counter((entry.turn, entry.action) for entry in assessed.results.action_log)
    in_first = 2 if dies == "start" else 1  # what it does when it is greeted is done in turn 1
    assert done == {(1, "chat.send_message"): in_first, (2, "chat.send_message"): 1}
    assert assessed.results.turn_tries == tries
