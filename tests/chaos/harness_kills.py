"""A CLI agent, its server and the worker are killed at each moment of a turn; nothing is done twice, nothing is lost.

    python -m tests.chaos.harness_kills          30 placements, some 10 minutes; prints a table
    python -m tests.chaos.harness_kills codex    10 placements with a real CLI agent that is installed

A moment is a request of the CLI agent to its model: of turn 1, 2 or 3, its first, second or third one. The last moment
is a little after an answer, when the CLI agent calls a tool.
"""

import asyncio
import os
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psutil

from proctor.local.stack import answers, proctor_command
from proctor.service.supervisor import Service, Supervisor
from purple_sdk.processes.ports import free_ports
from tests.programs import module
from tests.purple_sdk.harness.playing import speaks
from tests.scripted_model import ScriptedModel, progress, read_question
from tests.stack import Stack, assess, running_stack

FAKE = "fake"
Victim = Literal["CLI agent", "its server", "worker"]
VICTIMS: tuple[Victim, ...] = ("CLI agent", "its server", "worker")
MOMENTS = [(turn, request, 0.0) for turn in (1, 2, 3) for request in (1, 2, 3)] + [(2, 1, 0.03)]

SCRIPT = {turn: speaks(f"turn {turn}, first", f"turn {turn}, second") for turn in (1, 2, 3)}
WANTED = Counter(str(arguments["content"]) for calls in SCRIPT.values() for _, arguments in calls)


@dataclass
class Kill:
    """One kill: before the answer to a request of a turn, or ``late`` seconds after it."""

    victim: Victim
    turn: int
    request: int
    late: float
    homes: Path
    worker: Callable[[], int | None]
    server: Callable[[], int | None]
    is_done: bool = False

    def __call__(self, request: dict[str, Any]) -> None:
        """Called by the model's endpoint before it answers."""
        if self.is_done or progress(read_question(request)) != (self.turn, self.request - 1):
            return
        self.is_done = True
        if self.late:
            threading.Timer(self.late, self._kill).start()
        else:
            self._kill()

    def _kill(self) -> None:
        if self.victim == "CLI agent":
            for pid in cli_agents(self.homes):
                os.kill(pid, signal.SIGKILL)
        elif service := (self.worker if self.victim == "worker" else self.server)():
            os.kill(service, signal.SIGKILL)
        time.sleep(0.05)


def cli_agents(homes: Path) -> list[int]:
    """The processes whose home is below a folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("HOME", "").startswith(str(homes)):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


@asynccontextmanager
async def served(model_url: str, folder: Path, name: str) -> AsyncIterator[tuple[str, Callable[[], int | None]]]:
    """A CLI agent's server, started again when it dies; gives its address, and its present process."""
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    environment: dict[str, str | None] = {
        "AGENTBEATS_PURPLE_MODEL": "scripted-1",
        "AGENTBEATS_PURPLE_MODEL_BASE_URL": model_url,
        "AGENTBEATS_PURPLE_HOMES": str(folder / "homes"),
    }
    command = module("tests.purple_sdk.harness.serve_fake", "--port", str(port))
    if name != FAKE:
        command = proctor_command("agent", "harness", name, "--host", "127.0.0.1", "--port", str(port))
    service = Service(name, command, answers(f"{url}/.well-known/agent-card.json"), environment)
    async with Supervisor([service], folder / "logs", print, longest_pause=0.5) as supervisor:
        await supervisor.start()
        yield url, lambda: supervisor.find_pid(name)


async def placed(
    stack: Stack, victim: Victim, turn: int, request: int, late: float = 0.0, name: str = FAKE
) -> Counter[str]:
    """Play three turns with one kill; what the user's chat got, by the simulation's own event log.

    Raises:
        AssertionError: the assessment didn't complete, or nothing was killed, or a CLI agent is left.
    """
    with (
        tempfile.TemporaryDirectory(prefix="proctor-kill-", ignore_cleanup_errors=True) as place,
        ScriptedModel(SCRIPT) as model,
    ):
        folder = Path(place)
        async with served(model.url, folder, name) as (url, server):
            kill = Kill(
                victim, turn, request, late, folder / "homes", lambda: stack.supervisor.find_pid("worker"), server
            )
            model.before_answer = kill
            assessed = await assess(stack, url, "email_triage_basic", max_turns=3)
            assert kill.is_done
            assert assessed.state == "completed", assessed.sentence
            assert assessed.results is not None
            assert cli_agents(folder) == []
            log = assessed.results.action_log
            return Counter(str(entry.parameters["content"]) for entry in log if entry.action == "chat.send_message")


async def main(name: str) -> int:
    """All placements, or ten with a real CLI agent; the number that went wrong."""
    wrong = 0
    placements = [(victim, *moment) for moment in MOMENTS for victim in VICTIMS]
    if name != FAKE:  # a step of 4 takes victims and moments in turn
        placements = [*placements[::4], ("worker", 2, 1, 0.03), ("CLI agent", 2, 1, 0.03)]
    with running_stack() as stack:
        for victim, turn, request, late in placements:
            began = time.monotonic()
            try:
                done = await placed(stack, victim, turn, request, late, name)
                doubled, lost = done - WANTED, WANTED - done
                outcome = f"{sum(doubled.values())} doubled, {sum(lost.values())} lost"
                wrong += bool(doubled or lost)
            except AssertionError as error:
                outcome, wrong = f"failed: {error}", wrong + 1
            where = f"turn {turn}, request {request}{', a little later' if late else ''}"
            print(f"{victim:<11} {where:<32} {outcome} ({time.monotonic() - began:.1f} s)", flush=True)
    print(f"{len(placements)} placements, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else FAKE))))
