"""Agents that need nothing of ours, each in an environment of its own: the examples on a2a-sdk 0.3 and in TypeScript,
and one on pydantic-ai.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from purple_sdk.processes.ports import free_ports
from tests.stack import Stack, assess
from tests.waiting import wait_until
from tests.work import NIGHTLY

PLAIN = Path(__file__).parents[2] / "purple_sdk" / "examples" / "plain-a2a"
downloads = pytest.mark.skipif(not NIGHTLY, reason="it downloads packages: make nightly")


def test_they_are_short_and_know_nothing_of_proctor() -> None:
    for name in ("agent.py", "agent.ts"):
        text = (PLAIN / name).read_text()
        assert len(text.splitlines()) < 60, name
        assert not re.search(r"^(import|from) .*(purple_sdk|proctor)", text, re.MULTILINE), name


def run(*command: str, folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def install_example(name: str, folder: Path) -> list[str]:
    """Copy an example and what it needs into a folder; the command that runs it there."""
    shutil.copytree(PLAIN, folder, dirs_exist_ok=True)
    if name == "agent.ts":
        run("npm", "install", "--no-audit", "--no-fund", folder=folder)
        return ["node", str(folder / "node_modules" / "tsx" / "dist" / "cli.mjs"), name]
    run(sys.executable, "-m", "venv", "environment", folder=folder)
    python = str(folder / "environment" / "bin" / "python")
    needed = re.search(r"pip install '(.*?)' (.*?);", (PLAIN / name).read_text())
    assert needed is not None
    run(python, "-m", "pip", "install", "--quiet", needed[1], *needed[2].split(), folder=folder)
    return [python, name]


@contextmanager
def serving(*command: str, folder: Path) -> Iterator[str]:
    """An agent that is told its port; its address, once its card is there."""
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen([*command, "--port", str(port)], cwd=folder)

    def has_card() -> bool:
        assert process.poll() is None, "the agent ended before it was ready"
        try:
            return httpx.get(f"{url}/.well-known/agent-card.json").is_success
        except httpx.TransportError:
            return False

    try:
        wait_until(has_card)
        yield url
    finally:
        process.terminate()
        process.wait()


async def plays(stack: Stack, url: str) -> None:
    assessed = await assess(stack, url, "tiny", max_turns=2)
    assert assessed.state == "completed", assessed.sentence
    assert assessed.results is not None
    done = [(entry.turn, entry.action, entry.success) for entry in assessed.results.action_log]
    assert done == [(1, "chat.send_message", True), (2, "chat.send_message", True)]
    report = assessed.results.action_report
    assert (len(report.reported), report.unreported, report.never_happened) == (2, [], [])


@downloads
async def test_an_agent_on_a2a_sdk_0_3(stack: Stack, tmp_path: Path) -> None:
    with serving(*install_example("agent.py", tmp_path), folder=tmp_path) as url:
        await plays(stack, url)


@downloads
@pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm")
async def test_an_agent_in_typescript(stack: Stack, tmp_path: Path) -> None:
    command = install_example("agent.ts", tmp_path)
    run("npm", "run", "check", folder=tmp_path)
    with serving(*command, folder=tmp_path) as url:
        await plays(stack, url)


@downloads
@pytest.mark.parametrize(
    "packages", [("pydantic-ai-slim[a2a]<2",), ("pydantic-ai-slim>=2", "fasta2a>=2")], ids=["1", "2"]
)
async def test_an_agent_on_pydantic_ai(stack: Stack, tmp_path: Path, packages: tuple[str, ...]) -> None:
    """Behind ``fasta2a``: timestamps without a zone, no data parts, and an answer in prose at first."""
    run(sys.executable, "-m", "venv", "environment", folder=tmp_path)
    python = str(tmp_path / "environment" / "bin" / "python")
    run(python, "-m", "pip", "install", "--quiet", *packages, "uvicorn", folder=tmp_path)
    with serving(python, str(Path(__file__).with_name("pydantic_ai_agent.py")), folder=tmp_path) as url:
        assessed = await assess(stack, url, "tiny", max_turns=2)
    assert assessed.state == "completed", assessed.sentence
    assert assessed.results is not None
    assert [(clarification.turn, clarification.kind) for clarification in assessed.results.clarifications] == [
        (1, "unreadable"),
        (2, "unreadable"),
    ]
    assert assessed.results.turn_tries == {}
