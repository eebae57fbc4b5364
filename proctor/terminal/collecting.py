"""Collect the logs of a trial from its containers."""

from pydantic import BaseModel

from proctor.terminal import fresh
from proctor.terminal.copying import copy_out
from proctor.terminal.engine import Engine, labelled
from proctor.terminal.environments import read_output
from proctor.terminal.references import EnvironmentRef
from proctor.terminal.task_model import TaskFormat, TerminalTask
from purple_sdk.processes.together import do_all

_FOLDERS = {
    TaskFormat.ONE: {"/agent-logs": "agent-logs", "/logs": "sessions"},
    TaskFormat.TWO: {"/logs/agent": "agent", "/logs/verifier": "verifier", "/logs/artifacts": "artifacts"},
}
"""The paths of a container that each format keeps, and the folders for them in a trial's results."""


_MOST_BYTES = 20_000_000
"""Maximum bytes of all folders together; each folder gets an equal part."""


class CollectedFile(BaseModel, frozen=True):
    """A file of a trial: its path below the trial's folder, such as ``agent-logs/run.log``."""

    name: str
    content: bytes
    is_cut: bool = False


async def collect(engine: Engine, task: TerminalTask, environment: EnvironmentRef) -> list[CollectedFile]:
    """Return the logs that the format keeps, and each service's output; nothing if the container is gone.

    The agent may have written these files, so their total size is limited.

    Raises:
        EngineUnavailableError: the engine doesn't answer.
    """
    folders = _FOLDERS[task.format]
    each = _MOST_BYTES // len(folders)
    place = await fresh.find(engine, environment) or environment  # the container in which the tests ran has all logs
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
        text = await read_output(engine, container["Id"])
        if text:
            collected.append(CollectedFile(name=f"services/{service}.log", content=text.encode()))
    return collected
