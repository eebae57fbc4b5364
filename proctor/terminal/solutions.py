"""Run a task's own solution in its container, to check tasks and the evaluator."""

import time
from collections.abc import Callable

from proctor.terminal import tmux
from proctor.terminal.commands import Executed, execute
from proctor.terminal.copying import copy_into
from proctor.terminal.engine import Engine
from proctor.terminal.failures import SolutionFailedError
from proctor.terminal.references import EnvironmentRef
from proctor.terminal.task_model import TerminalTask

_LOG = "/tmp/proctor-solution.log"


async def play_solution(
    engine: Engine,
    task: TerminalTask,
    environment: EnvironmentRef,
    timeout: float | None = None,
    on_output: Callable[[bytes], None] | None = None,
) -> Executed:
    """Copy a task's solution in and run it; ``is_timed_out`` says that it exceeded its time limit.

    Args:
        timeout: seconds, in place of the task's limit for agents.
        on_output: called with the output as it comes; if the solution is typed into a terminal, at its end.

    Raises:
        SolutionFailedError: the task has none, or it needs tmux and the image has none.
        EnvironmentLostError: the container is gone.
    """
    seconds = timeout or task.agent_timeout
    solution = task.solution
    if solution is None:
        raise SolutionFailedError(
            f"{task.id} has no solution to play: add solution.sh (format one) or solution/solve.sh"
        )
    try:
        if solution.script is None:
            return _show(await _typed(engine, task, environment, seconds), on_output)
        # Both formats run it as the container's user, in the working directory.
        folder = "/solution" if solution.folder else "/oracle"
        await copy_into(engine, environment, solution.folder or solution.script, folder)
        command = f"bash {folder}/{solution.script.name}"
        if task.run_tests_in_same_shell:
            return _show(await tmux.run_logged(engine, environment, command, _LOG, seconds), on_output)
    except tmux.NoTmuxError as error:
        raise SolutionFailedError(f"The solution of {task.id} can't be played: {error}") from error
    return await execute(
        engine,
        environment,
        command,
        timeout=seconds,
        user=task.agent_user,
        variables={"DEBIAN_FRONTEND": "noninteractive", **solution.environment},
        on_output=on_output,
    )


def _show(played: Executed, on_output: Callable[[bytes], None] | None) -> Executed:
    if on_output is not None:
        on_output(played.output.encode())
    return played


async def _typed(engine: Engine, task: TerminalTask, environment: EnvironmentRef, seconds: float) -> Executed:
    await tmux.open_session(engine, environment)
    began = time.monotonic()
    is_late = False
    for step in task.solution.commands if task.solution else ():
        remaining = seconds - (time.monotonic() - began)
        is_done = remaining > 0 and await tmux.type_commands(
            engine,
            environment,
            step.command,
            is_entered=step.append_enter,
            is_awaited=step.block,
            at_least=step.min_timeout_sec,
            at_most=min(step.max_timeout_sec, remaining),
        )
        is_late = time.monotonic() - began > seconds or remaining <= 0
        if is_late or not is_done:
            is_late = is_late or not is_done
            break
    shown = await tmux.capture(engine, environment, is_whole=True)
    return Executed(
        exit_code=None if is_late else 0,
        output=shown.output,
        seconds=round(time.monotonic() - began, 3),
        is_timed_out=is_late,
    )
