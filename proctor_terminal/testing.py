"""A task's tests: brought into a container when the agent is done, run, and read.

With ``separate`` they run in a fresh container (``fresh``): the task's image with what the agent changed laid over it.
Changes of what runs the tests stay behind (``agent_changes``). If the tests fail then, they run once more with all of
the agent's changes. If they pass only that way, the verdict stays a failure and is doubtful.

Some tests look for the agent's processes (``process_needs``). Where it left some, these tests run in its own container.
The programs that run the tests are restored from the image before. The outcome says so.

With ``same-container`` tests run as in the official harnesses: where the agent worked, with what it left. A verdict in
the agent's favour is doubtful if it changed what runs the tests.

In both cases:

- tests and solution come into a container only after the agent's commands are refused (``close_to_agent``);
- files where tests and verdicts go are removed before; the engine looks whether they are gone;
- test files that changed while the tests ran make the verdict doubtful;
- a summary without a test, and a reward out of its range, are not verdicts.
"""

import asyncio
import posixpath
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Literal

from pydantic import BaseModel, Field

from proctor_protocol.results import Doubt
from proctor_protocol.terminal import Blame, FailureMode, LeaveRunning, VerifierKind
from proctor_terminal import compose, environments, fresh, tmux
from proctor_terminal.agent_changes import Change, changes_of, held_back, read_texts, settings_in
from proctor_terminal.commands import Executed, execute, run_plainly
from proctor_terminal.copying import copy_in, copy_out, is_free
from proctor_terminal.engine import Engine
from proctor_terminal.failures import EnvironmentFailedError, EnvironmentLostError, LimitExceededError
from proctor_terminal.parsers import PARSERS, REWARD, REWARD_JSON, REWARD_TEXT, UnparsableError, read_rewards, reward_of
from proctor_terminal.process_needs import process_need, state_need
from proctor_terminal.quotas import QuotasReached, quotas_reached
from proctor_terminal.references import EnvironmentRef, Process
from proctor_terminal.task_model import TaskFormat, TerminalTask

TESTS = "/tests"
VERIFIER_LOGS = "/logs/verifier"
LOG_CAP = 4_000_000
"""Bytes of what tests print that are kept and read: the beginning, and the end, where verdicts stand."""

_COMPARED_AT_MOST = 50_000_000
"""Bytes of test files that are compared with the task's when the tests have run."""

_DOUBTS_AT_MOST = 20
_KILLED = 137
"""The exit code of a command that ended by SIGKILL."""

_LOG_IN_SHELL = f"{VERIFIER_LOGS}/proctor-tests.log"


class TestsOutcome(BaseModel, frozen=True):
    """The outcome of a trial's tests.

    Attributes:
        failure_mode: ``none``, ``test_timeout``, ``parse_error``, or ``unknown_agent_error`` where the image's command
            doesn't run with the agent's files.
        failure: the same as a sentence; None where nothing failed.
        blame: ``participant`` where the agent kept the tests from running; None where that isn't known.
        tests: each test by name; None where that can't be said.
        reward: 0 to 1; None where the tests gave no verdict.
        is_resolved: all tests passed, or the reward is 1; None where the tests gave no verdict.
        rewards: every number of the reward file, by name.
        log: what the tests printed, capped.
        seconds: how long they took.
        left_running: the processes that the agent left. They ran on beside the tests where these ran in its container.
        quotas: the limits of its container that the agent reached.
        verifier: where the tests ran.
        verifier_reason: why they ran in the agent's container although a fresh one was asked for.
        doubts: why the verdict may be another one than that of an untouched container.
    """

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
    quotas: QuotasReached = QuotasReached()
    verifier: VerifierKind = "same-container"
    verifier_reason: str | None = None
    doubts: tuple[Doubt, ...] = ()


async def run_tests(
    engine: Engine,
    task: TerminalTask,
    environment: EnvironmentRef,
    timeout: float | None = None,
    kept: LeaveRunning = "everything",
    verifier: VerifierKind = "separate",
    on_output: Callable[[bytes], None] | None = None,
) -> TestsOutcome:
    """Close the environment to its agent, run the tests and read what they say; repeating it does no harm.

    Args:
        engine: where the environment is.
        task: whose tests are run.
        environment: where the agent worked.
        timeout: seconds for the tests, in place of the task's own.
        kept: the agent's processes that continue to run, where tests run in its container.
        verifier: where the tests run.
        on_output: is given what the tests print, as it comes; where they are typed into a shell, when they have ended.

    Raises:
        EnvironmentLostError: the container is gone.
        LimitExceededError: the container was stopped over its storage.
        EngineUnavailableError: the engine doesn't answer.
    """
    seconds = timeout or task.test_timeout
    noted = await fresh.noted_leftovers(engine, environment)
    need = None
    if noted is None:
        quotas = await quotas_reached(engine, environment)
        leftovers = await environments.close_to_agent(engine, environment, task, kept)
        noted = fresh.Leftovers(processes=leftovers, quotas=quotas)
        if verifier == "separate":
            texts = await asyncio.to_thread(read_texts, task, environment.workdir)
            need = state_need(task, texts)
            if need is None and (leftovers or _has_services(environment)):
                need = process_need(task, texts)
            if need is None:
                await fresh.note_leftovers(engine, environment, noted)
    if verifier == "same-container":
        held = await _held(engine, task, environment, await changes_of(engine, environment))
        outcome = await _run_in(engine, task, environment, seconds, on_output)
        doubts = _doubts(held, "The tests ran where the agent had changed it.") if _rate(outcome) else ()
        outcome = outcome.model_copy(update={"doubts": (*doubts, *outcome.doubts)})
    elif need is not None:
        outcome = await _run_restored(engine, task, environment, seconds, on_output, need)
    else:
        outcome = await _run_fresh(engine, task, environment, seconds, on_output)
    outcome = outcome.model_copy(update={"left_running": noted.processes, "quotas": noted.quotas})
    return await _blamed(engine, task, environment, seconds, outcome)


async def _blamed(
    engine: Engine, task: TerminalTask, environment: EnvironmentRef, seconds: float, outcome: TestsOutcome
) -> TestsOutcome:
    """Say who is to blame where tests say nothing readable: the agent, if they do without its changes."""
    if outcome.failure_mode != FailureMode.PARSE_ERROR or outcome.blame is not None:
        return outcome
    try:
        place = await fresh.start(engine, task, environment, (), (), fresh.SECOND)
        control = await _run_in(engine, task, place, seconds, None)
    except (EnvironmentFailedError, EnvironmentLostError, LimitExceededError):
        return outcome
    finally:
        await fresh.remove(engine, environment, fresh.SECOND)
    if control.failure_mode != FailureMode.NONE:
        return outcome
    failure = f"{outcome.failure}. Without the agent's changes they can be read, so these changes are the cause"
    return outcome.model_copy(update={"blame": "participant", "failure": failure, "reward": 0.0, "is_resolved": False})


def _has_services(environment: EnvironmentRef) -> bool:
    """Whether the image's own command runs more than something that waits."""
    return any(each.command not in _WAITING for each in environment.own_processes)


_WAITING = frozenset(["sleep", "tail", "sh", "bash", "dash", "docker-init", "tini", "dumb-init", "catatonit"])


async def _held(
    engine: Engine, task: TerminalTask, environment: EnvironmentRef, changes: Sequence[Change]
) -> dict[str, str]:
    """The agent's changes that could move the verdict, by path, each with what it is of."""
    texts = await asyncio.to_thread(read_texts, task, environment.workdir)
    settings = await settings_in(engine, environment, changes)
    image = await fresh.image_commands(engine, environment)
    return await asyncio.to_thread(held_back, changes, texts, image, settings)


async def _run_fresh(
    engine: Engine,
    task: TerminalTask,
    environment: EnvironmentRef,
    seconds: float,
    on_output: Callable[[bytes], None] | None,
) -> TestsOutcome:
    """Run the tests in a fresh container; if they fail without a change that is held back, once more with it."""
    await fresh.stop(engine, environment)
    changes = await changes_of(engine, environment)
    held = await _held(engine, task, environment, changes)
    try:
        place = await fresh.start(engine, task, environment, changes, held)
    except EnvironmentFailedError as problem:
        return TestsOutcome(
            failure_mode=FailureMode.UNKNOWN_AGENT_ERROR,
            failure=str(problem),
            blame="participant",
            reward=0.0,
            is_resolved=False,
            verifier="separate",
        )
    outcome = await _run_in(engine, task, place, seconds, on_output)
    doubts: tuple[Doubt, ...] = ()
    if held and _rate(outcome) < 1:
        await fresh.stop(engine, place)
        with suppress(EnvironmentFailedError, EnvironmentLostError, LimitExceededError):
            try:
                other = await fresh.start(engine, task, environment, changes, (), fresh.SECOND)
                if _rate(await _run_in(engine, task, other, seconds, None)) > _rate(outcome):
                    doubts = _doubts(held, "The tests pass only with this change of the agent's.")
            finally:
                await fresh.remove(engine, environment, fresh.SECOND)
    return outcome.model_copy(update={"verifier": "separate", "doubts": (*doubts, *outcome.doubts)})


async def _run_restored(
    engine: Engine,
    task: TerminalTask,
    environment: EnvironmentRef,
    seconds: float,
    on_output: Callable[[bytes], None] | None,
    need: str,
) -> TestsOutcome:
    """Run the tests beside the agent's processes, when what runs the tests has been restored from the image."""
    held = await _held(engine, task, environment, await changes_of(engine, environment))
    await fresh.restore(engine, environment, held)
    outcome = await _run_in(engine, task, environment, seconds, on_output)
    doubts = _doubts(held, "It was restored from the image before the tests.") if held and _rate(outcome) < 1 else ()
    return outcome.model_copy(update={"verifier_reason": need, "doubts": (*doubts, *outcome.doubts)})


def _rate(outcome: TestsOutcome) -> float:
    return 1.0 if outcome.is_resolved else outcome.reward or 0.0


def _doubts(held: Mapping[str, str], reason: str) -> tuple[Doubt, ...]:
    doubts = [
        Doubt(item=path[:500], statement=f"The agent changed {what} ({path[:500]}).", reason=reason)
        for path, what in held.items()
    ]
    return tuple(doubts[:_DOUBTS_AT_MOST])


async def _run_in(
    engine: Engine,
    task: TerminalTask,
    environment: EnvironmentRef,
    seconds: float,
    on_output: Callable[[bytes], None] | None,
) -> TestsOutcome:
    """Copy the tests into a container that is closed to its agent, run them and read what they say."""
    hidden = await asyncio.to_thread(compose.hidden_files, task)
    if (obstacle := await _cleared(engine, environment, list(hidden))) is not None:
        return TestsOutcome(
            failure_mode=FailureMode.PARSE_ERROR,
            failure=obstacle,
            blame="participant",
            reward=0.0,
            is_resolved=False,
        )
    await _bring(engine, task, environment)
    for path, source in hidden.items():
        folder, name = posixpath.split(path)
        if source.is_dir():
            await copy_in(engine, environment, source, path)
        else:
            await copy_in(engine, environment, {name: await asyncio.to_thread(source.read_bytes)}, folder)
    ended = await _watched(engine, task, environment, seconds, on_output)
    outcome = _too_late(seconds) if ended.is_timed_out else await _read(engine, task, environment, ended)
    doubts = await _changed_tests(engine, task, environment) if _rate(outcome) else ()
    return outcome.model_copy(update={"log": ended.output, "seconds": ended.seconds, "doubts": doubts})


async def _changed_tests(engine: Engine, task: TerminalTask, environment: EnvironmentRef) -> tuple[Doubt, ...]:
    """A doubt where a test file is not as the task has it, after the tests."""
    files = await asyncio.to_thread(_test_files, task)
    size = sum(map(len, files.values()))
    if size > _COMPARED_AT_MOST:
        return ()
    there = await copy_out(engine, environment, TESTS, 2 * size + 10_000_000)
    changed = [name for name, content in files.items() if there.get(name) != content]
    return tuple(
        Doubt(
            item=f"{TESTS}/{name}",
            statement=f"The test file {TESTS}/{name} changed.",
            reason="It was another one when the tests had run.",
        )
        for name in changed[:_DOUBTS_AT_MOST]
    )


def _test_files(task: TerminalTask) -> dict[str, bytes]:
    files = {task.test_script.name: task.test_script.read_bytes()}
    if task.tests is not None:
        for path in task.tests.rglob("*"):
            if path.is_file() and not path.is_symlink():
                files[path.relative_to(task.tests).as_posix()] = path.read_bytes()
    return files


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
        # What was killed may have been so with its container, which the engine notices a little later.
        for wait in (0.0, *([0.2] * 5 if ended.exit_code == _KILLED else [])):
            await asyncio.sleep(wait)
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
        return await tmux.run_logged(
            engine, environment, f"TEST_DIR={TESTS} {command}", _LOG_IN_SHELL, seconds, LOG_CAP
        )
    except tmux.NoTmuxError as problem:
        return Executed(exit_code=127, output=str(problem))


def _too_late(seconds: float) -> TestsOutcome:
    return TestsOutcome(
        failure_mode=FailureMode.TEST_TIMEOUT,
        failure=f"The tests were still at work after {seconds:g} s and were stopped",
    )


async def _read(engine: Engine, task: TerminalTask, environment: EnvironmentRef, ended: Executed) -> TestsOutcome:
    try:
        if task.parser == REWARD:
            rewards = read_rewards(
                await copy_out(engine, environment, f"{VERIFIER_LOGS}/{REWARD_JSON}", 1_000_000)
                | await copy_out(engine, environment, f"{VERIFIER_LOGS}/{REWARD_TEXT}", 1_000_000)
            )
            reward = reward_of(rewards)
            return TestsOutcome(reward=reward, is_resolved=reward >= 1, rewards=rewards)
        tests = PARSERS[task.parser](ended.output)
    except UnparsableError as problem:
        return TestsOutcome(failure_mode=FailureMode.PARSE_ERROR, failure=str(problem))
    is_resolved = all(status == "passed" for status in tests.values())
    return TestsOutcome(tests=tests, reward=float(is_resolved), is_resolved=is_resolved)
