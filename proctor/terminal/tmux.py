"""Use a tmux session, which is a terminal in a container that outlives single commands."""

import asyncio
import secrets
import shlex
import time
from collections.abc import Sequence

from proctor.terminal.commands import Executed, execute
from proctor.terminal.copying import copy_out
from proctor.terminal.engine import Engine
from proctor.terminal.references import EnvironmentRef

SESSION = "agent"
"""The session in which an agent works, if it uses tmux."""

COLUMNS, LINES = 160, 40


class NoTmuxError(Exception):
    """The image has no tmux."""


async def open_session(engine: Engine, environment: EnvironmentRef, session: str = SESSION) -> None:
    """Open a session; an existing one is left as it is.

    Raises:
        NoTmuxError: the image has no tmux, or it doesn't start.
        EnvironmentLostError: the container is gone.
    """
    name = shlex.quote(session)
    done = await _tmux(
        engine,
        environment,
        f"tmux has-session -t ={name} 2>/dev/null || tmux new-session -d -x {COLUMNS} -y {LINES} -s {name} "
        f"\\; set-option -t {name} history-limit 50000",
    )
    if done.exit_code != 0:
        raise NoTmuxError(
            f"There is no tmux in this container ({' '.join(done.output.split())[:200]}): use plain commands instead"
        )


async def send_keys(
    engine: Engine,
    environment: EnvironmentRef,
    keys: Sequence[str],
    session: str = SESSION,
    *,
    is_literal: bool = False,
) -> Executed:
    """Type keys: text, or names such as ``Enter`` and ``C-c``, by tmux's own rules; with ``is_literal`` only text.

    Raises EnvironmentLostError (the container is gone).
    """
    flag = "-l " if is_literal else ""
    return await _tmux(
        engine, environment, f"tmux send-keys {flag}-t {shlex.quote(session)} -- {' '.join(map(shlex.quote, keys))}"
    )


async def capture(
    engine: Engine, environment: EnvironmentRef, session: str = SESSION, *, is_whole: bool = False
) -> Executed:
    """Return the screen's content, or the whole history."""
    return await _tmux(
        engine, environment, f"tmux capture-pane -p -J {'-S - ' if is_whole else ''}-t {shlex.quote(session)}"
    )


async def type_command(engine: Engine, environment: EnvironmentRef, command: str, timeout: float) -> bool:
    """Type a command into the session's shell and wait for its end; False if it took over ``timeout`` seconds.

    Raises EnvironmentLostError (the container is gone).
    """
    channel = f"proctor-{secrets.token_hex(8)}"
    await send_keys(engine, environment, [f"{command}; tmux wait -S {channel}", "Enter"])
    waited = await _tmux(engine, environment, f"tmux wait {channel}", timeout)
    return not waited.is_timed_out


async def run_logged(
    engine: Engine, environment: EnvironmentRef, command: str, log: str, seconds: float, output_cap: int = 10_000_000
) -> Executed:
    """Run ``type_command`` in the agent's session, with the output in a file; open the session if there is none.

    Raises:
        NoTmuxError: the image has no tmux, or it doesn't start.
        EnvironmentLostError: the container is gone.
    """
    await open_session(engine, environment)
    began = time.monotonic()
    is_done = await type_command(engine, environment, f"{command} > {log} 2>&1", seconds)
    content = (await copy_out(engine, environment, log, output_cap)).get(log.rpartition("/")[2], b"")
    return Executed(
        exit_code=0 if is_done else None,
        output=content.decode(errors="replace"),
        seconds=round(time.monotonic() - began, 3),
        is_timed_out=not is_done,
    )


async def type_commands(
    engine: Engine,
    environment: EnvironmentRef,
    command: str,
    *,
    is_entered: bool,
    is_awaited: bool,
    at_least: float,
    at_most: float,
) -> bool:
    """Play a step of a ``solution.yaml``. Returns False if it took too long.

    Args:
        at_least: seconds to wait if the end isn't awaited.
        at_most: seconds to wait in any case.

    Raises:
        EnvironmentLostError: the container is gone.
    """
    if is_awaited and is_entered:
        return await type_command(engine, environment, command, at_most)
    await send_keys(engine, environment, [command, *(["Enter"] if is_entered else [])])
    await asyncio.sleep(min(at_least, at_most))
    return True


async def _tmux(engine: Engine, environment: EnvironmentRef, command: str, timeout: float | None = 30.0) -> Executed:
    return await execute(
        engine,
        environment,
        command,
        timeout=timeout,
        user=environment.agent_user,
        variables={"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"},
        output_cap=5_000_000,
    )
