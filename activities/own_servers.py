"""One UES server for each assessment: any server that speaks the contract, started by a command.

A server with checkpoints (ours) keeps everything. With any other, export and import stand in: a checkpoint is then an
envelope with the exported scenario. What such a checkpoint can't hold (generated ids, undo history, holds, access
log, keys) is lost when the process is; ``docs/OPERATIONS.md`` says what that means.
"""

import asyncio
import ctypes
import logging
import os
import re
import shlex
import signal
import socket
import sys
from contextlib import suppress
from hashlib import sha256
from typing import Any

import httpx
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from activities import failures
from activities.keys import (
    PARTICIPANT_KEY_ID,
    READER_KEY_ID,
    READER_PERMISSIONS,
    USER_PERMISSIONS,
    admin_key,
    participant_key,
    reader_key,
)
from activities.worlds import World, Worlds
from protocol.config import GreenAgentConfig
from purple_sdk.ues import (
    AsyncUESClient,
    AuthenticationError,
    ConflictError,
    NotFoundError,
    UESConnectionError,
    UESError,
    UESResponseError,
)
from purple_sdk.ues.answers import CurrentCheckpoint

logger = logging.getLogger(__name__)

_HOST = "127.0.0.1"
_START_SECONDS = 20.0
_STOP_SECONDS = 3.0
_PORTS_TRIED = 2000
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG, prctl(2)


class Envelope(BaseModel):
    """A checkpoint of a server that has none of its own. ``port`` is where it was told to be found."""

    model_config = ConfigDict(frozen=True)

    proctor_export: int = 1
    port: int
    is_running: bool
    participant_key_ids: list[str] = Field(default_factory=list)
    scenario: dict[str, Any]


class OwnWorld(World):
    """A simulation in a server process of its own; lives as long as the process."""

    def __init__(self, config: GreenAgentConfig, simulation_id: str, port: int, http: httpx.AsyncClient) -> None:
        self._config = config
        self._simulation_id = simulation_id
        self._http = http
        secret = config.secret.get_secret_value()
        self.port = port
        self.address = f"http://{_HOST}:{port}"
        self.admin = AsyncUESClient(self.address, admin_key(secret, simulation_id), http=http)
        self.reader = self.admin
        self.participant_secret = participant_key(secret, simulation_id)
        self.participant_key_ids = frozenset()
        self._has_checkpoints: bool | None = None
        self._mark: str | None = None
        self._base: tuple[str, str] | None = None

    async def current(self) -> CurrentCheckpoint:
        """See ``World``; without checkpoints, an export that reads like the last one says that nothing has changed."""
        if await self._checkpoints():
            return await self.admin.simulation.current()
        known = self._base is not None and self._base[0] == _digest(await self.admin.scenario.export_full())
        return CurrentCheckpoint(checkpoint=self._base[1] if known and self._base else None, mark=self._mark)

    async def mark(self, text: str) -> None:
        """See ``World``."""
        if await self._checkpoints():
            await self.admin.simulation.mark(text)
        else:
            self._mark = text

    async def checkpoint(self) -> bytes:
        """See ``World``."""
        if await self._checkpoints():
            return await self.admin.simulation.checkpoint()
        exported = await self.admin.scenario.export_full()
        status = await self.admin.simulation.status()
        content = to_json(
            Envelope(
                port=self.port,
                is_running=status.is_running,
                participant_key_ids=sorted(self.participant_key_ids),
                scenario=_scenario(exported),
            )
        )
        self._base = (_digest(exported), sha256(content).hexdigest())
        return content

    async def restore(self, checkpoint: bytes) -> None:
        """See ``World``."""
        if await self._checkpoints():
            await self.admin.simulation.restore(checkpoint)
            self.participant_key_ids = frozenset({PARTICIPANT_KEY_ID})
            return
        envelope = Envelope.model_validate_json(checkpoint)
        with suppress(ConflictError):
            await self.admin.simulation.stop()
        await self.admin.simulation.clear()
        await self.admin.scenario.import_full(envelope.scenario)
        if envelope.is_running:
            await self.admin.simulation.start()
        earlier = frozenset(envelope.participant_key_ids)
        if not self.participant_key_ids and earlier:
            await self.make_keys()
            self.is_known_to_participant = False
        self.participant_key_ids |= earlier
        self._mark = None
        self._base = (_digest(await self.admin.scenario.export_full()), sha256(checkpoint).hexdigest())

    async def make_keys(self) -> None:
        """See ``World``; a server that chooses its own secrets and ids is asked which."""
        secret = self._config.secret.get_secret_value()
        made = await self.admin.keys.create(
            name="participant",
            permissions=USER_PERMISSIONS,
            secret=self.participant_secret,
            key_id=PARTICIPANT_KEY_ID,
        )
        self.participant_secret = made.secret
        self.participant_key_ids |= {made.key_id}
        reader = await self.admin.keys.create(
            name="evaluators",
            permissions=READER_PERMISSIONS,
            secret=reader_key(secret, self._simulation_id),
            key_id=READER_KEY_ID,
        )
        self.reader = AsyncUESClient(self.address, reader.secret, http=self._http)

    async def _checkpoints(self) -> bool:
        if self._has_checkpoints is None:
            try:
                await self.admin.simulation.current()
                self._has_checkpoints = True
            except UESResponseError as problem:
                if problem.status not in (404, 405, 501):
                    raise
                self._has_checkpoints = False
        return self._has_checkpoints


class _Gone(World):
    """A world whose process this worker doesn't have: every question says that it isn't there."""

    def __init__(self, simulation_id: str) -> None:
        self._sentence = f"no simulation {simulation_id} runs in this worker"

    def __getattr__(self, name: str) -> Any:
        raise AuthenticationError(self._sentence, 401, self._sentence)

    async def current(self) -> CurrentCheckpoint:
        """There is none."""
        raise AuthenticationError(self._sentence, 401, self._sentence)

    async def mark(self, text: str) -> None:
        """There is none."""
        await self.current()

    async def checkpoint(self) -> bytes:
        """There is none."""
        raise AuthenticationError(self._sentence, 401, self._sentence)

    async def restore(self, checkpoint: bytes) -> None:
        """There is none."""
        await self.current()

    async def make_keys(self) -> None:
        """There is none."""
        await self.current()


class OwnServers(Worlds):
    """The server processes of this worker; they end with it, however it ends."""

    def __init__(self, config: GreenAgentConfig, command: str, http: httpx.AsyncClient) -> None:
        self._config = config
        self._command = command
        self._http = http
        self._running: dict[str, tuple[OwnWorld, asyncio.subprocess.Process, asyncio.Task[None]]] = {}
        self._last_ports: dict[str, int] = {}
        self._starting = asyncio.Lock()

    def world(self, simulation_id: str) -> World:
        """See ``Worlds``."""
        found = self._running.get(simulation_id)
        if found is None or found[1].returncode is not None:
            return _Gone(simulation_id)
        return found[0]

    async def create(self, simulation_id: str, seed: int | None) -> None:
        """See ``Worlds``; the seed is the server's own affair.

        Raises:
            ApplicationError: ``ScenarioBroken`` never; ``ServerFailed`` where the command can't be started or doesn't
            get well.
        """
        async with self._starting:
            if not isinstance(self.world(simulation_id), _Gone):
                raise ConflictError(f"there is a simulation {simulation_id}", 409, "taken")
            await self._end(simulation_id)
            preferred = self._last_ports.get(simulation_id)
            for port in ([preferred] if preferred else []) + list(self._ports()):
                if _is_free(port) and await self._start(simulation_id, port):
                    self._last_ports[simulation_id] = port
                    return
        raise failures.passing(
            failures.SERVER_FAILED,
            f"No UES server could be started with AGENTBEATS_GREEN_UES_COMMAND ({self._command}) on a port from "
            f"{self._config.ues_base_port} up.",
        )

    def prefer(self, simulation_id: str, checkpoint: bytes) -> None:
        """Remember the port that a checkpoint says its simulation was found at."""
        found = re.search(rb'"proctor_export":1,"port":(\d+)', checkpoint[:200])
        if found:
            self._last_ports.setdefault(simulation_id, int(found.group(1)))

    async def remove(self, simulation_id: str) -> None:
        """See ``Worlds``."""
        async with self._starting:
            await self._end(simulation_id)
            self._last_ports.pop(simulation_id, None)

    async def aclose(self) -> None:
        """End every server."""
        for simulation_id in list(self._running):
            await self._end(simulation_id)

    def _ports(self) -> range:
        first = self._config.ues_base_port
        return range(first, min(first + _PORTS_TRIED, 65536))

    async def _start(self, simulation_id: str, port: int) -> bool:
        """Start the command; False where it ended at once because somebody else took the port meanwhile."""
        words = [word.format(host=_HOST, port=port) for word in shlex.split(self._command)]
        secret = self._config.secret.get_secret_value()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AGENTBEATS_GREEN_")}
        environment["UES_ADMIN_KEY"] = admin_key(secret, simulation_id)
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env=environment,
                start_new_session=True,
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,
            )
        except OSError as problem:
            raise failures.final(
                failures.SERVER_FAILED,
                f"AGENTBEATS_GREEN_UES_COMMAND is {self._command!r}, which can't be started ({problem.strerror}): "
                "set it to a command that starts a UES server at {host} and {port}.",
            ) from None
        world = OwnWorld(self._config, simulation_id, port, self._http)
        tail: list[str] = []
        drain = asyncio.create_task(_drain(process, environment["UES_ADMIN_KEY"], tail))
        self._running[simulation_id] = (world, process, drain)
        try:
            await asyncio.wait_for(_until_healthy(self._http, world.address, process), _START_SECONDS)
        except TimeoutError:
            await self._end(simulation_id)
            raise failures.final(
                failures.SERVER_FAILED,
                f"The UES server started with AGENTBEATS_GREEN_UES_COMMAND ({self._command}) did not answer "
                f"{world.address}/health within {_START_SECONDS:g} s.",
            ) from None
        except UESConnectionError:
            await self._end(simulation_id)
            if not _is_free(port):
                return False
            said = f" It said: {tail[-1]}" if tail else ""
            raise failures.final(
                failures.SERVER_FAILED,
                f"The UES server started with AGENTBEATS_GREEN_UES_COMMAND ({self._command}) ended at once with exit "
                f"code {process.returncode}.{said}",
            ) from None
        return True

    async def _end(self, simulation_id: str) -> None:
        found = self._running.pop(simulation_id, None)
        if found is None:
            return
        _, process, drain = found
        for number in (signal.SIGTERM, signal.SIGKILL):
            if process.returncode is not None:
                break
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), _STOP_SECONDS)
        drain.cancel()


def _die_with_parent() -> None:
    """Have the kernel end this process when the worker ends, even by SIGKILL."""
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            return False
    return True


async def _until_healthy(http: httpx.AsyncClient, address: str, process: asyncio.subprocess.Process) -> None:
    while process.returncode is None:
        try:
            if (await http.get(f"{address}/health", timeout=2)).is_success:
                return
        except httpx.TransportError:
            pass
        await asyncio.sleep(0.05)
    raise UESConnectionError("the server ended")


async def _drain(process: asyncio.subprocess.Process, secret: str, tail: list[str]) -> None:
    """Read the server's output, so that it never blocks; it goes to the log without its admin key."""
    assert process.stdout is not None
    with suppress(ValueError, UESError):
        async for line in process.stdout:
            text = line.decode(errors="replace").rstrip().replace(secret, "…")
            tail[:] = [*tail[-4:], text]
            logger.debug("ues[%s]: %s", process.pid, text)


def _scenario(exported: dict[str, Any]) -> dict[str, Any]:
    inner = exported.get("scenario", exported)
    return inner if isinstance(inner, dict) else exported


def _digest(exported: dict[str, Any]) -> str:
    """What an export says, without when it was written."""
    scenario = {name: value for name, value in _scenario(exported).items() if name != "metadata"}
    environment = dict(scenario.get("environment") or {})
    environment["time_state"] = {
        name: value for name, value in (environment.get("time_state") or {}).items() if name != "last_wall_time_update"
    }
    return sha256(to_json({**scenario, "environment": environment})).hexdigest()


__all__ = ["NotFoundError", "OwnServers", "OwnWorld"]
