"""Removing by label what was made on an engine."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from aiodocker import DockerError

from proctor.terminal.engine import Engine
from purple_sdk.processes.together import do_all


async def remove_labelled(engine: Engine, labels: Mapping[str, list[str]]) -> int:
    """Remove all containers, networks and volumes with labels; returns how many there were."""
    containers = await engine.ask("GET", "containers/json", {"all": True, "filters": labels})
    gone = await _all_removed(engine, [f"containers/{each['Id']}" for each in containers], {"force": True, "v": True})
    # Networks and volumes only when nothing uses them any more.
    networks, volumes = await do_all(
        engine.ask("GET", "networks", {"filters": labels}), engine.ask("GET", "volumes", {"filters": labels})
    )
    gone += await _all_removed(engine, [f"networks/{each['Id']}" for each in networks], {})
    gone += await _all_removed(
        engine, [f"volumes/{each['Name']}" for each in volumes["Volumes"] or []], {"force": True}
    )
    return sum(gone)


async def _all_removed(engine: Engine, paths: Sequence[str], params: Mapping[str, Any]) -> list[bool]:
    return await asyncio.gather(*(_removed(engine, path, params) for path in paths))


async def remove_builds(engine: Engine, labels: Mapping[str, list[str]], but_with: str) -> None:
    """Remove the containers of builds that broke off: those with labels, apart from those that have another one too."""
    for container in await engine.ask("GET", "containers/json", {"all": True, "filters": labels}):
        if but_with not in container["Labels"]:
            await _removed(engine, f"containers/{container['Id']}", {"force": True, "v": True})


async def _removed(engine: Engine, path: str, params: Mapping[str, Any]) -> bool:
    for wait in (0.0, 0.1, 0.3, 1.0, 3.0):
        await asyncio.sleep(wait)
        try:
            await engine.ask("DELETE", path, params)
        except DockerError as problem:
            if problem.status == 404:
                return False
            if problem.status == 409 and "already in progress" in problem.message:
                continue
            if wait == 3.0:
                raise engine.unavailable(f"{path} can't be removed: {problem.message}") from problem
            continue
        return True
    return False
