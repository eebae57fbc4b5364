"""Run a task's tests when the agent is done: copy them into a container, run them, and read their output.

With ``separate``, the tests run in a fresh container (``fresh``), made from the task's image and the agent's changes.
Changes of the programs that run the tests are left out (``agent_changes``). If the tests fail without such changes,
they run once more with all changes. If they pass only then, the verdict stays a failure and is doubtful.

Some tests look for the agent's processes (``process_needs``). If the agent left processes, these tests run in the
agent's container, after the programs that run the tests have been restored from the image. The outcome says so.

With ``same-container``, tests run as in the official harnesses: in the agent's container, with everything that the
agent left. A verdict in the agent's favour is doubtful if the agent changed the programs that run the tests.

In both cases:

- tests and solution are copied into a container only after the agent's commands are refused (``close_to_agent``);
- files at the paths of tests and verdicts are removed before, and the engine checks that they are gone;
- test files that changed while the tests ran make the verdict doubtful;
- a summary without a test, and a reward out of its range, are not verdicts.
"""

import asyncio
import posixpath
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, Field

from proctor.terminal import compose, environments, fresh, tmux
from proctor.terminal.agent_changes import Change, held_back, list_changes, read_settings_files, read_texts
from proctor.terminal.commands import Executed, execute, run_plainly
from proctor.terminal.copying import copy_into, copy_out, is_free
from proctor.terminal.engine import Engine
from proctor.terminal.failures import EnvironmentFailedError, EnvironmentLostError, LimitExceededError
from proctor.terminal.parsers import (
    PARSERS,
    REWARD,
    REWARD_JSON,
    REWARD_TEXT,
    UnparsableError,
    compute_reward,
    read_rewards,
)
from proctor.terminal.process_needs import process_need, state_need
from proctor.terminal.quotas import QuotasReached, quotas_reached
from proctor.terminal.references import EnvironmentRef, Process
from proctor.terminal.task_model import TaskFormat, TerminalTask
from purple_sdk.processes.together import do_all
from purple_sdk.protocol.results import Doubt
from purple_sdk.protocol.terminal import Blame, FailureMode, LeaveRunning, VerifierKind

TESTS = "/tests"
VERIFIER_LOGS = "/logs/verifier"
LOG_CAP = 4_000_000
"""Bytes of test output that are kept and read: the beginning, and the end, which has the verdicts."""

_COMPARED_AT_MOST = 50_000_000
"""Bytes of test files that are compared with the task's after the tests."""

_DOUBTS_AT_MOST = 20
_KILLED = 137
"""The exit code of a command that ended by SIGKILL."""

_LOG_IN_SHELL = f"{VERIFIER_LOGS}/proctor-tests.log"


class TestsOutcome(BaseModel, frozen=True):
    """The outcome of a trial's tests.

    Attributes:
        failure_mode: ``none``, ``test_timeout``, ``parse_error``, or ``unknown_agent_error`` if the image's command
            doesn't run with the agent's files.
        failure: the same as a sentence; None if nothing failed.
        blame: ``participant`` if the agent kept the tests from running; None if that isn't known.
        tests: each test by name; None if the output doesn't tell.
        reward: 0 to 1; None if the tests gave no verdict.
        is_resolved: all tests passed, or the reward is 1; None if the tests gave no verdict.
        rewards: every number of the reward file, by name.
        log: the tests' output, shortened.
        left_running: the processes that the agent left. They ran beside tests in the agent's container.
        verifier_reason: the reason why tests ran in the agent's container although a fresh one was asked for.
        doubts: reasons why an untouched container might have given another verdict.
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
    """Close the environment to its agent, run the tests and read their output; repeating it does no harm.

    Args:
        timeout: seconds for the tests, in place of the task's own.
        kept: the agent's processes that keep running, if tests run in its container.
        on_output: called with the tests' output as it comes; if they are typed into a shell, at their end.

    Raises:
        EnvironmentLostError: the container is gone.
        LimitExceededError: the container was stopped over its storage.
        EngineUnavailableError: the engine doesn't answer.
    """
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
    tests = _Tests(engine, task, environment, timeout or task.test_timeout, on_output)
    if verifier == "same-container":
        outcome = await tests.run_beside_agent()
    elif need is not None:
        outcome = await tests.run_restored(need)
    else:
        outcome = await tests.run_fresh()
    outcome = outcome.model_copy(update={"left_running": noted.processes, "quotas": noted.quotas})
    return await tests.blamed(outcome)


def _has_services(environment: EnvironmentRef) -> bool:
    """Whether the image's own command does more than wait."""
    return any(process.command not in _WAITING for process in environment.own_processes)


_WAITING = frozenset(["sleep", "tail", "sh", "bash", "dash", "docker-init", "tini", "dumb-init", "catatonit"])


def _rate(outcome: TestsOutcome) -> float:
    return 1.0 if outcome.is_resolved else outcome.reward or 0.0


def _doubts(held: Mapping[str, str], reason: str) -> tuple[Doubt, ...]:
    doubts = [
        Doubt(item=path[:500], statement=f"The agent changed {what} ({path[:500]}).", reason=reason)
        for path, what in held.items()
    ]
    return tuple(doubts[:_DOUBTS_AT_MOST])


def _failed_by_agent(mode: FailureMode, failure: str) -> TestsOutcome:
    return TestsOutcome(failure_mode=mode, failure=failure, blame="participant", reward=0.0, is_resolved=False)


def _test_files(task: TerminalTask) -> dict[str, bytes]:
    files = {task.test_script.name: task.test_script.read_bytes()}
    if task.tests is not None:
        for path in task.tests.rglob("*"):
            if path.is_file() and not path.is_symlink():
                files[path.relative_to(task.tests).as_posix()] = path.read_bytes()
    return files


@dataclass(frozen=True)
class _Tests:
    """A task's tests for an agent that worked in an environment; ``seconds`` is their time limit."""

    engine: Engine
    task: TerminalTask
    environment: EnvironmentRef
    seconds: float
    on_output: Callable[[bytes], None] | None

    async def run_beside_agent(self) -> TestsOutcome:
        held = await self._find_held_changes(await list_changes(self.engine, self.environment))
        outcome = await self._run_tests(self.environment)
        doubts = _doubts(held, "The tests ran where the agent had changed it.") if _rate(outcome) else ()
        return outcome.model_copy(update={"doubts": (*doubts, *outcome.doubts)})

    async def run_fresh(self) -> TestsOutcome:
        """Run the tests in a fresh container. If they fail without held-back changes, rerun them with these."""
        await fresh.stop(self.engine, self.environment)
        changes = await list_changes(self.engine, self.environment)
        held = await self._find_held_changes(changes)
        try:
            place = await fresh.start(self.engine, self.task, self.environment, changes, held)
        except EnvironmentFailedError as error:
            outcome = _failed_by_agent(FailureMode.UNKNOWN_AGENT_ERROR, str(error))
            return outcome.model_copy(update={"verifier": "separate"})
        outcome = await self._run_tests(place)
        doubts: tuple[Doubt, ...] = ()
        if held and _rate(outcome) < 1:
            await fresh.stop(self.engine, place)
            second = await self._run_second(changes)
            if second is not None and _rate(second) > _rate(outcome):
                doubts = _doubts(held, "The tests pass only with this change of the agent's.")
        return outcome.model_copy(update={"verifier": "separate", "doubts": (*doubts, *outcome.doubts)})

    async def run_restored(self, need: str) -> TestsOutcome:
        """Restore the programs that run the tests from the image, and run the tests beside the agent's processes."""
        held = await self._find_held_changes(await list_changes(self.engine, self.environment))
        await fresh.restore(self.engine, self.environment, held)
        outcome = await self._run_tests(self.environment)
        is_doubtful = held and _rate(outcome) < 1
        doubts = _doubts(held, "It was restored from the image before the tests.") if is_doubtful else ()
        return outcome.model_copy(update={"verifier_reason": need, "doubts": (*doubts, *outcome.doubts)})

    async def blamed(self, outcome: TestsOutcome) -> TestsOutcome:
        """Blame the agent for unreadable test output, if the output is readable without the agent's changes."""
        if outcome.failure_mode != FailureMode.PARSE_ERROR or outcome.blame is not None:
            return outcome
        control = await self._run_second(())
        if control is None or control.failure_mode != FailureMode.NONE:
            return outcome
        failure = f"{outcome.failure}. Without the agent's changes they can be read, so these changes are the cause"
        update = {"blame": "participant", "failure": failure, "reward": 0.0, "is_resolved": False}
        return outcome.model_copy(update=update)

    async def _run_second(self, changes: Sequence[Change]) -> TestsOutcome | None:
        """Run the tests in a second fresh container, with all of these changes; None if that fails."""
        try:
            place = await fresh.start(self.engine, self.task, self.environment, changes, (), fresh.SECOND)
            return await replace(self, on_output=None)._run_tests(place)
        except (EnvironmentFailedError, EnvironmentLostError, LimitExceededError):
            return None
        finally:
            await fresh.remove(self.engine, self.environment, fresh.SECOND)

    async def _find_held_changes(self, changes: Sequence[Change]) -> dict[str, str]:
        """Return the paths of the agent's changes that could change the verdict, with the things that they affect."""
        texts = await asyncio.to_thread(read_texts, self.task, self.environment.workdir)
        settings = await read_settings_files(self.engine, self.environment, changes)
        image = await fresh.image_commands(self.engine, self.environment)
        return await asyncio.to_thread(held_back, changes, texts, image, settings)

    async def _run_tests(self, place: EnvironmentRef) -> TestsOutcome:
        """Copy the tests into a container that is closed to its agent, run them and read their output."""
        hidden = await asyncio.to_thread(compose.hidden_files, self.task)
        if (obstacle := await self._cleared(place, list(hidden))) is not None:
            return _failed_by_agent(FailureMode.PARSE_ERROR, obstacle)
        sources = [self.task.tests] if self.task.tests is not None else []
        if self.task.format == TaskFormat.ONE:
            sources.append(self.task.test_script)
        await copy_into(self.engine, place, sources, TESTS)
        for path, source in hidden.items():
            folder, name = posixpath.split(path)
            if source.is_dir():
                await copy_into(self.engine, place, source, path)
            else:
                await copy_into(self.engine, place, {name: await asyncio.to_thread(source.read_bytes)}, folder)
        ended = await self._watched(place)
        outcome = self._too_late() if ended.is_timed_out else await self._read_outcome(place, ended)
        doubts = await self._changed_tests(place) if _rate(outcome) else ()
        return outcome.model_copy(update={"log": ended.output, "seconds": ended.seconds, "doubts": doubts})

    async def _changed_tests(self, place: EnvironmentRef) -> tuple[Doubt, ...]:
        """Return a doubt if a test file differs from the task's after the tests."""
        files = await asyncio.to_thread(_test_files, self.task)
        size = sum(map(len, files.values()))
        if size > _COMPARED_AT_MOST:
            return ()
        there = await copy_out(self.engine, place, TESTS, 2 * size + 10_000_000)
        changed = [name for name, content in files.items() if there.get(name) != content]
        return tuple(
            Doubt(
                item=f"{TESTS}/{name}",
                statement=f"The test file {TESTS}/{name} changed.",
                reason="It was another one when the tests had run.",
            )
            for name in changed[:_DOUBTS_AT_MOST]
        )

    async def _cleared(self, place: EnvironmentRef, hidden: Sequence[str]) -> str | None:
        """Remove files at the places of tests and verdicts; return a sentence if something can't be removed."""
        folders = [VERIFIER_LOGS, *([] if place.had_tests else [TESTS]), *hidden]
        if not await self._occupied(place, folders):
            return None
        script = f"rm -rf {shlex.join(folders)}; mkdir -p {VERIFIER_LOGS}; chmod 777 {VERIFIER_LOGS}"
        await run_plainly(self.engine, place, ["/bin/sh", "-c", script])
        if still := await self._occupied(place, folders):
            return (
                f"{still[0]} could not be cleared before the tests: a process that the agent left writes there, or rm "
                "was replaced"
            )
        return None

    async def _occupied(self, place: EnvironmentRef, folders: Sequence[str]) -> list[str]:
        """Return the folders that are neither missing nor empty."""
        free = await do_all(*(is_free(self.engine, place, folder) for folder in folders))
        return [folder for folder, is_so in zip(folders, free, strict=True) if not is_so]

    async def _watched(self, place: EnvironmentRef) -> Executed:
        """Run the tests while another task watches the container's size."""
        testing = asyncio.create_task(self._run(place))
        watching = asyncio.create_task(environments.watch(self.engine, place, self.task))
        try:
            await asyncio.wait({testing, watching}, return_when=asyncio.FIRST_COMPLETED)
            if watching.done() and isinstance(problem := watching.exception(), LimitExceededError):
                raise problem
            try:
                ended = await testing
            except EnvironmentLostError:
                # Raises with the reason, if it was stopped over its storage.
                await environments.look(self.engine, place, self.task)
                raise
            # A killed process may have died with its container, which the engine notices a little later.
            for wait in (0.0, *([0.2] * 5 if ended.exit_code == _KILLED else [])):
                await asyncio.sleep(wait)
                await environments.look(self.engine, place, self.task)
            return ended
        finally:
            for task in (testing, watching):
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task

    async def _run(self, place: EnvironmentRef) -> Executed:
        if self.task.format == TaskFormat.TWO:
            command, variables = f"{TESTS}/{self.task.test_script.name}", {"DEBIAN_FRONTEND": "noninteractive"}
        else:
            command, variables = f"bash {TESTS}/{self.task.test_script.name}", {"TEST_DIR": TESTS}
            if self.task.run_tests_in_same_shell:
                ended = await self._run_in_shell(place, command)
                if self.on_output is not None:
                    self.on_output(ended.output.encode())
                return ended
        return await execute(
            self.engine,
            place,
            command,
            timeout=self.seconds,
            user=self.task.test_user,
            variables=variables | dict(self.task.test_environment),
            output_cap=LOG_CAP,
            on_output=self.on_output,
        )

    async def _run_in_shell(self, place: EnvironmentRef, command: str) -> Executed:
        """Type the tests into the agent's shell, or into a new one if there was none."""
        typed = f"TEST_DIR={TESTS} {command}"
        try:
            return await tmux.run_logged(self.engine, place, typed, _LOG_IN_SHELL, self.seconds, LOG_CAP)
        except tmux.NoTmuxError as error:
            return Executed(exit_code=127, output=str(error))

    def _too_late(self) -> TestsOutcome:
        failure = f"The tests were still at work after {self.seconds:g} s and were stopped"
        return TestsOutcome(failure_mode=FailureMode.TEST_TIMEOUT, failure=failure)

    async def _read_outcome(self, place: EnvironmentRef, ended: Executed) -> TestsOutcome:
        try:
            if self.task.parser == REWARD:
                rewards = read_rewards(
                    await copy_out(self.engine, place, f"{VERIFIER_LOGS}/{REWARD_JSON}", 1_000_000)
                    | await copy_out(self.engine, place, f"{VERIFIER_LOGS}/{REWARD_TEXT}", 1_000_000)
                )
                reward = compute_reward(rewards)
                return TestsOutcome(reward=reward, is_resolved=reward >= 1, rewards=rewards)
            tests = PARSERS[self.task.parser](ended.output)
        except UnparsableError as error:
            return TestsOutcome(failure_mode=FailureMode.PARSE_ERROR, failure=str(error))
        is_resolved = all(status == "passed" for status in tests.values())
        return TestsOutcome(tests=tests, reward=float(is_resolved), is_resolved=is_resolved)
