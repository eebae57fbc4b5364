"""The connection to a Docker engine, and the labels that identify all our objects there."""

import json
import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import aiohttp
from aiodocker import Docker, DockerError
from pydantic import BaseModel, Field

from proctor.terminal.engine_address import USUAL_SOCKET, engine_address
from proctor.terminal.failures import EngineUnavailableError, RegistryUnavailableError

RUN = "proctor.run"
"""Label of every container, network, volume and image: its run."""

TRIAL = "proctor.trial"
"""Label of every container, network and volume of a trial: the trial's id."""

ANSWERS_WITHIN = 120.0
"""Seconds to wait for an answer. An engine on a busy machine takes long to start a container."""

_UNIX = "unix://"

_FULL = "no space left on device"

_NETWORK = re.compile(
    r"dial tcp|no such host|i/o timeout|TLS handshake|connection (refused|reset)|toomanyrequests|unexpected EOF"
    r"|Client\.Timeout|context deadline|temporary failure|server misbehaving|50[0234] ",
    re.IGNORECASE,
)
"""An engine's messages if it can't reach a registry."""

_ENGINES_OWN = re.compile(
    r"too many open files|layer does not exist|input/output error|read-only file system|ttrpc: closed"
    r"|containerd.*(?:connection|unavailable|deadline)|failed to register layer|failed to mount .*overlay"
    r"|cannot connect to the docker daemon",
    re.IGNORECASE,
)
"""Messages of a failing engine or machine. The task is not to blame, and the next attempt may work."""
_COMMAND_FAILED = re.compile(r"returned a non-zero code|did not complete successfully")
"""An engine's message if a command of the Dockerfile failed."""

_OWN_COMMANDS = 100_000
"""The number of own commands to remember."""

_UNREACHABLE = 900
"""The status that aiodocker gives to requests that never reached the engine."""


class DefaultLimits(BaseModel, frozen=True):
    """Limits of a container whose task sets none."""

    cpus: float | None = None
    memory_mb: int = Field(default=8192, description="at most half of what the engine's machine has")
    storage_mb: int = 10_240
    processes: int = 4096


class Machine(BaseModel, frozen=True):
    """Facts about an engine and its machine."""

    id: str
    cpus: int
    memory: int


class Engine:
    """A Docker engine, over its API.

    Args:
        url: its address (``unix:///var/run/docker.sock``, ``tcp://host:2375``); None for ``DOCKER_HOST``, or the usual
            socket if that isn't set.
        limits: the limits of containers whose tasks set none.
    """

    def __init__(self, url: str | None = None, limits: DefaultLimits | None = None) -> None:
        self.url = engine_address(url)
        self.limits = limits or DefaultLimits()
        self.has_init = True
        """Whether the engine has an init process for containers; learned from the first container that can't start."""
        self.own_commands: OrderedDict[str, None] = OrderedDict()
        """The latest commands that this process has prepared in containers; all others are an agent's."""
        self._docker: Docker | None = None
        self._connector: aiohttp.BaseConnector | None = None
        self._machine: Machine | None = None

    @property
    def docker(self) -> Docker:
        """The client, made at its first use, in the event loop that uses it."""
        if self._docker is None:
            try:
                # Each command of a trial holds a connection while it runs: their number must be unlimited.
                if self.url.startswith(_UNIX):
                    self._connector = aiohttp.UnixConnector(self.url.removeprefix(_UNIX), limit=0)
                    self._docker = Docker(url=f"{_UNIX}localhost", connector=self._connector)
                else:
                    self._docker = Docker(url=self.url)
            except ValueError as error:
                raise EngineUnavailableError(
                    f"The Docker engine's address {self.url} can't be used ({error}): write one such as {USUAL_SOCKET}"
                ) from None
        return self._docker

    async def machine(self) -> Machine:
        """Return facts about the engine and its machine; asked once.

        Raises EngineUnavailableError (the engine doesn't answer; with the address and the remedy).
        """
        if self._machine is None:
            info = await self.ask("GET", "info")
            self._machine = Machine(id=info.get("ID") or self.url, cpus=info["NCPU"], memory=info["MemTotal"])
        return self._machine

    async def check(self) -> str:
        """Return the engine's id, unique among engines.

        Raises EngineUnavailableError (the engine doesn't answer; with the address and the remedy).
        """
        self._machine = None
        return (await self.machine()).id

    async def ask(
        self,
        method: str,
        path: str,
        params: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Send a request and return the answer's JSON; None if the answer is empty.

        Args:
            path: below the engine's address, such as ``containers/json``.
            params: the query; None values are left out, and mappings are written as JSON.
            timeout: seconds for the whole answer; None for ``ANSWERS_WITHIN``.

        Raises:
            DockerError: the engine refuses.
            EngineUnavailableError: the engine doesn't answer.
        """
        async with self.asking(
            method, path, params, None if body is None else json.dumps(body).encode(), timeout
        ) as response:
            content = await response.read()
        return json.loads(content) if content.strip() else None

    @asynccontextmanager
    async def asking(
        self,
        method: str,
        path: str,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
        timeout: float | None = None,
        content_type: str = "application/json",
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request with a body of any ``content_type``, and yield an answer that is read piece by piece.

        Raises:
            DockerError: the engine refuses.
            EngineUnavailableError: the engine doesn't answer.
        """
        written = {name: _as_parameter(value) for name, value in (params or {}).items() if value is not None}
        with self.speaking():
            # aiodocker's public methods lack parameters that we need (size, target) and read archives without bounds.
            async with self.docker._query(
                path,
                method,
                params=written,
                data=body,
                headers={"Content-Type": content_type},
                timeout=aiohttp.ClientTimeout(total=timeout or ANSWERS_WITHIN, sock_connect=10),
            ) as response:
                try:
                    yield response
                finally:
                    response.close()

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Convert the errors of an engine that can't be reached or fails to EngineUnavailableError.

        Raises RegistryUnavailableError if the engine can't reach a registry, and DockerError for other refusals.
        """
        try:
            yield
        except DockerError as error:
            if error.status in (_UNREACHABLE, 502, 503, 504):
                raise self.unavailable(error.message) from error
            if _FULL in error.message:
                raise self.full() from error
            if error.status >= 500 and (own := self.refused(error.message)) is not None:
                raise own from error
            raise
        except (TimeoutError, aiohttp.ClientError, OSError, AssertionError) as error:
            raise self.unavailable(str(error) or type(error).__name__) from error

    def note_own(self, command_id: str) -> None:
        self.own_commands[command_id] = None
        if len(self.own_commands) > _OWN_COMMANDS:
            self.own_commands.popitem(last=False)

    def unavailable(self, why: str) -> EngineUnavailableError:
        return EngineUnavailableError(
            f"The Docker engine at {self.url} doesn't answer ({' '.join(why.split())[:200]}): see that it runs and "
            "that the evaluator's user may use its socket, or name another in DOCKER_HOST"
        )

    def failed(self, what: str, why: str) -> EngineUnavailableError:
        return EngineUnavailableError(
            f"The Docker engine at {self.url} has a failure: {what} ({' '.join(why.split())[:300]}): see its log"
        )

    def full(self) -> EngineUnavailableError:
        return EngineUnavailableError(
            f"The disk of the Docker engine at {self.url} is full: free some space there (docker system prune)"
        )

    def refused(self, message: str) -> EngineUnavailableError | RegistryUnavailableError | None:
        """Return the error for the message of an engine that can't build or pull; None if the input is at fault."""
        if _FULL in message:
            return self.full()
        if _ENGINES_OWN.search(message) and not _COMMAND_FAILED.search(message):
            return self.failed("it refuses", message)
        if _NETWORK.search(message):
            return RegistryUnavailableError(
                f"An image can't be fetched just now ({' '.join(message.split())[:300]}): see that the engine's "
                "machine reaches the registry, or have the image there beforehand"
            )
        return None

    async def aclose(self) -> None:
        if self._docker is not None:
            await self._docker.close()
            if self._connector is not None:
                await self._connector.close()
            self._docker = self._connector = None


def labelled(run: str | None = None, trial: str | None = None) -> dict[str, list[str]]:
    """Return a filter for objects with the labels of a run and a trial; None for any run or trial."""
    return {"label": [RUN if run is None else f"{RUN}={run}", *([] if trial is None else [f"{TRIAL}={trial}"])]}


def _as_parameter(value: Any) -> str:
    if isinstance(value, Mapping):
        return json.dumps(value)
    return str(int(value)) if isinstance(value, bool) else str(value)
