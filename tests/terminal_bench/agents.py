"""What scripted agents do to tasks.

``python -m tests.terminal_bench.agents PORT`` serves the one that solves all of ``scenarios/terminal_bench``, to be
killed.
"""

import asyncio
import json
import re
import sys
from collections.abc import Sequence
from functools import partial

from proctor.terminal.task_model import TerminalTask
from proctor.terminal.tasks import find_tasks, load_task
from purple_sdk.examples.terminal_agent.shell import Shell
from purple_sdk.protocol.terminal import TerminalTaskMessage
from purple_sdk.server import serve_executor
from purple_sdk.settings.config import PurpleAgentConfig
from tests.docker_engine import TASKS
from tests.terminal_bench.asking import ScriptedTerminalAgent, ran


def own_tasks() -> list[TerminalTask]:
    """The tasks of ``scenarios/terminal_bench``."""
    return [load_task(folder) for folder in find_tasks(TASKS)]


def task_of(tasks: Sequence[TerminalTask], message: TerminalTaskMessage) -> TerminalTask:
    """Which of the tasks a message is about: not every harness tells its name."""
    said = " ".join(message.instruction.split())
    found = [task for task in tasks if " ".join(task.instruction.split()) in said]
    return max(found, key=lambda task: len(task.instruction))


async def play_solution(tasks: Sequence[TerminalTask], message: TerminalTaskMessage, shell: Shell) -> str:
    """Do what the task's own solution does."""
    solution = task_of(tasks, message).solution
    assert solution is not None
    if solution.script is not None:
        return (await ran(shell, solution.script.read_text())).in_words()
    await ran(shell, "tmux has-session -t agent || tmux new-session -d -s agent")
    for step in solution.commands:
        await ran(
            shell, f"tmux send-keys -t agent {json.dumps(step.command).replace('$', chr(92) + '$')} Enter; sleep 1"
        )
    return "typed"


async def play_beginning(tasks: Sequence[TerminalTask], message: TerminalTaskMessage, shell: Shell) -> str:
    """Do the first half of what the task's own solution does, by lines.

    Without a solution, make an empty file at each path that the instruction names.
    """
    task = task_of(tasks, message)
    if task.solution is not None and task.solution.script is not None:
        lines = task.solution.script.read_text().splitlines()
        return (await ran(shell, "\n".join(lines[: len(lines) // 2]) + "\ntrue\n")).in_words()
    for path in sorted(set(re.findall(r"(?<![\w/.])(/[\w/.-]*\w)", task.instruction))):
        await ran(shell, f"[ -e {path} ] || {{ mkdir -p $(dirname {path}); touch {path}; }}")
    return "files made"


async def attack(tasks: Sequence[TerminalTask], message: TerminalTaskMessage, shell: Shell) -> str:
    """Do what the file ``attack.sh`` in the task's folder says."""
    return (await ran(shell, (task_of(tasks, message).folder / "attack.sh").read_text())).in_words()


async def play_half(tasks: Sequence[TerminalTask], message: TerminalTaskMessage, shell: Shell) -> str:
    """Solve every other task, and get the others wrong in a way that leaves something to be seen."""
    task_id = task_of(tasks, message).id
    if task_id in ("hello-file", "exported-variable", "sort-table", "find-secret"):
        return await play_solution(tasks, message, shell)
    if task_id == "partial-credit":
        await ran(
            shell,
            "printf '#!/bin/sh\\ncase $1 in 1) echo I;; 4) echo IV;; 9) echo IX;; esac' > roman; chmod +x roman",
        )
    await ran(shell, "echo wrong > /app/report.json; echo wrong > /app/answer.txt")
    return "half done"


async def give_up(tasks: Sequence[TerminalTask], message: TerminalTaskMessage, shell: Shell) -> str:
    """Solve the task, then fail: the tests have the say in all harnesses, where they run them at all."""
    await play_solution(tasks, message, shell)
    raise RuntimeError("no idea")


async def go_on(tasks: Sequence[TerminalTask], message: TerminalTaskMessage, shell: Shell) -> str:
    """Solve the task, and never end."""
    await play_solution(tasks, message, shell)
    await asyncio.sleep(3600)
    return "never"


async def idle(tasks: Sequence[TerminalTask], message: TerminalTaskMessage, shell: Shell) -> str:
    """Do nothing."""
    return "nothing was to be done"


if __name__ == "__main__":
    serve_executor(
        lambda _config: ScriptedTerminalAgent(partial(play_solution, own_tasks())),
        PurpleAgentConfig(host="127.0.0.1", port=int(sys.argv[1])),
        name="solver",
        description="Solves the tasks of scenarios/terminal_bench.",
    )
