"""Commands in a trial's container: by ``docker exec`` on the same host, or by the trial's command endpoint."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import httpx

from purple_sdk.processes.http_clients import make_http_client
from purple_sdk.protocol.terminal import TerminalTaskMessage

_PATIENCE, _PAUSE = 60.0, 0.5
"""Seconds for which an endpoint that doesn't answer is tried again, and between two tries."""

_SLACK = 15.0
"""Seconds that an answer may take longer than its command."""


@dataclass(frozen=True)
class Ran:
    """The result of a command; ``exit_code`` is None where it was ended at its time limit."""

    exit_code: int | None
    output: str

    def in_words(self) -> str:
        """The text for the model."""
        how = "ended at its time limit" if self.exit_code is None else f"exit code {self.exit_code}"
        return f"[{how}]\n{self.output}".rstrip()


class ShellGoneError(Exception):
    """No more commands can be run: the trial is over, or its container is gone."""


class Shell(Protocol):
    """Where commands run."""

    async def run(self, command: str, seconds: float) -> Ran:
        """Run a command with bash and wait for its end, at most so long. Raises ShellGoneError (it can't be run)."""

    async def aclose(self) -> None:
        """Let go of connections."""


def shell_of(task: TerminalTaskMessage, output_bytes: int) -> Shell:
    """The way in that the evaluator offers; its command endpoint before its Docker engine, which may be elsewhere."""
    if task.endpoint:
        return EndpointShell(task.endpoint, task.token or "", task.workdir, output_bytes)
    return DockerShell(task.container or "", task.workdir, output_bytes)


class EndpointShell:
    """Commands by HTTP."""

    def __init__(self, address: str, token: str, workdir: str, output_bytes: int) -> None:
        self._http = make_http_client(headers={"Authorization": f"Bearer {token}"}, timeout=30, direct=True)
        self._address = address.rstrip("/")
        self._workdir = workdir
        self._output_bytes = output_bytes

    async def run(self, command: str, seconds: float) -> Ran:
        """See ``Shell``."""
        asked = {
            "command": command,
            "cwd": self._workdir,
            "timeout": seconds,
            "output_cap": self._output_bytes,
        }
        try:
            answer = await self._sent(asked, seconds + _SLACK)
            result = answer.json()
        except httpx.ConnectError as problem:
            raise ShellGoneError(f"the command endpoint doesn't answer ({problem})") from None
        except (httpx.HTTPError, ValueError):
            return Ran(exit_code=None, output="The connection was lost while the command ran: look what it has done.")
        if answer.status_code in (413, 422):
            return Ran(exit_code=2, output=str(result.get("error", "")))
        if answer.status_code != 200:
            raise ShellGoneError(str(result.get("error", answer.status_code)))
        return Ran(exit_code=result.get("exit_code"), output=str(result.get("output", "")))

    async def _sent(self, asked: dict[str, object], seconds: float) -> httpx.Response:
        """Send a command; again if no server answers, since the evaluator's worker may be starting again. Raises
        httpx.HTTPError (it was not answered).
        """
        clock = asyncio.get_running_loop().time
        give_up_at = clock() + _PATIENCE
        while True:
            try:
                return await self._http.post(f"{self._address}/exec", json=asked, timeout=seconds)
            except httpx.ConnectError:
                if clock() > give_up_at:
                    raise
            await asyncio.sleep(_PAUSE)

    async def aclose(self) -> None:
        """See ``Shell``."""
        await self._http.aclose()


class DockerShell:
    """Commands by ``docker exec``, as the seed's agents do it; needs Docker's command and its socket."""

    def __init__(self, container: str, workdir: str, output_bytes: int) -> None:
        self._container = container
        self._workdir = workdir
        self._output_bytes = output_bytes

    async def run(self, command: str, seconds: float) -> Ran:
        """See ``Shell``."""
        try:
            process = await asyncio.create_subprocess_exec(
                *("docker", "exec", "-w", self._workdir, self._container, "bash", "-c", command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
        except FileNotFoundError:
            raise ShellGoneError("docker is not installed here, and the evaluator offers no command endpoint") from None
        assert process.stdout is not None
        kept, dropped = bytearray(), 0
        try:
            async with asyncio.timeout(seconds):
                while chunk := await process.stdout.read(65_536):
                    room = max(self._output_bytes - len(kept), 0)
                    kept += chunk[:room]
                    dropped += len(chunk) - min(len(chunk), room)
                code: int | None = await process.wait()
        except TimeoutError:
            code = None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        output = kept.decode(errors="replace") + (f"\n[… {dropped} more bytes]" if dropped else "")
        if code == 1 and "No such container" in output:
            raise ShellGoneError(output.strip())
        return Ran(exit_code=code, output=output)

    async def aclose(self) -> None:
        """See ``Shell``."""
