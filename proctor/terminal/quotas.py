"""Read which limits of its container an agent has reached, for memory and processes."""

from pydantic import BaseModel

from proctor.terminal.commands import run_plainly, script
from proctor.terminal.engine import Engine
from proctor.terminal.environments import stands
from proctor.terminal.failures import EnvironmentLostError
from proctor.terminal.references import EnvironmentRef


class QuotasReached(BaseModel, frozen=True):
    """Counts of the times that a container hit its limits.

    Attributes:
        memory: processes that the kernel killed because the container had used up its memory.
        processes: attempts to start a process over the container's limit; None if no process could be started to read
            this count.
    """

    memory: int = 0
    processes: int | None = 0

    def in_words(self) -> list[str]:
        sentences = []
        if self.memory:
            sentences.append(f"memory: the kernel killed {self.memory} of the agent's processes")
        if self.processes is None:
            sentences.append("processes: the agent's processes left no room for another one")
        elif self.processes:
            sentences.append(f"processes: {self.processes} could not be started")
        return sentences


async def quotas_reached(engine: Engine, environment: EnvironmentRef) -> QuotasReached:
    """Return the kernel's counts of a container since its start; an agent may have falsified them.

    Raises EngineUnavailableError (the engine doesn't answer).
    """
    try:
        code, output = await run_plainly(engine, environment, ["/bin/sh", "-c", script("read_quotas")])
    except EnvironmentLostError:
        return QuotasReached(processes=None if await stands(engine, environment) else 0)
    return read_counters(output) if code == 0 else QuotasReached(processes=None)


def read_counters(text: str) -> QuotasReached:
    counted: dict[str, int] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 4 and words[0] == "quota" and words[3].isdigit():
            counted[f"{words[1]} {words[2]}"] = int(words[3])
    return QuotasReached(
        memory=counted.get("memory.events oom_kill", 0) + counted.get("memory.oom_control oom_kill", 0),
        processes=counted.get("pids.events max", 0),
    )
