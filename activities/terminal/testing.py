"""A task's tests: brought into the container when the agent is done, run, and read.

What keeps an agent from moving its verdict without doing the work:

- tests and solution come into the container only after the agent's commands are refused (``close_to_agent``);
- the processes that it left run on, or are killed before the tests come (``LeaveRunning``);
- a folder ``/tests`` that it made is removed with all that is in it, and so are reward files; that they are gone is
  looked up through the engine, since in the container the agent may have replaced any command;
- a summary that names no test, and a reward out of its range, is no verdict.

What the formats leave open: tests run in the container that the agent worked in as root, with its ``bash``, ``python3``
and ``pytest``. An agent that replaces those, or leaves a service that meddles, can say what it likes. What it left
running is part of the outcome, so that it can be seen.
"""

import asyncio
import posixpath
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from activities.terminal import compose, environments, tmux
from activities.terminal.commands import Executed, execute, run_plainly
from activities.terminal.copying import copy_in, copy_out, is_free
from activities.terminal.engine import Engine
from activities.terminal.failures import EnvironmentLostError, LimitExceededError
from activities.terminal.parsers import PARSERS, REWARD, UnparsableError, reward_files
from activities.terminal.references import EnvironmentRef, Process
from activities.terminal.task_model import TaskFormat, TerminalTask
from proctor_protocol.terminal import Blame, FailureMode, LeaveRunning

TESTS = "/tests"
VERIFIER_LOGS = "/logs/verifier"
LOG_CAP = 4_000_000
"""Bytes of what tests print that are kept and read: the beginning, and the end, where verdicts stand."""

_LOG_IN_SHELL = f"{VERIFIER_LOGS}/proctor-tests.log"


class TestsOutcome(BaseModel):
    """What the tests said.

    Attributes:
        failure_mode: ``none``, ``test_timeout`` or ``parse_error``.
        failure: the same as a sentence; None where nothing failed.
        blame: ``participant`` where the agent kept the tests from running; None where that isn't known.
        tests: each test by name; None where that can't be said.
        reward: 0 to 1; None where the tests gave no verdict.
        is_resolved: all tests passed, or the reward is 1; None where the tests gave no verdict.
        rewards: every number of the reward file, by name.
        log: what the tests printed, capped.
        seconds: how long they took.
        left_running: the processes of the agent that ran on beside the tests.
    """

    model_config = ConfigDict(frozen=True)

    failure_mode: FailureMode = FailureMode.NONE
    failure: str | None = None
    blame: Blame | None = None
    tests: Mapping[str, Literal["passed", "failed"]] | None = None
    reward: float | None = None
    is_resolved: bool | None = None
    rewards: Mapping[str, float] = Field(default_factory=dict)
    log: str = ""
    seconds: float = 0.0
    left_running: tuple[Process, ...] = ()


async def run_tests(
    engine: Engine,
    task: TerminalTask,
    environment: EnvironmentRef,
    timeout: float | None = None,
    kept: LeaveRunning = "everything",
    on_output: Callable[[bytes], None] | None = None,
) -> TestsOutcome:
    """Close the environment to its agent, copy the tests in, run them and read what they say.

    Args:
        engine: where the environment is.
        task: whose tests are run.
        environment: where the agent worked.
        timeout: seconds for the tests, in place of the task's own.
        kept: what the agent left that goes on running.
        on_output: is given what the tests print, as it comes; where they are typed into a shell, when they have ended.

    Raises:
        EnvironmentLostError: the container stands no more.
        LimitExceededError: the container was stopped over its storage.
        EngineUnavailableError: the engine doesn't answer.
    """
    seconds = timeout or task.test_timeout
    left = await environments.close_to_agent(engine, environment, task, kept)
    hidden = await asyncio.to_thread(compose.hidden_files, task)
    if (obstacle := await _cleared(engine, environment, list(hidden))) is not None:
        return TestsOutcome(
            failure_mode=FailureMode.PARSE_ERROR,
            failure=obstacle,
            blame="participant",
            reward=0.0,
            is_resolved=False,
            left_running=left,
        )
    await _bring(engine, task, environment)
    for path, source in hidden.items():
        folder, name = posixpath.split(path)
        if source.is_dir():
            await copy_in(engine, environment, source, path)
        else:
            await copy_in(engine, environment, {name: await asyncio.to_thread(source.read_bytes)}, folder)
    ended = await _watched(engine, task, environment, seconds, on_output)
    found = _too_late(seconds) if ended.is_timed_out else await _read(engine, task, environment, ended)
    return found.model_copy(update={"log": ended.output, "seconds": ended.seconds, "left_running": left})


async def _cleared(engine: Engine, environment: EnvironmentRef, hidden: Sequence[str]) -> str | None:
    """Remove what may stand where tests and verdicts go; a sentence where something withstands."""
    folders = [VERIFIER_LOGS, *([] if environment.had_tests else [TESTS]), *hidden]
    if not await _occupied(engine, environment, folders):
        return None
    script = f"rm -rf {shlex.join(folders)}; mkdir -p {VERIFIER_LOGS}; chmod 777 {VERIFIER_LOGS}"
    await run_plainly(engine, environment, ["/bin/sh", "-c", script])
    if still := await _occupied(engine, environment, folders):
        return (
            f"{still[0]} could not be cleared before the tests: a process that the agent left writes there, or rm was "
            "replaced"
        )
    return None


async def _occupied(engine: Engine, environment: EnvironmentRef, folders: Sequence[str]) -> list[str]:
    """Those that are neither missing nor an empty folder."""
    free = await asyncio.gather(*(is_free(engine, environment, folder) for folder in folders))
    return [folder for folder, is_so in zip(folders, free, strict=True) if not is_so]


async def _bring(engine: Engine, task: TerminalTask, environment: EnvironmentRef) -> None:
    sources = [task.tests] if task.tests is not None else []
    if task.format == TaskFormat.ONE:
        sources.append(task.test_script)
    await copy_in(engine, environment, sources, TESTS)


async def _watched(
    engine: Engine,
    task: TerminalTask,
    environment: EnvironmentRef,
    seconds: float,
    on_output: Callable[[bytes], None] | None,
) -> Executed:
    """Run the tests while somebody looks after the container's size."""
    testing = asyncio.create_task(_run(engine, task, environment, seconds, on_output))
    watching = asyncio.create_task(environments.watch(engine, environment, task))
    try:
        await asyncio.wait({testing, watching}, return_when=asyncio.FIRST_COMPLETED)
        if watching.done() and isinstance(problem := watching.exception(), LimitExceededError):
            raise problem
        try:
            ended = await testing
        except EnvironmentLostError:
            await environments.look(engine, environment, task)  # says why, if it was stopped over its storage
            raise
        await environments.look(engine, environment, task)
        return ended
    finally:
        for each in (testing, watching):
            each.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await each


async def _run(
    engine: Engine,
    task: TerminalTask,
    environment: EnvironmentRef,
    seconds: float,
    on_output: Callable[[bytes], None] | None,
) -> Executed:
    if task.format == TaskFormat.TWO:
        command, variables = f"{TESTS}/{task.test_script.name}", {"DEBIAN_FRONTEND": "noninteractive"}
    else:
        command, variables = f"bash {TESTS}/{task.test_script.name}", {"TEST_DIR": TESTS}
        if task.run_tests_in_same_shell:
            ended = await _run_in_shell(engine, environment, command, seconds)
            if on_output is not None:
                on_output(ended.output.encode())
            return ended
    return await execute(
        engine,
        environment,
        command,
        timeout=seconds,
        user=task.test_user,
        variables=variables | dict(task.test_environment),
        output_cap=LOG_CAP,
        on_output=on_output,
    )


async def _run_in_shell(engine: Engine, environment: EnvironmentRef, command: str, seconds: float) -> Executed:
    """Type the tests into the shell that the agent worked in, or a new one where it had none."""
    try:
        await tmux.open_session(engine, environment)
    except tmux.NoTmuxError as problem:
        return Executed(exit_code=127, output=str(problem))
    is_done = await tmux.run_in(engine, environment, f"TEST_DIR={TESTS} {command} > {_LOG_IN_SHELL} 2>&1", seconds)
    log = (await copy_out(engine, environment, _LOG_IN_SHELL, LOG_CAP)).get(_LOG_IN_SHELL.rpartition("/")[2], b"")
    return Executed(exit_code=0 if is_done else None, output=log.decode(errors="replace"), is_timed_out=not is_done)


def _too_late(seconds: float) -> TestsOutcome:
    return TestsOutcome(
        failure_mode=FailureMode.TEST_TIMEOUT,
        failure=f"The tests were still at work after {seconds:g} s and were stopped",
    )


async def _read(engine: Engine, task: TerminalTask, environment: EnvironmentRef, ended: Executed) -> TestsOutcome:
    try:
        if task.parser == REWARD:
            rewards = reward_files.parse(
                await copy_out(engine, environment, f"{VERIFIER_LOGS}/{reward_files.JSON}", 1_000_000)
                | await copy_out(engine, environment, f"{VERIFIER_LOGS}/{reward_files.TEXT}", 1_000_000)
            )
            reward = reward_files.reward_of(rewards)
            return TestsOutcome(reward=reward, is_resolved=reward >= 1, rewards=rewards)
        tests = PARSERS[task.parser](ended.output)
    except UnparsableError as problem:
        return TestsOutcome(failure_mode=FailureMode.PARSE_ERROR, failure=str(problem))
    is_resolved = all(status == "passed" for status in tests.values())
    return TestsOutcome(tests=tests, reward=float(is_resolved), is_resolved=is_resolved)
