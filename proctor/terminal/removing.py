"""Removal of objects on an engine by label."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from aiodocker import DockerError

from proctor.terminal.engine import Engine
from purple_sdk.processes.together import do_all


async def remove_labelled(engine: Engine, labels: Mapping[str, list[str]]) -> int:
    """Remove all containers, networks and volumes with labels; returns their number."""
    containers = await engine.ask("GET", "containers/json", {"all": True, "filters": labels})
    gone = await _all_removed(
        engine, [f"containers/{container['Id']}" for container in containers], {"force": True, "v": True}
    )
    # Networks and volumes only after their last user is gone.
    networks, volumes = await do_all(
        engine.ask("GET", "networks", {"filters": labels}), engine.ask("GET", "volumes", {"filters": labels})
    )
    gone += await _all_removed(engine, [f"networks/{network['Id']}" for network in networks], {})
    gone += await _all_removed(
        engine, [f"volumes/{volume['Name']}" for volume in volumes["Volumes"] or []], {"force": True}
    )
    return sum(gone)


async def _all_removed(engine: Engine, paths: Sequence[str], params: Mapping[str, Any]) -> list[bool]:
    return await asyncio.gather(*(_removed(engine, path, params) for path in paths))


async def remove_builds(engine: Engine, labels: Mapping[str, list[str]], but_with: str) -> None:
    """Remove the containers of broken builds, which have ``labels``, but not the label ``but_with``."""
    for container in await engine.ask("GET", "containers/json", {"all": True, "filters": labels}):
        if but_with not in container["Labels"]:
            await _removed(engine, f"containers/{container['Id']}", {"force": True, "v": True})


async def _removed(engine: Engine, path: str, params: Mapping[str, Any]) -> bool:
    for wait in (0.0, 0.1, 0.3, 1.0, 3.0):
        await asyncio.sleep(wait)
        try:
            await engine.ask("DELETE", path, params)
        except DockerError as error:
            if error.status == 404:
                return False
            if error.status == 409 and "already in progress" in error.message:
                continue
            if wait == 3.0:
                raise engine.unavailable(f"{path} can't be removed: {error.message}") from error
            continue
        return True
    return False
