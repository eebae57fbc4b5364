"""What scripted agents do to the tasks of ``scenarios/terminal_bench``.

``python -m tests.terminal_bench.agents PORT`` serves the one that solves them all, to be killed.
"""

import asyncio
import json
import sys

from activities.terminal.task_model import TerminalTask
from activities.terminal.tasks import find_tasks, load_task
from proctor_protocol.config import PurpleAgentConfig
from proctor_protocol.terminal import TerminalTaskMessage
from purple_sdk.examples.terminal_agent.shell import Shell
from purple_sdk.server import serve_executor
from tests.docker_engine import TASKS
from tests.terminal_bench.asking import ScriptedTerminalAgent, ran


def task_of(message: TerminalTaskMessage) -> TerminalTask:
    """Which of our tasks a message is about: not every harness tells its name."""
    said = " ".join(message.instruction.split())
    return next(task for task in map(load_task, find_tasks(TASKS)) if " ".join(task.instruction.split()) in said)


async def play_solution(message: TerminalTaskMessage, shell: Shell) -> str:
    """Do what the task's own solution does."""
    solution = task_of(message).solution
    assert solution is not None
    if solution.script is not None:
        return (await ran(shell, solution.script.read_text())).in_words()
    await ran(shell, "tmux has-session -t agent || tmux new-session -d -s agent")
    for step in solution.commands:
        await ran(
            shell, f"tmux send-keys -t agent {json.dumps(step.command).replace('$', chr(92) + '$')} Enter; sleep 1"
        )
    return "typed"


async def play_half(message: TerminalTaskMessage, shell: Shell) -> str:
    """Solve every other task, and get the others wrong in a way that leaves something to be seen."""
    task_id = task_of(message).id
    if task_id in ("hello-file", "exported-variable", "sort-table", "find-secret"):
        return await play_solution(message, shell)
    if task_id == "partial-credit":
        await ran(
            shell,
            "printf '#!/bin/sh\\ncase $1 in 1) echo I;; 4) echo IV;; 9) echo IX;; esac' > roman; chmod +x roman",
        )
    await ran(shell, "echo wrong > /app/report.json; echo wrong > /app/answer.txt")
    return "half done"


async def give_up(message: TerminalTaskMessage, shell: Shell) -> str:
    """Solve the task, then fail: the tests have the say in all harnesses, where they run them at all."""
    await play_solution(message, shell)
    raise RuntimeError("no idea")


async def go_on(message: TerminalTaskMessage, shell: Shell) -> str:
    """Solve the task, and never end."""
    await play_solution(message, shell)
    await asyncio.sleep(3600)
    return "never"


async def idle(message: TerminalTaskMessage, shell: Shell) -> str:
    """Do nothing."""
    return "nothing was to be done"


if __name__ == "__main__":
    serve_executor(
        lambda _config: ScriptedTerminalAgent(play_solution),
        PurpleAgentConfig(host="127.0.0.1", port=int(sys.argv[1])),
        name="solver",
        description="Solves the tasks of scenarios/terminal_bench.",
    )
