"""Record commands that an agent runs by ``docker exec``, without the command endpoint.

The engine's events report each command, its time and its end. The output goes only to the agent and is not kept, and
the recording says so.
"""

import asyncio
import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from aiodocker import DockerError

from proctor.terminal.engine import Engine
from proctor.terminal.failures import EngineUnavailableError
from proctor.terminal.recording import Recorder
from proctor.terminal.references import EnvironmentRef

KIND = "docker exec"
"""The name of such a command in the transcript."""

_LONGEST = 20_000
"""Characters that are kept of a command."""

_LISTENS, _PAUSE, _LAST_LOOK = 86_400.0, 1.0, 10.0
"""The seconds of a request that listens, before an unavailable engine is asked again, and of the last request."""

_REMARK = "(by docker exec: the output of these commands goes to the agent only)"


async def record_commands(
    engine: Engine, environment: EnvironmentRef, recorder: Recorder, since: datetime, until: asyncio.Event
) -> None:
    """Record the commands run in an environment from an instant on, until ``until`` is set.

    All events before the end are read. Entries that are already in the transcript are not written again. An unavailable
    engine is asked again.

    Args:
        since: the first instant; the engine may report its events again.
        until: ends the recording.
    """
    watch = _Watch(engine, environment, recorder)
    ended = asyncio.create_task(until.wait())
    try:
        while not until.is_set():
            listening = asyncio.create_task(watch.read({"since": _instant(since)}))
            try:
                await asyncio.wait({listening, ended}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)
            if not until.is_set():
                await asyncio.wait({ended}, timeout=_PAUSE)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_LOOK):
                await watch.read({"since": _instant(since), "until": _instant(datetime.now(UTC))})
    finally:
        ended.cancel()


class _Watch:
    """The events of one container, each once."""

    def __init__(self, engine: Engine, environment: EnvironmentRef, recorder: Recorder) -> None:
        self._engine = engine
        self._environment = environment
        self._recorder = recorder
        self._health: str | None = None
        noted = recorder.noted(KIND)
        self._begun = {str(line.get("id")) for line in noted}
        self._ended = {str(line.get("id")) for line in noted if "exit_code" in line}

    async def read(self, span: dict[str, str]) -> None:
        chosen = {"container": [self._environment.container_id], "event": ["exec_start", "exec_die"]}
        try:
            if self._health is None:
                self._health = await self._healthcheck()
            async with self._engine.asking("GET", "events", {**span, "filters": chosen}, timeout=_LISTENS) as response:
                rest = b""
                async for chunk in response.content.iter_any():
                    *whole, rest = (rest + chunk).split(b"\n")
                    for line in filter(None, map(bytes.strip, whole)):
                        self._take(json.loads(line))
        except (EngineUnavailableError, DockerError):
            return

    def _take(self, event: dict[str, Any]) -> None:
        what, _, command = str(event.get("Action", "")).partition(": ")
        attributes = event.get("Actor", {}).get("Attributes", {})
        command_id = str(attributes.get("execID", ""))
        if command_id in self._engine.own_commands:
            return
        if what == "exec_start" and command_id not in self._begun and command != self._health:
            if not self._begun:
                self._recorder.remarked(_REMARK)
            self._begun.add(command_id)
            self._recorder.note(KIND, id=command_id, command=command[:_LONGEST])
            self._recorder.typed(command[:_LONGEST])
        elif what == "exec_die" and command_id in self._begun - self._ended:
            self._ended.add(command_id)
            code = str(attributes.get("exitCode", ""))
            self._recorder.note(KIND, id=command_id, exit_code=int(code) if code.lstrip("-").isdigit() else None)
            self._recorder.remarked(f"[exit code {code}]")

    async def _healthcheck(self) -> str:
        """Return the command of the container's healthcheck, which isn't the agent's."""
        about = await self._engine.ask("GET", f"containers/{self._environment.container_id}/json")
        kind, *words = (about["Config"].get("Healthcheck") or {}).get("Test") or ["NONE"]
        return " ".join(["/bin/sh", "-c", *words] if kind == "CMD-SHELL" else words)


def _instant(at: datetime) -> str:
    return f"{at.timestamp():.6f}"
