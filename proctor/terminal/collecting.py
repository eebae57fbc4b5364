"""The logs of a trial, out of its container."""

from pydantic import BaseModel

from proctor.terminal import fresh
from proctor.terminal.copying import copy_out
from proctor.terminal.engine import Engine, labelled
from proctor.terminal.environments import output_of
from proctor.terminal.references import EnvironmentRef
from proctor.terminal.task_model import TaskFormat, TerminalTask
from purple_sdk.processes.together import do_all

_FOLDERS = {
    TaskFormat.ONE: {"/agent-logs": "agent-logs", "/logs": "sessions"},
    TaskFormat.TWO: {"/logs/agent": "agent", "/logs/verifier": "verifier", "/logs/artifacts": "artifacts"},
}
"""What the formats keep of a container, and what the folder is called in a trial's results."""


_MOST_BYTES = 20_000_000
"""Of the folders together, an equal part for each."""


class CollectedFile(BaseModel, frozen=True):
    """A file of a trial: its path below the trial's folder, such as ``agent-logs/run.log``."""

    name: str
    content: bytes
    is_cut: bool = False


async def collect(engine: Engine, task: TerminalTask, environment: EnvironmentRef) -> list[CollectedFile]:
    """Logs that the format keeps, and each service's output; nothing where the container is gone.

    The agent may have written these files: they are data, and their sum is bounded.

    Raises:
        EngineUnavailableError: the engine doesn't answer.
    """
    folders = _FOLDERS[task.format]
    each = _MOST_BYTES // len(folders)
    place = await fresh.find(engine, environment) or environment  # where the tests ran has all logs
    copied, containers = await do_all(
        do_all(*(copy_out(engine, place, path, each) for path in folders)),
        engine.ask("GET", "containers/json", {"all": True, "filters": labelled(environment.run, environment.trial)}),
    )
    collected: list[CollectedFile] = []
    for name, files in zip(folders.values(), copied, strict=True):
        is_full = sum(map(len, files.values())) >= each
        last = len(files) - 1
        collected += [
            CollectedFile(name=f"{name}/{inner}", content=content, is_cut=is_full and at == last)
            for at, (inner, content) in enumerate(files.items())
        ]
    for container in containers:
        if fresh.VERIFIER in container["Labels"]:
            continue
        service = container["Labels"].get("com.docker.compose.service", task.compose_main)
        text = await output_of(engine, container["Id"])
        if text:
            collected.append(CollectedFile(name=f"services/{service}.log", content=text.encode()))
    return collected
