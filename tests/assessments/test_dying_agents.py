"""A participant without tasks that dies in mid-turn: its actions count once, whoever starts it again."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from purple_sdk.processes.ports import free_ports
from tests.assessments.test_plain_agents import PLAIN, downloads, install_example
from tests.programs import module, running_beside
from tests.stack import Stack, assess
from tests.work import some_of


@asynccontextmanager
async def restarted(folder: Path, dies: str) -> AsyncIterator[str]:
    """The agent, which begins again whenever it has died; gives its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        command = module("tests.assessments.dying_agent", "--port", str(port), "--socket", str(listening.fileno()))
        command += ["--folder", str(folder), "--dies", dies]
        async with running_beside(command, pass_fds=[listening.fileno()]):
            yield f"http://127.0.0.1:{port}"


@pytest.mark.parametrize(("dies", "tries"), some_of([("after", {"1": 2}), ("before", {}), ("start", {})], 1))
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


_KILLS = 20
_PAUSES = {  # what the copy of an example does when it has acted and before it answers: it waits to be killed
    "agent.py": ("        action = {", "        open('acted', 'w').close(); await asyncio.sleep(1)\n"),
    "agent.ts": (
        "    return { message_type",
        "    (await import('node:fs')).writeFileSync('acted', ''); await new Promise(go => setTimeout(go, 1000));\n",
    ),
}


@asynccontextmanager
async def killed_once(command: list[str], folder: Path) -> AsyncIterator[str]:
    """An example, killed once when it has acted, and started again; gives its address."""
    (port,) = free_ports(1)
    (folder / "acted").unlink(missing_ok=True)

    def run() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*command, "--port", str(port)], cwd=folder, stderr=subprocess.DEVNULL, start_new_session=True
        )

    process = run()

    async def kill() -> None:
        nonlocal process
        while not (folder / "acted").exists():
            await asyncio.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)  # a runner of TypeScript has children
        process.wait()
        process = run()

    killing = asyncio.create_task(kill())
    try:
        yield f"http://127.0.0.1:{port}"
        assert killing.done(), "it was not killed"
    finally:
        killing.cancel()
        await asyncio.wait({killing})
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@downloads
@pytest.mark.parametrize("name", ["agent.py", "agent.ts"])
async def test_plain_examples_that_are_killed_count_once(name: str, stack: Stack, tmp_path: Path) -> None:
    """Killed with SIGKILL between its action and its answer, twenty times: every turn has one message in the chat."""
    if name == "agent.ts" and shutil.which("npm") is None:
        pytest.skip("there is no npm")
    command = install_example(name, tmp_path)
    before, pause = _PAUSES[name]
    example = (PLAIN / name).read_text()
    assert example.count(before) == 1
    (tmp_path / name).write_text(example.replace(before, pause + before))
    ends: Counter[tuple[str, str]] = Counter()
    for _ in range(_KILLS):
        async with killed_once(command, tmp_path) as url:
            assessed = await assess(stack, url, "tiny", max_turns=2)
        assert assessed.results is not None, assessed.sentence
        turns = sorted((entry.turn, entry.action) for entry in assessed.results.action_log)
        ends[assessed.state, str(turns)] += 1
    print(name, dict(ends), file=sys.stderr)
    assert ends == {("completed", str([(1, "chat.send_message"), (2, "chat.send_message")])): _KILLS}
