"""Take commands over HTTP, for agents on machines that have no Docker socket.

Each worker has one server for all of its trials. ``GET /trials/CONTAINER`` describes the available requests in JSON.
The bearer token is derived from the deployment's secret and the trial's id, and the environment is found on the engine.
Another worker with the same engine therefore accepts the same token, and workers exchange no data.

Agents must reach a restarted worker at the same address. Give the endpoint a fixed port, or advertise the address of a
permanent proxy that passes requests on to any worker of the engine. If the worker is gone, the agent's connection is
refused, and the agent tries again.
"""

import asyncio
import hmac
import json
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from proctor.activities.simulation.keys import commands_key
from proctor.processes.slow_senders import make_config
from proctor.terminal import environments, tmux
from proctor.terminal.commands import LONGEST_COMMAND, CappedOutput, execute
from proctor.terminal.engine import Engine
from proctor.terminal.failures import EngineUnavailableError, EnvironmentLostError
from proctor.terminal.recording import Recorder, Recordings
from proctor.terminal.references import EnvironmentRef
from purple_sdk.processes.serving import InnerServer, get_address, listen
from purple_sdk.protocol.problems import describe

AT_ONCE = 16
"""Maximum of commands of one trial that run at the same time."""

_LARGEST_BODY = 1_000_000
_OUTPUT_CAP = 1_000_000
_RECORDED = 200_000
_DEFAULT_SECONDS = 120.0
_MOST_SECONDS = 86_400.0
_ENDED_KEPT = 100

M = TypeVar("M", bound=BaseModel)


class Access(BaseModel, frozen=True):
    """The address and the token with which an agent sends commands. Keep the token out of Temporal's history."""

    url: str
    token: str


class _Asked(BaseModel, extra="forbid"):
    """Body of ``POST …/exec``; in seconds and bytes."""

    command: str = Field(min_length=1)
    cwd: str | None = None
    timeout: float = Field(default=_DEFAULT_SECONDS, gt=0, le=_MOST_SECONDS)
    background: bool = False
    output_cap: int = Field(default=100_000, gt=0, le=_OUTPUT_CAP)


class _Keys(BaseModel, extra="forbid"):
    """Body of ``POST …/tmux/keys``; the screen is read ``wait`` seconds later."""

    keys: list[str] = Field(min_length=1, max_length=1000)
    session: str = Field(default=tmux.SESSION, pattern=r"^[A-Za-z0-9_-]{1,64}$")
    literal: bool = False
    wait: float = Field(default=0.0, ge=0, le=600)


class _RefusedError(Exception):
    """A request that gets an error as answer: its status, and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class _Command:
    def __init__(self, asked: _Asked) -> None:
        self.id = secrets.token_hex(8)
        self.asked = asked
        self.output = CappedOutput(asked.output_cap)
        self.running: asyncio.Task[dict[str, Any]] | None = None
        self.ended: dict[str, Any] | None = None

    def as_reply(self) -> dict[str, Any]:
        if self.ended is not None:
            return {"id": self.id, "running": False, **self.ended}
        return {"id": self.id, "running": True, "output": self.output.text(), "dropped": self.output.dropped}


class _Trial:
    def __init__(self, environment: EnvironmentRef, recorder: Recorder) -> None:
        self.environment = environment
        self.recorder = recorder
        self.commands: OrderedDict[str, _Command] = OrderedDict()
        self.leaves_commands = False

    @property
    def under_way(self) -> int:
        return sum(command.ended is None for command in self.commands.values())


class CommandEndpoint:
    """The server of a worker; it listens from the first call of ``open`` on.

    Args:
        secret: the deployment's secret; tokens are derived from it.
        port: the port; 0 for a free one. With a fixed port, a restarted worker has the address that agents know.
        advertise: the address that agents get, such as that of a load balancer for several workers; None for the
            server's own address.
    """

    def __init__(
        self,
        engine: Engine,
        secret: str,
        recordings: Recordings,
        host: str = "127.0.0.1",
        port: int = 0,
        advertise: str | None = None,
    ) -> None:
        self._recordings = recordings
        self._engine = engine
        self._secret = secret
        self._host = host
        self._port = port
        self._advertised = advertise
        self._address: str | None = None
        self._server: InnerServer | None = None
        self._serving: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._trials: dict[str, _Trial] = {}
        self._closed: set[str] = set()
        self._unrecorded: set[str] = set()

    async def listen(self) -> None:
        """Listen at once, for agents that got the address from an earlier worker.

        Raises OSError (as ``open``).
        """
        await self._listening()

    async def open(self, environment: EnvironmentRef, *, record: bool = True) -> Access:
        """Let a trial's agent send commands; another call, here or on another worker, gives the same token.

        Raises OSError, with a sentence that says what to change, if the server can't listen at the port.
        """
        address = await self._listening()
        self._closed.discard(environment.trial)
        (self._unrecorded.discard if record else self._unrecorded.add)(environment.trial)
        self._find_trial(environment)
        return Access(
            url=f"{(self._advertised or address).rstrip('/')}/trials/{environment.container}",
            token=commands_key(self._secret, environment.trial),
        )

    async def close(self, trial: str, *, leave_commands: bool = False) -> None:
        """Refuse a trial's commands from now on. Running commands end, unless ``leave_commands`` is true.

        Other workers refuse the trial's commands when the environment is closed to its agent (``close_to_agent``).
        """
        self._closed.add(trial)
        known = self._trials.pop(trial, None)
        if known is None:
            return
        known.leaves_commands = leave_commands
        running = [command.running for command in known.commands.values() if command.running is not None]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        known.recorder.note("closed")

    async def aclose(self) -> None:
        """Stop listening, and end all running commands."""
        for trial in list(self._trials):
            await self.close(trial)
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            await self._serving
            self._server = self._serving = self._address = None

    async def _listening(self) -> str:
        async with self._starting:
            if self._address is None:
                listener = listen(self._host, self._port, "the command endpoint")
                self._address = get_address(listener)
                app = Starlette(
                    routes=[
                        Route("/trials/{container}", self._answering(self._describe), methods=["GET"]),
                        Route("/trials/{container}/exec", self._answering(self._execute), methods=["POST"]),
                        Route("/trials/{container}/exec/{id}", self._answering(self._look), methods=["GET"]),
                        Route("/trials/{container}/exec/{id}", self._answering(self._end), methods=["DELETE"]),
                        Route("/trials/{container}/tmux/keys", self._answering(self._type), methods=["POST"]),
                        Route("/trials/{container}/tmux/screen", self._answering(self._screen), methods=["GET"]),
                    ]
                )
                self._server = InnerServer(make_config(app))
                self._serving = asyncio.create_task(self._server.serve(sockets=[listener]))
            return self._address

    def _find_trial(self, environment: EnvironmentRef) -> _Trial:
        known = self._trials.get(environment.trial)
        if known is None or known.environment.container_id != environment.container_id:
            is_recording = environment.trial not in self._unrecorded
            recorder = self._recordings.of_agent(environment.trial, is_recording=is_recording)
            recorder.note("opened", container=environment.container)
            known = self._trials[environment.trial] = _Trial(environment, recorder)
        return known

    def _answering(
        self, handle: Callable[[Request, _Trial], Awaitable[dict[str, Any]]]
    ) -> Callable[[Request], Awaitable[JSONResponse]]:
        """Return a route's handler that admits requests with the token of an open trial, and answers errors."""

        async def answer(request: Request) -> JSONResponse:
            try:
                return JSONResponse(await handle(request, await self._admitted(request)))
            except _RefusedError as error:
                return JSONResponse({"error": str(error)}, error.status)
            except tmux.NoTmuxError as error:
                return JSONResponse({"error": str(error)}, 422)
            except EnvironmentLostError as error:
                return JSONResponse({"error": str(error)}, 409)
            except EngineUnavailableError as error:
                return JSONResponse({"error": str(error)}, 503)

        return answer

    async def _admitted(self, request: Request) -> _Trial:
        environment = await environments.recorded(self._engine, request.path_params["container"])
        shown = request.headers.get("authorization", "")
        wanted = f"Bearer {commands_key(self._secret, environment.trial if environment else '')}"
        # Callers without a token learn nothing, not even which trials exist.
        if not hmac.compare_digest(shown.encode(), wanted.encode()) or environment is None:
            raise _RefusedError(401, "Show the trial's token: Authorization: Bearer TOKEN")
        if environment.trial in self._closed or await environments.is_closed(self._engine, environment):
            raise _RefusedError(410, "This trial takes no commands any more: its agent's time is over")
        return self._find_trial(environment)

    async def _describe(self, request: Request, trial: _Trial) -> dict[str, Any]:
        at = f"/trials/{trial.environment.container}"
        return {
            "container": trial.environment.container,
            "workdir": trial.environment.workdir,
            "user": trial.environment.agent_user,
            "requests": {
                f"POST {at}/exec": {
                    "command": "run with bash -c (sh where there is no bash)",
                    "cwd": "the working directory where missing",
                    "timeout": f"seconds, {_DEFAULT_SECONDS:g} where missing; then the command is killed",
                    "background": "true: the answer comes at once, with an id to ask for",
                    "output_cap": "bytes of output that are kept: its beginning and its end",
                },
                f"GET {at}/exec/ID": "what a command has printed so far, and how it ended",
                f"DELETE {at}/exec/ID": "kill a command",
                f"POST {at}/tmux/keys": {
                    "keys": 'typed one after another, such as ["ls -l", "Enter"] or ["C-c"]',
                    "literal": "true: names of keys are typed as text",
                    "session": f"{tmux.SESSION} where missing",
                    "wait": "seconds before the screen is read, which is the answer",
                },
                f"GET {at}/tmux/screen": "what the terminal shows; ?whole=1 with all that it ever showed",
            },
        }

    async def _execute(self, request: Request, trial: _Trial) -> dict[str, Any]:
        asked = await _body(request, _Asked)
        if len(asked.command.encode()) > LONGEST_COMMAND:
            raise _RefusedError(413, f"The command is longer than {LONGEST_COMMAND:,} bytes: send it in pieces")
        if trial.under_way >= AT_ONCE:
            raise _RefusedError(429, f"{AT_ONCE} commands are under way: wait for one of them, or end one")
        command = _Command(asked)
        trial.commands[command.id] = command
        while len(trial.commands) > _ENDED_KEPT and next(iter(trial.commands.values())).ended is not None:
            trial.commands.popitem(last=False)
        command.running = asyncio.create_task(self._run(trial, command))
        if not asked.background:
            # A caller that hangs up doesn't end the command: its time limit does.
            await asyncio.shield(command.running)
        return command.as_reply()

    async def _run(self, trial: _Trial, command: _Command) -> dict[str, Any]:
        asked, recorder = command.asked, trial.recorder
        recorder.typed(asked.command)
        recorded = 0

        def take(data: bytes) -> None:
            nonlocal recorded
            command.output.add(data)
            if recorded < _RECORDED:
                recorder.printed(data[: _RECORDED - recorded])
                recorded += len(data)

        facts: dict[str, Any] = {"exit_code": None, "output": "", "dropped": 0}
        try:
            done = await execute(
                self._engine,
                trial.environment,
                asked.command,
                timeout=asked.timeout,
                cwd=asked.cwd,
                user=trial.environment.agent_user,
                output_cap=asked.output_cap,
                on_output=take,
                runs_on=lambda: trial.leaves_commands,
            )
            facts = {
                "exit_code": done.exit_code,
                "output": done.output,
                "dropped": done.dropped,
                "seconds": done.seconds,
                "timed_out": done.is_timed_out,
            }
        except asyncio.CancelledError:
            facts = {
                "exit_code": None,
                "output": command.output.text(),
                "dropped": command.output.dropped,
                "killed": not trial.leaves_commands,
            }
            raise
        finally:
            command.ended = facts
            recorder.note(
                "command", id=command.id, command=asked.command, cwd=asked.cwd, background=asked.background, **facts
            )
        return facts

    async def _look(self, request: Request, trial: _Trial) -> dict[str, Any]:
        return _find_command(request, trial).as_reply()

    async def _end(self, request: Request, trial: _Trial) -> dict[str, Any]:
        command = _find_command(request, trial)
        if command.running is not None:
            command.running.cancel()
            await asyncio.gather(command.running, return_exceptions=True)
        return command.as_reply()

    async def _type(self, request: Request, trial: _Trial) -> dict[str, Any]:
        asked = await _body(request, _Keys)
        await tmux.open_session(self._engine, trial.environment, asked.session)
        typed = await tmux.send_keys(
            self._engine, trial.environment, asked.keys, asked.session, is_literal=asked.literal
        )
        if typed.exit_code != 0:
            raise _RefusedError(422, f"tmux doesn't take these keys: {typed.output.strip()[:300]}")
        await asyncio.sleep(asked.wait)
        trial.recorder.note("keys", keys=asked.keys, session=asked.session, literal=asked.literal)
        return await self._capture(trial, asked.session, is_whole=False)

    async def _screen(self, request: Request, trial: _Trial) -> dict[str, Any]:
        try:
            session = _Keys(keys=[""], session=request.query_params.get("session", tmux.SESSION)).session
        except ValidationError as error:
            raise _RefusedError(422, f"Bad request: {describe(error)}") from None
        await tmux.open_session(self._engine, trial.environment, session)
        return await self._capture(trial, session, is_whole=request.query_params.get("whole") in ("1", "true"))

    async def _capture(self, trial: _Trial, session: str, *, is_whole: bool) -> dict[str, Any]:
        shown = await tmux.capture(self._engine, trial.environment, session, is_whole=is_whole)
        if not is_whole:
            trial.recorder.screen(shown.output)
        trial.recorder.note("screen", session=session, whole=is_whole, screen=shown.output[-100_000:])
        return {"session": session, "screen": shown.output}


def _find_command(request: Request, trial: _Trial) -> _Command:
    command = trial.commands.get(request.path_params["id"])
    if command is None:
        raise _RefusedError(404, "There is no such command here: its worker was started again, or it ended long ago")
    return command


async def _body(request: Request, model: type[M]) -> M:
    """Return a request's JSON, of limited size."""
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > _LARGEST_BODY:
            raise _RefusedError(413, f"The request has more than {_LARGEST_BODY:,} bytes: send less at once")
    try:
        return model.model_validate(json.loads(raw))
    except ValidationError as error:
        raise _RefusedError(422, f"Bad request: {describe(error)}") from None
    except ValueError as error:
        raise _RefusedError(422, f"The request isn't JSON ({error}): send an object") from None
