"""Removing by label what was made on an engine."""

import asyncio
from collections.abc import Mapping
from typing import Any

from aiodocker import DockerError

from activities.terminal.engine import Engine


async def remove_labelled(engine: Engine, labels: Mapping[str, list[str]]) -> int:
    """Remove all containers, networks and volumes with labels; returns how many there were."""
    count = 0
    for container in await engine.ask("GET", "containers/json", {"all": True, "filters": labels}):
        count += await _removed(engine, f"containers/{container['Id']}", {"force": True, "v": True})
    for network in await engine.ask("GET", "networks", {"filters": labels}):
        count += await _removed(engine, f"networks/{network['Id']}", {})
    for volume in (await engine.ask("GET", "volumes", {"filters": labels}))["Volumes"] or []:
        count += await _removed(engine, f"volumes/{volume['Name']}", {"force": True})
    return count


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
