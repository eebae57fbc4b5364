"""Start, watch and remove a trial's containers. Each step may be repeated, also by another worker."""

import asyncio
import json
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any

from aiodocker import DockerError

from proctor.terminal import compose, processes
from proctor.terminal.commands import execute, losing, run_plainly
from proctor.terminal.engine import RUN, TRIAL, Engine, labelled
from proctor.terminal.failures import EnvironmentFailedError, EnvironmentLostError, LimitExceededError
from proctor.terminal.references import EnvironmentRef, ImageRef, Process
from proctor.terminal.removing import remove_labelled
from proctor.terminal.task_model import Healthcheck, Service, TerminalTask
from purple_sdk.protocol.terminal import LeaveRunning

_REF = "proctor.environment"
"""The label with the findings of ``start``."""

_NAME = re.compile(r"proctor-[a-z0-9-]+")

CLOSED = "-tests"
"""The suffix that a container's name gets when its agent's time is over. It shows this to every worker."""

_SIZE_CHECKS = 2.0
"""Seconds between two checks of a container's written size."""

_SIZE_SHARE = 20
"""The pause after a slow check, as a multiple of its duration."""

IDLE = ("sleep infinity", "sleep inf", "tail -f /dev/null")

PREPARE = """
if [ -d /tests ]; then echo "tests 1"; else echo "tests 0"; fi
mkdir -p /logs/agent /logs/verifier /logs/artifacts /agent-logs && chmod 777 /logs /logs/* /agent-logs || exit 1
"""


async def start(engine: Engine, task: TerminalTask, image: ImageRef, run: str, trial: str) -> EnvironmentRef:
    """Start a trial's environment, or find an existing one in which no tests were run.

    An environment that has stopped, was left half made, or was closed to its agent is removed and made again. In this
    case, ``container_id`` differs from before, and the agent must begin again, too.

    Args:
        trial: the trial's id, which is different for each attempt at a task; any text.

    Raises:
        EnvironmentFailedError: it doesn't start, or its healthcheck fails.
        EnvironmentLostError: its image is gone.
        EngineUnavailableError: the engine doesn't answer.
    """
    name = container_name(task.id, run, trial)
    standing = await _standing(engine, name, trial)
    if standing is not None:
        return standing
    await remove(engine, run, trial)
    try:
        if task.compose_file is not None:
            await compose.up(engine, task, image, name, run, trial)
            container = (await engine.ask("GET", f"containers/{name}/json"))["Id"]
        else:
            container = await _start_one(engine, task, image, name, run, trial)
        ref = await _prepared(engine, task, container, name, run, trial)
    except DockerError as error:
        if error.status == 404 and "o such image" in error.message:
            raise EnvironmentLostError(f"The image of {task.id} was removed before its container started") from error
        raise EnvironmentFailedError(
            f"The container of {task.id} doesn't start: {' '.join(error.message.split())[:500]}"
        ) from error
    # The label of this volume stores the agent's container and the processes from before the agent. The volume is
    # removed together with the container.
    await engine.ask(
        "POST",
        "volumes/create",
        body={"Name": f"{name}-ref", "Labels": {RUN: run, TRIAL: trial, _REF: ref.model_dump_json()}},
    )
    return ref


def container_name(task_id: str, run: str, trial: str) -> str:
    readable = re.sub(r"[^a-z0-9-]+", "-", task_id.lower()).strip("-")[:40] or "task"
    return f"proctor-{readable}-{sha256(f'{run} {trial}'.encode()).hexdigest()[:12]}"


async def recorded(engine: Engine, container: str) -> EnvironmentRef | None:
    """Return the recorded environment of a container, which may no longer exist; None if there is no record.

    Raises EngineUnavailableError (the engine doesn't answer).
    """
    if not _NAME.fullmatch(container):
        return None
    try:
        record = await engine.ask("GET", f"volumes/{container}-ref")
        return EnvironmentRef.model_validate_json(record["Labels"][_REF])
    except (DockerError, KeyError, ValueError):
        return None


async def _standing(engine: Engine, name: str, trial: str) -> EnvironmentRef | None:
    """Return the environment of that name, if it is complete, runs, and is still open to its agent."""
    ref = await recorded(engine, name)
    if ref is None or ref.trial != trial or not await stands(engine, ref):
        return None
    return None if await is_closed(engine, ref) else ref


async def _start_one(engine: Engine, task: TerminalTask, image: ImageRef, name: str, run: str, trial: str) -> str:
    service = task.service or Service()
    body = {
        "Image": image.name,
        "Cmd": service.command,
        "Entrypoint": service.entrypoint,
        "Env": [f"{variable}={value}" for variable, value in service.environment.items()],
        "WorkingDir": service.working_dir or "",
        "User": service.user or "",
        "Hostname": service.hostname or "",
        "Labels": {RUN: run, TRIAL: trial},
        "HostConfig": await _host_config(engine, task, service),
    }
    container = await _create(engine, name, body)
    try:
        await engine.ask("POST", f"containers/{container}/start")
    except DockerError as error:
        if "docker-init" not in error.message:
            raise
        engine.has_init = False
        await engine.ask("DELETE", f"containers/{container}", {"force": True, "v": True})
        body["HostConfig"] = await _host_config(engine, task, service)
        container = await _create(engine, name, body)
        await engine.ask("POST", f"containers/{container}/start")
    return container


async def _create(engine: Engine, name: str, body: Mapping[str, Any]) -> str:
    try:
        made = await engine.ask("POST", "containers/create", {"name": name}, body)
    except DockerError as error:
        if error.status != 409:
            raise
        # A worker that was frozen has continued just now and made this container. The last worker to come wins.
        await engine.ask("DELETE", f"containers/{name}", {"force": True, "v": True})
        made = await engine.ask("POST", "containers/create", {"name": name}, body)
    container: str = made["Id"]
    return container


async def _host_config(engine: Engine, task: TerminalTask, service: Service) -> dict[str, Any]:
    limits = await find_limits(engine, task)
    config: dict[str, Any] = {
        "Memory": limits["memory"],
        "PidsLimit": engine.limits.processes,
        # The host's disk keeps the output of a container's first process: this is its limit.
        "LogConfig": {"Type": "json-file", "Config": {"max-size": "5m", "max-file": "1"}},
    }
    if limits["cpus"]:
        config["NanoCpus"] = int(limits["cpus"] * 1e9)
    if task.limits.network == "none":
        config["NetworkMode"] = "none"
    # An init must reap the processes that an agent leaves. A task that runs its own init gets no second one.
    if engine.has_init and " ".join(service.command or ()).removeprefix("sh -c ") in IDLE and not service.entrypoint:
        config["Init"] = True
    config.update(service.more)
    config["MemorySwap"] = config["Memory"]
    return config


async def find_limits(engine: Engine, task: TerminalTask) -> dict[str, Any]:
    """Return the limits of a task's container: ``cpus`` (None: all), bytes of ``memory`` and ``storage``."""
    machine = await engine.machine()
    default = min(engine.limits.memory_mb * 2**20, machine.memory // 2)
    cpus = task.limits.cpus or engine.limits.cpus
    return {
        "cpus": min(cpus, float(machine.cpus)) if cpus else None,
        "memory": task.limits.memory_mb * 2**20 if task.limits.memory_mb else default,
        "storage": (task.limits.storage_mb or engine.limits.storage_mb) * 2**20,
    }


async def _prepared(
    engine: Engine, task: TerminalTask, container: str, name: str, run: str, trial: str
) -> EnvironmentRef:
    """Make the formats' folders, wait until the environment is healthy, and note its processes."""
    about = await engine.ask("GET", f"containers/{container}/json")
    ref = EnvironmentRef(
        run=run,
        trial=trial,
        container=name,
        container_id=container,
        project=name if task.compose_file is not None else None,
        workdir=task.workdir or about["Config"]["WorkingDir"] or "/",
        agent_user=task.agent_user,
    )
    try:
        code, output = await run_plainly(engine, ref, ["/bin/sh", "-c", PREPARE + processes.LIST])
        if code != 0:
            raise EnvironmentFailedError(
                f"The container of {task.id} ended as soon as it was started, or has no /bin/sh to run: "
                f"{' '.join(output.split())[:300]}",
                await read_output(engine, container),
            )
        own = processes.read_listing(output)
        if task.healthcheck is not None:
            await wait_until_healthy(engine, ref, task.healthcheck)
            own = await processes.running(engine, ref)
    except EnvironmentLostError as error:
        log = await read_output(engine, container)
        raise EnvironmentFailedError(
            f"The container of {task.id} ended as soon as it was started: {error}", log
        ) from error
    return ref.model_copy(
        update={
            "own_processes": tuple(process.process for process in own.values()),
            "had_tests": "tests 1" in output,
        }
    )


async def wait_until_healthy(engine: Engine, ref: EnvironmentRef, health: Healthcheck) -> None:
    """Repeat the health check until it succeeds, by the rules of a Dockerfile's HEALTHCHECK."""
    began, failures = time.monotonic(), 0
    while True:
        checked = await execute(engine, ref, health.command, timeout=health.timeout_sec, output_cap=4000)
        if checked.exit_code == 0:
            return
        is_starting = time.monotonic() - began < health.start_period_sec
        failures += not is_starting
        if failures >= health.retries:
            raise EnvironmentFailedError(
                f"The environment is not healthy: {health.command[:200]} failed {failures} times", checked.output
            )
        await asyncio.sleep(health.start_interval_sec if is_starting else health.interval_sec)


async def read_output(engine: Engine, container: str, lines: int = 200) -> str:
    """Return the last lines of a container's first process; empty if they are unavailable."""
    try:
        async with engine.asking(
            "GET", f"containers/{container}/logs", {"stdout": True, "stderr": True, "tail": lines}
        ) as response:
            raw = await response.content.read(6_000_000)
    except DockerError:
        return ""
    text, at = bytearray(), 0
    while at + 8 <= len(raw):  # each piece has a header: the stream's number and the piece's length
        size = int.from_bytes(raw[at + 4 : at + 8], "big")
        text += raw[at + 8 : at + 8 + size]
        at += 8 + size
    return bytes(text).decode(errors="replace")


async def stands(engine: Engine, environment: EnvironmentRef) -> bool:
    try:
        about = await engine.ask("GET", f"containers/{environment.container_id}/json")
    except DockerError as error:
        if error.status == 404:
            return False
        raise
    return bool(about["State"]["Running"])


async def ended_by_itself(engine: Engine, environment: EnvironmentRef) -> str | None:
    """Return a sentence if the container's first process exited; None if it runs, or was ended from outside.

    If the container was killed through the engine, the engine's events show this. A restarted engine reports no exit.
    Raises EngineUnavailableError (the engine doesn't answer).
    """
    if await stands(engine, environment):
        return None
    chosen = {"container": [environment.container_id], "event": ["die", "kill"]}
    span = {"since": "0", "until": f"{time.time():.6f}"}
    try:
        async with engine.asking("GET", "events", {**span, "filters": chosen}) as response:
            events = [json.loads(line) for line in (await response.read()).splitlines() if line.strip()]
    except DockerError:
        return None
    if not events or any(str(event.get("Action")) == "kill" for event in events):
        return None
    code = events[-1].get("Actor", {}).get("Attributes", {}).get("exitCode", "unknown")
    return f"The first process of the container ended (exit code {code}), and all that ran there with it"


async def is_closed(engine: Engine, environment: EnvironmentRef) -> bool:
    """Whether the agent's time is over, whichever worker ended it.

    Raises EnvironmentLostError (the container is gone).
    """
    with losing(environment):
        about = await engine.ask("GET", f"containers/{environment.container_id}/json")
    return str(about["Name"]).endswith(CLOSED)


async def watch(engine: Engine, environment: EnvironmentRef, task: TerminalTask) -> None:
    """Check an environment repeatedly while an agent works in it; never returns, so cancel it.

    Raises:
        LimitExceededError: the agent wrote more than the task's storage allows; the container was stopped.
        EnvironmentLostError: the container is gone.
    """
    while True:
        began = time.monotonic()
        await look(engine, environment, task)
        await asyncio.sleep(max(_SIZE_CHECKS, _SIZE_SHARE * (time.monotonic() - began)))


async def look(engine: Engine, environment: EnvironmentRef, task: TerminalTask) -> None:
    """Check once that an environment runs and is within its storage. A container over its storage is stopped.

    Raises:
        LimitExceededError: the agent wrote more than the task's storage allows; the container was stopped.
        EnvironmentLostError: the container is gone.
    """
    most = (await find_limits(engine, task))["storage"]
    with losing(environment):
        about = await engine.ask("GET", f"containers/{environment.container_id}/json", {"size": True})
    written = about.get("SizeRw") or 0
    if written > most:
        with suppress(DockerError):
            await engine.ask("POST", f"containers/{environment.container_id}/kill")
        raise LimitExceededError(
            f"The agent wrote {written // 2**20:,} MB, and its container may hold {most // 2**20:,} MB "
            "(storage_mb): it was stopped"
        )
    if not about["State"]["Running"]:
        raise EnvironmentLostError(f"The container {environment.container} has stopped")


async def close_to_agent(
    engine: Engine, environment: EnvironmentRef, task: TerminalTask, kept: LeaveRunning = "everything"
) -> tuple[Process, ...]:
    """End the agent's time: refuse its commands from now on, and end its processes that ``kept`` doesn't cover.

    Returns the agent's processes that keep running. ``run_tests`` calls this function; repeated calls do no harm.
    Raises EnvironmentLostError (the container is gone).
    """
    with suppress(DockerError):  # it has that name already
        await engine.ask(
            "POST", f"containers/{environment.container_id}/rename", {"name": f"{environment.container}{CLOSED}"}
        )
    return await processes.end_leftovers(engine, environment, "everything" if task.run_tests_in_same_shell else kept)


async def remove(engine: Engine, run: str, trial: str) -> None:
    """Remove all containers, networks and volumes of a trial; repeating it does no harm.

    Raises EngineUnavailableError (the engine doesn't answer).
    """
    await remove_labelled(engine, labelled(run, trial))
