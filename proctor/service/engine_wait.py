"""Wait for a Docker engine without importing its client: most workers never use an engine."""

import asyncio
import importlib.util
import logging
import os

from proctor.settings.config import GreenAgentConfig
from proctor.terminal.engine_address import engine_address
from purple_sdk.protocol.problems import Problem

_LOOK_SECONDS = 5.0

log = logging.getLogger(__name__)


def find_missing() -> Problem | None:
    """A problem that names missing packages for terminal trials; None if all of them are installed."""
    if importlib.util.find_spec("aiodocker") is None:
        what = "The client of the Docker engine (aiodocker) is not installed"
        return Problem(what, "run pip install 'proctor[terminal]', or in a checkout pip install -e '.[terminal]'.")
    return None


async def find_problem_of_engine(config: GreenAgentConfig) -> Problem | None:
    """The reason why the Docker engine of the settings can't play terminal trials; None if it answers."""
    if missing := find_missing():
        return missing
    from proctor.terminal.engine import Engine
    from proctor.terminal.failures import EngineUnavailableError

    engine = Engine(config.docker_url)
    try:
        await engine.check()
    except EngineUnavailableError as error:
        return Problem.of(error)
    finally:
        await engine.aclose()
    return None


async def until_there_may_be_an_engine(config: GreenAgentConfig) -> None:
    """Wait until this machine has a socket at the engine's address.

    Return at once if the address isn't a local socket, or if the settings require an engine. The engine's client later
    checks whether the engine answers. If that client isn't installed, log this and wait forever.
    """
    if missing := find_missing():
        (log.warning if config.containers == "on" else log.info)("no terminal trials are played here: %s", missing)
        await asyncio.Event().wait()
    address = engine_address(config.docker_url)
    kind, _, path = address.partition("://")
    if kind != "unix" or config.containers == "on" or os.path.exists(path):  # noqa: ASYNC240
        return
    log.info("no terminal trials are played here yet: there is no Docker engine at %s", address)
    while not os.path.exists(path):  # noqa: ASYNC110, ASYNC240
        await asyncio.sleep(_LOOK_SECONDS)
