"""From nothing to an agent that completes ``email_triage_basic``: the guide's own commands, one after the other.

Only in ``make nightly``, with the packages that are there and with the installs, too; what its commands do is shown one
by one in the default run, and the five commands of the README as they stand.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from purple_sdk.processes.ports import is_free
from tests.cli.terminals import alone
from tests.waiting import PATIENCE
from tests.work import only_nightly

ROOT = Path(__file__).parents[2]
READY = {"python agent.py --port 8001": "listening on", "proctor up": "proctor is up"}
"""What runs until somebody ends it, each in a terminal of its own, and what it says when it is ready."""
INSTALLS = 3
"""So many commands make an environment with proctor in it."""
PORTS = (7233, 8233, 8100, 8000, 8001)


@dataclass(frozen=True)
class Step:
    """A command, and what the guide has under it."""

    command: str
    shown: tuple[str, ...]


def guide() -> tuple[list[Step], str]:
    """The steps of the section, and the method that it has its reader write."""
    text = (ROOT / "docs" / "PURPLE_AGENT_GUIDE.md").read_text()
    section = text.partition("\n## From nothing, in ten minutes\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```console\n(.*?)```", section, re.DOTALL)
    steps = []
    for part in (part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]):
        command, _, shown = part.partition("\n")
        steps.append(Step(command, tuple(line for line in shown.splitlines() if line.strip())))
    [method] = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    return steps, method


def edit(agent: Path, method: str) -> None:
    """Put the guide's method in the place of the project's."""
    text = agent.read_text()
    edited = re.sub(r"    async def execute_turn.*?(?=\n\nif __name__)", lambda _: method, text, flags=re.DOTALL)
    assert edited != text
    agent.write_text(edited)


def appears(shown: tuple[str, ...], said: str) -> None:
    """Whether the guide's lines come in that order; seconds may be others, and … stands for anything."""
    position = 0
    for line in shown:
        if line.strip() == "…":
            continue
        pattern = re.escape(" ".join(line.split()))
        pattern = re.sub(r"\d+\\\.\d+(?=\\ s\b)", r"[\\d.]+", pattern)
        pattern = pattern.replace("…", ".*?").replace(r"\ ", r"\s+")
        found = re.compile(pattern, re.DOTALL).search(said, position)
        assert found, f"the guide shows {line!r}, which isn't in:\n{said[position:]}"
        position = found.end()


def run(command: str, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@only_nightly
@pytest.mark.parametrize("with_installs", [False, True])
@pytest.mark.timeout(3600)
def test_the_guides_ten_minutes(with_installs: bool, tmp_path: Path) -> None:
    began = time.monotonic()
    steps, method = guide()
    commands = [step.command for step in steps]
    last = [step for step in steps if step.command.startswith(("proctor check-agent", "proctor assess"))]
    assert commands[INSTALLS:] == ["proctor new-agent mail-clerk", "cd mail-clerk", *READY, *(s.command for s in last)]
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (tmp_path / "home").mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AGENTBEATS_", "XDG_"))}
    environment |= {"HOME": str(tmp_path / "home"), "COLUMNS": "120"}
    programs = Path(sys.executable).parent
    if with_installs:
        for file in subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0"):
            if (ROOT / file).is_file():
                (checkout / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / file, checkout / file)
        # A shell of one's own each: what `. .venv/bin/activate` does is done by the path.
        programs = checkout / ".venv" / "bin"
        run("python3 -m venv .venv", checkout, environment)
        assert commands[0] == "python3 -m venv .venv"
        run(f". .venv/bin/activate && {commands[2]}", checkout, environment)
        print(f"installed after {time.monotonic() - began:.0f} s")
    environment["PATH"] = f"{programs}:{os.environ['PATH']}"
    appears(steps[INSTALLS].shown, run(commands[INSTALLS], checkout, environment))
    edit(checkout / "mail-clerk" / "agent.py", method)

    services = [(f"cd {checkout}/mail-clerk && {command}", READY[command]) for command in READY]
    (tmp_path / "services.json").write_text(json.dumps(services))
    (tmp_path / "asks").write_text(
        f"cd {tmp_path}\n" + "".join(f"{step.command} >asked-{number} 2>&1\n" for number, step in enumerate(last))
    )
    command = alone([sys.executable, "-m", "tests.cli.terminals", str(tmp_path)])
    if command[0] != "unshare" and not all(is_free("127.0.0.1", port) for port in PORTS):
        pytest.skip("the guide's commands take the default ports, which this machine uses")
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=10 * PATIENCE, check=False
    )
    said = "\n".join(path.read_text() for path in sorted(tmp_path.glob("asked-*")))
    assert done.returncode == 0, done.stderr + said
    for number, step in enumerate(last):
        appears(step.shown, (tmp_path / f"asked-{number}").read_text())
    for number, service in enumerate(READY):
        [shown] = [step.shown for step in steps if step.command == service]
        appears(shown, (tmp_path / f"{number}.txt").read_text())
    took = time.monotonic() - began
    print(f"from nothing to the result: {took:.0f} s")
    assert not with_installs or took < 600, "the guide promises ten minutes"
