"""Run scenarios' code in separate processes, so a fault of the code affects only its scenario.

A ``ForkServer`` has imported all libraries of such code, and forks a process within milliseconds (``fork_server``).
Each process has limits (``confinement``), an empty environment, and one task (``tasks``). Examples are loading
a package, and judging criteria of one assessment, one after another until one goes wrong.
"""

import asyncio
import json
import logging
import math
import os
import re
import signal
import socket
import sys
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import from_json

from proctor.activities.scenario_code import allowance, frames, manager
from proctor.activities.scenario_code.allowance import Allowance
from proctor.activities.scenario_code.confinement import Limits, find_missing_protections
from proctor.activities.scenario_code.evaluator_modules import code_digest
from proctor.activities.scenario_code.evidence import parts_of_record
from proctor.activities.scenario_code.manager import (
    EvaluatorLoadError,
    InstanceError,
    ScenarioError,
    ScenarioPackage,
    ScenarioValidationError,
)
from proctor.activities.scenario_code.paraphrases import Held
from proctor.activities.scenario_code.tasks import (
    FolderTask,
    Judged,
    JudgeTask,
    Loaded,
    Made,
    MakeTask,
    Refused,
    Unmade,
)
from proctor.protocol.scenario import EvaluationCriterion
from proctor.storage.parts import Contents
from purple_sdk.processes.child import Child
from purple_sdk.processes.together import do_all
from purple_sdk.protocol.instances import Instance
from purple_sdk.protocol.json_safe import storable_text
from purple_sdk.protocol.problems import show_value
from purple_sdk.protocol.results import CriterionResult

log = logging.getLogger(__name__)

AT_ONCE = 2
"""The limit of processes that judge one assessment at a time."""

_ALONE_SECONDS = 0.25
"""Seconds before a second process starts. A process costs more time than most evaluators, so only slow evaluators get
another one.
"""

_ALL_AT_ONCE = 64
_COMPILED_KEPT = 32
_IDLE_SECONDS = 2.0
_FORK_SECONDS = 60.0
_LONGEST_ANSWER = 4 * 1024 * 1024
_LONGEST_STATE = 128 * 1024 * 1024
MOST_OF_A_DAY = 64 * 1024 * 1024
"""The limit for all files of a day that a family makes, in bytes."""
_MAKING_SECONDS = 30.0
"""The limit for making a day, by the process's own clock."""
_MOST_MADE = 50
_MOST_STARVED = 10
"""The longest total time of a process that waits for a processor, as a multiple of its limit."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}")
_OUTPUT_KEPT, _LONGEST_FAULT = 2000, 500
_STATUS_SECONDS = 2.0
_OWN_STDERR = 2
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR")
_PROGRAM = (
    "import json, socket, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from proctor.processes.importing import import_less; import_less(); "
    "from proctor.activities.scenario_code.fork_server import main; "
    "main(socket.socket(fileno=int(sys.argv[2])), int(sys.argv[3]), is_confined=sys.argv[4] == 'confined')"
)

Ask = Callable[[dict[str, Any]], Awaitable[bytes]]
"""A function that puts an evaluator's question to the judge's model (``relayed_model.answer``)."""


class EvaluatorFailedError(Exception):
    """A scenario's code gave no verdict, by the scenario's own fault; the message describes it."""


class EvaluatorRetryError(Exception):
    """A judgement met a temporary failure: the simulator was away, or the processes were lost."""


@dataclass(frozen=True)
class JudgeJob:
    """The judging of one assessment's criteria by a process.

    Attributes:
        task: the process's task.
        evidence: the evidence's name; equal evidence has an equal name.
        fetch: returns the evidence (``JudgeRecord`` as JSON).
        contents: the place of the evidence's parts; None for evidence without parts.
    """

    task: JudgeTask
    evidence: str
    fetch: Callable[[], Awaitable[bytes]]
    contents: Contents | None = None


def _seconds_waited(pid: int) -> float:
    """Return how long a process has waited for a processor so far; 0 if the system doesn't report it."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


class CodeProcess:
    """A process with a scenario's code, from the worker's side."""

    def __init__(
        self,
        pid: int,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        output: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        ended: asyncio.Future[int | None],
        kill: Callable[[], None],
        limits: Limits,
    ) -> None:
        self.pid = pid
        self.limits = limits
        self.is_flooding = False
        self._reader = reader
        self._writer = writer
        self._kill = kill
        self._ended = ended
        printed, self._output = output
        self._listening = asyncio.create_task(self._listen(printed))

    async def say(self, piece: bytes) -> None:
        """Send the process a piece. If the process is gone, this method doesn't raise, but ``hear`` does."""
        with suppress(frames.HungUpError):
            await frames.write(self._writer, piece)

    async def hear(self, longest: int = _LONGEST_ANSWER) -> bytes:
        """Return the process's next piece. Raises ``HungUpError`` and ``FrameTooLongError``."""
        return await frames.read(self._reader, longest)

    def own_seconds(self) -> float:
        """Return seconds by a clock that stops while the process waits for a processor, as on a busy machine."""
        return time.monotonic() - _seconds_waited(self.pid)

    @asynccontextmanager
    async def within(self, seconds: float, wall_seconds: float | None = None) -> AsyncIterator[None]:
        """Raise ``TimeoutError`` after ``seconds`` by the process's own clock, or after ``wall_seconds`` of real time.
        The default of ``wall_seconds`` is ``_MOST_STARVED`` times ``seconds``. The message is the exceeded limit, as
        part of a sentence.
        """
        loop, began, own = asyncio.get_running_loop(), time.monotonic(), self.own_seconds()
        if wall_seconds is None:
            ends, starved = began + _MOST_STARVED * seconds, f"{_MOST_STARVED * seconds:g} s on a busy machine"
        else:
            ends, starved = began + wall_seconds, f"{allowance.IN_ALL_TRIES:g} s on a busy machine, all tries together,"
        taken = f"{seconds:g} s"

        async def look() -> None:
            nonlocal taken
            while (left := seconds - (self.own_seconds() - own)) > 0:
                if (now := time.monotonic()) >= ends:
                    taken = starved
                    break
                await asyncio.sleep(min(max(left, 0.05), ends - now))
            limit.reschedule(loop.time())

        try:
            async with asyncio.timeout(None) as limit:
                looking = asyncio.create_task(look())
                try:
                    yield
                finally:
                    looking.cancel()
        except TimeoutError:
            raise TimeoutError(taken) from None

    async def what_ended_it(self) -> str:
        """Return why the process has hung up, as the end of a sentence. Raises ``EvaluatorRetryError`` if another
        process killed it, since the scenario's code isn't to blame then.
        """
        if self.is_flooding:
            return f"printed more than {self.limits.output_bytes // 1024} kB and was stopped"
        try:
            status = await asyncio.wait_for(asyncio.shield(self._ended), _STATUS_SECONDS)
        except TimeoutError:
            return "hung up without an answer"
        if status is None or status == -signal.SIGKILL:
            raise EvaluatorRetryError("the process of the scenario's code was killed: is the machine out of memory?")
        if status < 0:
            return f"was ended by signal {-status} (at most {self.limits.memory_mb} MB of memory are there for it)"
        return f"ended its process (exit code {status}) instead of returning a result"

    def end(self) -> None:
        self._kill()
        self._writer.close()
        self._listening.cancel()
        self._output.close()

    async def _listen(self, printed: asyncio.StreamReader) -> None:
        """Read the process's output, so printing never blocks it. Too much output ends the process."""
        count, last = 0, b""
        while chunk := await printed.read(64 * 1024):
            count += len(chunk)
            last = (last + chunk)[-_OUTPUT_KEPT:]
            if count > self.limits.output_bytes:
                self.is_flooding = True
                self._kill()
                return
        if last:
            log.debug("scenario code[%s] %s", self.pid, last.decode(errors="replace"))


class _Forked(NamedTuple):
    """A forked process, and the future of its exit code, which is None if the code will never be known."""

    pid: int
    ended: asyncio.Future[int | None]


class ForkServer:
    """Starts the fork server when its first process is requested, and again if it is lost."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._process: Child | None = None
        self._control: socket.socket | None = None
        self._reading: asyncio.Task[None] | None = None
        self._asked_for: deque[asyncio.Future[_Forked]] = deque()
        self._ended: dict[int, asyncio.Future[int | None]] = {}
        self._one_at_a_time = asyncio.Lock()

    async def fork(self, size: int, *, has_model: bool = False, makes_days: bool = False) -> CodeProcess:
        """Fork a process, which then waits for its task. ``size`` is the number of bytes that it will read.

        ``has_model`` says that it needs the libraries for calling a model; ``makes_days``, those for making days.
        Raises ``EvaluatorRetryError`` if no process could be made.
        """
        async with self._one_at_a_time:
            for _ in range(2):  # the server may have died since the last request
                await self._start()
                with suppress(OSError, TimeoutError, frames.HungUpError):
                    limits = self._limits.make_room(size)
                    imports = {"has_model": has_model, "makes_days": makes_days}
                    return await asyncio.wait_for(self._fork(limits, imports), _FORK_SECONDS)
                self._abandon()
        raise EvaluatorRetryError("no process could be made for the scenario's code: is the worker out of memory?")

    async def aclose(self) -> None:
        """End the fork server with all processes that it has forked."""
        process = self._process
        self._abandon()
        if process is not None:
            await process.end(_STATUS_SECONDS)

    async def _start(self) -> None:
        if self._control is not None:
            return
        ours, theirs = socket.socketpair()
        with theirs:
            path = [entry or os.getcwd() for entry in sys.path]
            protection = "unconfined" if await asyncio.to_thread(find_missing_protections) else "confined"
            program = [sys.executable, "-I", "-c", _PROGRAM]
            self._process = await Child.start(
                [*program, json.dumps(path), str(theirs.fileno()), str(os.getpid()), protection],
                None,  # it ends with its parent automatically and at once (``reaping.die_with_parent``)
                environment={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                stderr=_OWN_STDERR,
                descriptors=[theirs.fileno()],
            )
        ours.setblocking(False)
        self._control = ours
        self._reading = asyncio.create_task(self._read_reports(ours))

    async def _fork(self, limits: Limits, imports: dict[str, bool]) -> CodeProcess:
        assert self._control is not None
        control, loop = self._control, asyncio.get_running_loop()
        job, their_job = socket.socketpair()
        # Not a pipe: uvloop closes it twice. By the second time a thread may have opened a file under its number.
        output, their_output = socket.socketpair()
        try:
            with their_job, their_output:
                command = json.dumps({"fork": asdict(limits), **imports}).encode() + b"\n"
                socket.send_fds(control, [command], [their_job.fileno(), their_output.fileno()])
            forked: asyncio.Future[_Forked] = loop.create_future()
            self._asked_for.append(forked)
            pid, ended = await forked
        except BaseException:
            job.close()
            output.close()
            raise
        reader, writer = await asyncio.open_unix_connection(sock=job)
        printed = await asyncio.open_unix_connection(sock=output)
        return CodeProcess(pid, reader, writer, printed, ended, lambda: self._kill(control, pid), limits)

    def _kill(self, control: socket.socket, pid: int) -> None:
        with suppress(OSError):
            control.send(json.dumps({"kill": pid}).encode() + b"\n")

    async def _read_reports(self, control: socket.socket) -> None:
        loop, rest = asyncio.get_running_loop(), b""
        with suppress(OSError):
            while chunk := await loop.sock_recv(control, 64 * 1024):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self._hear(from_json(line))
        if self._control is control:
            self._abandon()

    def _hear(self, report: dict[str, int]) -> None:
        if "pid" in report:
            ended = self._ended[report["pid"]] = asyncio.get_running_loop().create_future()
            # Answers come in the order of requests, so an answer also comes for a caller that no longer waits.
            forked = self._asked_for.popleft() if self._asked_for else None
            if forked is not None and not forked.done():
                forked.set_result(_Forked(report["pid"], ended))
        elif (over := self._ended.pop(report["ended"], None)) is not None and not over.done():
            over.set_result(report["status"])

    def _abandon(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._reading is not None and self._reading is not asyncio.current_task():
            self._reading.cancel()
        for forked in self._asked_for:
            if not forked.done():
                forked.set_exception(frames.HungUpError())
        self._asked_for.clear()
        for ended in self._ended.values():
            if not ended.done():
                ended.set_result(None)
        self._ended.clear()


@dataclass
class _Team:
    """The processes that judge one assessment: the idle ones, the number at work, and the number of their criteria."""

    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    idle: asyncio.Queue[CodeProcess] = field(default_factory=asyncio.Queue)
    at_work: int = 0
    users: int = 0


class ScenarioCode:
    """Runs all processes with scenarios' code of one worker, each with these limits. A criterion waits
    ``alone_seconds`` for a process of its assessment before another process is made.

    Methods raise ``EvaluatorRetryError`` if no process could be made, or if a process was lost. Then, try again.
    """

    def __init__(self, limits: Limits, alone_seconds: float = _ALONE_SECONDS) -> None:
        self.limits = limits
        self._alone_seconds = alone_seconds
        self._fork_server = ForkServer(limits)
        self._teams: defaultdict[tuple[str, str], _Team] = defaultdict(_Team)
        self._all = asyncio.Semaphore(_ALL_AT_ONCE)
        self._compiled: dict[str, asyncio.Task[bytes]] = {}

    async def aclose(self) -> None:
        await self._fork_server.aclose()

    @asynccontextmanager
    async def _at_task(
        self, task: FolderTask | MakeTask, size: int = 0, seconds: float = math.inf, within: Allowance | None = None
    ) -> AsyncIterator[CodeProcess]:
        """Yield a process with a task. The process gets ``seconds`` by its own clock, but at most the usual limit.
        ``within`` limits its real time.

        Raises:
            EvaluatorRetryError: no process could be made, or another process has killed it.
            TimeoutError: the process took too long.
            HungUpError: the process has ended; the message is the end of a sentence with the reason.
            FrameTooLongError: the process sent too much.
        """
        within = within or Allowance()
        process = await self._fork_server.fork(size, makes_days=isinstance(task, MakeTask))
        try:
            with within.in_use():
                async with process.within(min(seconds, self.limits.seconds), within.left()):
                    await process.say(task.model_dump_json().encode())
                    yield process
        except frames.HungUpError:
            raise frames.HungUpError(await process.what_ended_it()) from None
        finally:
            process.end()

    async def load(self, directory: Path, within: Allowance | None = None) -> ScenarioPackage:
        """Read and check the package in a folder, its evaluators' code included. ``within`` is the remaining time if a
        family has made the package as a day. Raises ``ScenarioError``.
        """
        within = within or Allowance(directory.name)
        async with self._all:
            size = await asyncio.to_thread(_count_bytes, directory)
            try:
                async with self._at_task(FolderTask(task="load", directory=directory), size, within=within) as process:
                    return await _read_package(process, directory)
            except TimeoutError as error:
                reason = (
                    f"was not loaded within {str(error).rstrip(',')}: what evaluators.py does when it is imported has "
                    "to be quick"
                )
            except frames.FrameTooLongError:
                reason = "is too large to be loaded"
            except frames.HungUpError as error:
                reason = f"can't be loaded: what evaluators.py does when it is imported {error}"
            except ValueError as error:
                reason = f"can't be loaded: {_unreadable(error)}"
        raise EvaluatorLoadError(f"{directory.name} {reason}")

    async def make(self, directory: Path, instance: Instance, within: Allowance | None = None) -> dict[str, bytes]:
        """Let the family in a folder make one of its days. Return the files of the day's scenario by name.

        The rest of ``within`` is for loading the files. Raises ``InstanceError``; its sentence names the day, the
        reason, and the duty at fault, if there is one.
        """
        seconds, within = min(self.limits.seconds, _MAKING_SECONDS), within or Allowance(instance.title)
        async with self._all:
            try:
                task = MakeTask(directory=directory, instance=instance)
                async with self._at_task(task, seconds=seconds, within=within) as process:
                    return await _receive_day(process, instance)
            except TimeoutError as error:
                reason = f"the family's code was still at work after {error} and was stopped"
            except frames.FrameTooLongError:
                reason = f"its files have more than {MOST_OF_A_DAY // 1024 // 1024} MB"
            except frames.HungUpError as error:
                reason = f"the family's code {error}"
            except ValueError as error:
                reason = f"the family's code {_unreadable(error)}"
        raise InstanceError(instance, reason)

    async def hold(self, directory: Path) -> Held:
        """Check the patterns of a scenario's facts against its paraphrases."""
        async with self._all:
            try:
                async with self._at_task(FolderTask(task="hold", directory=directory)) as process:
                    return Held.model_validate_json(await process.hear())
            except TimeoutError:
                fault = f"the patterns of facts.py took over {self.limits.seconds:g} s for the paraphrases"
            except frames.HungUpError as error:
                fault = f"the process that held patterns to paraphrases {error}"
            except (frames.FrameTooLongError, ValueError) as error:
                fault = f"the process that held patterns to paraphrases {_unreadable(error)}"
        return Held(faults=[fault])

    async def judge(
        self, job: JudgeJob, criterion: EvaluationCriterion, ask: Ask, seconds: float | None = None
    ) -> CriterionResult:
        """Judge a criterion by its evaluator function, within ``seconds`` and within the usual limit.

        Raises all errors of ``ask``, and ``EvaluatorFailedError`` if a retry would fail equally.
        """
        # Two assessments may have the same evidence, but each has its own simulation.
        key = (str(job.task.directory), f"{job.task.simulation} {job.task.reader_key} {job.evidence}")
        team = self._teams[key]
        team.users += 1
        try:
            async with team.turns, self._all:
                return await self._judge(team, job, criterion, ask, min(seconds or math.inf, self.limits.seconds))
        finally:
            team.users -= 1
            if not team.users:
                asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._rest, key)

    async def _judge(
        self, team: _Team, job: JudgeJob, criterion: EvaluationCriterion, ask: Ask, seconds: float
    ) -> CriterionResult:
        process, is_good = None, False
        team.at_work += 1
        try:
            process = await self._free_process(team) or await self._new_process(job)
            outcome = await _judge_by_process(process, criterion, ask, seconds)
            is_good = not outcome.is_spoilt
        finally:
            team.at_work -= 1
            if is_good and process is not None:
                team.idle.put_nowait(process)
            elif process is not None:
                process.end()
        if outcome.passing is not None:
            raise EvaluatorRetryError(outcome.passing)
        if outcome.verdict is None:
            raise EvaluatorFailedError(outcome.fault or "there is no verdict")
        return outcome.verdict

    async def _free_process(self, team: _Team) -> CodeProcess | None:
        """Return a process of the assessment that is idle or soon will be; None if there is none."""
        if team.idle.empty() and team.at_work == 1:  # no other criterion is being judged
            return None
        with suppress(TimeoutError):
            async with asyncio.timeout(self._alone_seconds):
                return await team.idle.get()
        return None

    async def _new_process(self, job: JudgeJob) -> CodeProcess:
        evidence, compiled = await do_all(job.fetch(), self._compile(job.task.directory))
        parts = parts_of_record(job.contents, evidence) if job.contents is not None else None
        indexes, pages = await parts.read_indexes() if parts is not None else ([], {})
        size = len(evidence) + sum(map(len, indexes)) + 2 * sum(page.size for page in pages.values())
        process = await self._fork_server.fork(size, has_model=job.task.has_model)
        for piece in (job.task.model_dump_json().encode(), compiled, evidence):
            await process.say(piece)
        if parts is not None:
            await process.say(str(len(indexes) + len(pages)).encode())
            for index in indexes:
                await process.say(index)
            for page in pages.values():
                await process.say(await parts.read(page))
        return process

    async def _compile(self, directory: Path) -> bytes:
        """Compile a scenario's code once for all processes that use it, such as those of all days of a family. Return
        no bytes if that fails.
        """
        code = await asyncio.to_thread(code_digest, directory)
        compiling = self._compiled.pop(code, None) or asyncio.create_task(self._compile_once(directory))
        self._compiled[code] = compiling  # recently used code is kept longest
        while len(self._compiled) > _COMPILED_KEPT:
            self._compiled.pop(next(iter(self._compiled)))
        compiled = await asyncio.shield(compiling)
        if not compiled and self._compiled.get(code) is compiling:
            del self._compiled[code]  # the next time may succeed
        return compiled

    async def _compile_once(self, directory: Path) -> bytes:
        try:
            async with self._at_task(FolderTask(task="compile", directory=directory)) as process:
                return await process.hear()
        except (EvaluatorRetryError, TimeoutError, frames.HungUpError, frames.FrameTooLongError):
            return b""

    def _rest(self, key: tuple[str, str]) -> None:
        """End the processes of an assessment when they are no longer needed."""
        if (team := self._teams.get(key)) is not None and not team.users:
            del self._teams[key]
            while not team.idle.empty():
                team.idle.get_nowait().end()


_REFUSALS: dict[str, type[ScenarioError]] = {
    kind.__name__: kind for kind in (ScenarioError, ScenarioValidationError, EvaluatorLoadError)
}
"""The errors by which a process may refuse its package. A process may run any code, and so send any name."""


def _unreadable(problem: Exception) -> str:
    """Return the end of a sentence: a process's answer can't be read."""
    return f"gave an answer that can't be read: {storable_text(str(problem), _LONGEST_FAULT)}"


def _count_bytes(directory: Path) -> int:
    return min(sum(size for _, _, size in manager.fingerprint(directory)), 2 * manager.LARGEST_FILE)


async def _read_package(process: CodeProcess, directory: Path) -> ScenarioPackage:
    answer = await process.hear()
    if b'"refused"' in answer[:20]:
        refused = Refused.model_validate_json(answer)
        raise _REFUSALS.get(refused.refused, ScenarioValidationError)(refused.sentence)
    loaded = Loaded.model_validate_json(answer)
    state = await process.hear(_LONGEST_STATE)
    role_states = {role: await process.hear(_LONGEST_STATE) for role in loaded.scenario.roles}
    return ScenarioPackage(directory, loaded.scenario, state, loaded.warnings, role_states=role_states)


async def _receive_day(process: CodeProcess, instance: Instance) -> dict[str, bytes]:
    """Return the files that a process has made. Their names and sizes are checked, since the process may run any
    code.
    """
    answer = await process.hear()
    if b'"unmade"' in answer[:20]:
        unmade = Unmade.model_validate_json(answer)
        raise InstanceError(instance, unmade.unmade, unmade.duty)
    names = Made.model_validate_json(answer).made
    bad = next((name for name in names if not _PLAIN_NAME.fullmatch(name)), None)
    if bad is not None or not 1 <= len(set(names)) == len(names) <= _MOST_MADE:
        raise InstanceError(instance, f"its files are {show_value(names)}: at most {_MOST_MADE} plain names, each once")
    files: dict[str, bytes] = {}
    for name in names:
        files[name] = await process.hear(MOST_OF_A_DAY - sum(map(len, files.values())))
    return files


async def _judge_by_process(process: CodeProcess, criterion: EvaluationCriterion, ask: Ask, seconds: float) -> Judged:
    """Let a process judge one criterion, and call the model for it if it asks; only the process's own time counts."""
    remaining = seconds
    try:
        await process.say(criterion.model_dump_json().encode())
        while True:
            began = process.own_seconds()
            async with process.within(remaining):
                answer = await process.hear()
            remaining -= process.own_seconds() - began
            message = from_json(answer)
            if not (isinstance(message, dict) and "asked" in message):
                return Judged.model_validate(message)
            await process.say(await ask(message["asked"]))
    except TimeoutError as error:
        fault = f"was still at work after {error} and was stopped"
    except frames.FrameTooLongError:
        fault = f"returned more than {_LONGEST_ANSWER // 1024 // 1024} MB: shorten its details"
    except frames.HungUpError:
        fault = await process.what_ended_it()
    except ValueError as error:
        fault = _unreadable(error)
    return Judged(fault=f"evaluator {criterion.evaluator_id} {fault}", is_spoilt=True)
