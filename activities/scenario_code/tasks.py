"""The work of a confined process with a scenario's code, such as loading a package or judging by its evaluators.

The process exchanges JSON with the worker over one socket (``frames``):

* ``{"task": "load", "directory"}`` is answered with a ``Loaded`` or a ``Refused``; then the process ends.
* ``{"task": "hold", "directory"}`` is answered with a ``Held``; then the process ends.
* ``{"task": "compile", "directory"}`` is answered with ``compile_modules``; no code of the package runs.
* ``{"task": "make", …}`` (``MakeTask``) is answered with a ``Made`` and its files, or an ``Unmade``; then the process
  ends.
* ``{"task": "judge", …}`` (``JudgeTask``) is followed by the answer to ``compile``, or an empty piece, and by the
  stored evidence. If the evidence has parts, their number and the parts follow. Then any number of criteria follow, and
  each is answered with a ``Judged``. Before its answer, the process may send an evaluator's questions to the model
  (``Asked``), and gets the model's messages.
"""

import asyncio
import importlib
import socket
import sys
import threading
import traceback
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, JsonValue, TypeAdapter
from pydantic_core import PydanticSerializationError, from_json, to_json

from proctor.activities.scenario_code import frames, manager, paraphrases
from proctor.activities.scenario_code.confinement import enclose
from proctor.activities.scenario_code.evaluator_modules import MAKER, compile_modules, take_compiled
from proctor.activities.scenario_code.evaluators import (
    EvaluatorError,
    PassingEvaluatorError,
    ReadByModel,
    judge_by_evaluator,
    safe_text,
)
from proctor.activities.scenario_code.evidence import JudgeRecord, parts_of_record, read_record
from proctor.activities.scenario_code.facts_asked import facts_asked
from proctor.language.facts import Answer, Question
from proctor.protocol.evaluation import AgentBeatsEvalContext, EvaluatorRegistry
from proctor.protocol.scenario import EvaluationCriterion, ScenarioConfig
from proctor.storage.blobs import BlobRef, blob_ref
from purple_sdk.processes.http_clients import make_http_client
from purple_sdk.protocol.instances import Instance
from purple_sdk.protocol.json_safe import Sentence, json_safe
from purple_sdk.protocol.results import CriterionResult
from purple_sdk.ues import AsyncUESClient

_SIMULATOR_SECONDS = 10.0
"""The longest wait of an evaluator for an answer of the simulator. It is shorter than the evaluator's own limit, so a
slow simulator isn't mistaken for a slow evaluator.
"""


class FolderTask(BaseModel):
    """A task for a whole folder:

    * ``load``: read and check its package
    * ``hold``: check the patterns of its facts against its paraphrases
    * ``compile``: compile its code for the processes that judge by it
    """

    task: Literal["load", "hold", "compile"]
    directory: Path


class JudgeTask(BaseModel):
    """A task to judge criteria of a scenario; the compiled code and the evidence follow in separate pieces."""

    task: Literal["judge"] = "judge"
    directory: Path
    scenario: ScenarioConfig
    simulation: str
    reader_key: str
    has_model: bool
    model: str = ""


class MakeTask(BaseModel):
    task: Literal["make"] = "make"
    directory: Path
    instance: Instance


Task = Annotated[FolderTask | JudgeTask | MakeTask, Field(discriminator="task")]
_TASK: TypeAdapter[FolderTask | JudgeTask | MakeTask] = TypeAdapter(Task)


class Made(BaseModel):
    """A day that was made, with the names of its files. Their contents follow, each in a separate piece."""

    made: list[str]


class Unmade(BaseModel):
    """The answer if no day was made, with the reason and the duty at fault, if known."""

    unmade: Sentence
    duty: Sentence | None = None


class Loaded(BaseModel):
    """A package that can be played. Its initial state and the initial state of each role follow in separate pieces."""

    scenario: ScenarioConfig
    warnings: list[Sentence]


class Refused(BaseModel):
    """The answer for a package that can't be played, with the error's sentence and the name of its class in
    ``manager``.
    """

    refused: str
    sentence: Sentence


class Asked(BaseModel):
    """A question to the model: either an evaluator's own question, for ``relayed_model.answer``, or facts to look for
    in texts, for ``facts_by_model.read_facts``.
    """

    asked: dict[str, JsonValue]


class Judged(BaseModel):
    """The end of a judgement: a verdict, or a sentence that says why there is none. The sentence is in ``fault`` if the
    scenario is at fault, and in ``passing`` if the reason is temporary.

    ``is_spoilt`` says that the process should not be used again.
    """

    verdict: CriterionResult | None = None
    fault: Sentence | None = None
    passing: Sentence | None = None
    is_spoilt: bool = False


def serve(job: socket.socket) -> None:
    try:
        task = _TASK.validate_json(frames.receive(job))
        compiled = frames.receive(job) if isinstance(task, JudgeTask) else b""
        enclose(task.directory, task.simulation if isinstance(task, JudgeTask) else None)
        match task:
            case FolderTask(task="load"):
                _load(job, task.directory)
            case FolderTask(task="hold"):
                _hold(job, task.directory)
            case FolderTask():
                frames.send(job, compile_modules(task.directory))
            case MakeTask():
                _make(job, task)
            case JudgeTask():
                if compiled:
                    take_compiled(compiled)
                _judge(job, task, _received_record(job))
    except (frames.HungUpError, ConnectionError):
        return


class _Received:
    def __init__(self, contents: Iterable[bytes]) -> None:
        self._contents = {blob_ref(content): content for content in contents}

    async def get(self, ref: BlobRef) -> bytes:
        return self._contents[ref]

    def get_blocking(self, ref: BlobRef) -> bytes:
        return self._contents[ref]


class _Evaluators:
    """The functions of a scenario's evaluators, found once for all its criteria."""

    def __init__(self, task: JudgeTask) -> None:
        self._task = task
        self._of_all: EvaluatorRegistry | None = None

    def of(self, criterion: EvaluationCriterion) -> EvaluatorRegistry:
        """Return a registry with a criterion's function. Raises ``EvaluatorLoadError`` if this function is missing;
        another criterion's missing function doesn't matter.
        """
        if self._of_all is None:
            self._of_all = {}
            with suppress(manager.EvaluatorLoadError):
                self._of_all = manager.load_evaluators(self._task.directory, self._task.scenario.criteria)
        is_there = criterion.evaluator_id in self._of_all
        return self._of_all if is_there else manager.load_evaluators(self._task.directory, [criterion])


def _received_record(job: socket.socket) -> JudgeRecord:
    record, parts = frames.receive(job), []
    if parts_of_record(_Received([]), record) is not None:
        parts = [frames.receive(job) for _ in range(int(frames.receive(job)))]
    return read_record(_Received(parts), record)


def _load(job: socket.socket, directory: Path) -> None:
    try:
        package = manager.load_package(directory)
        manager.load_evaluators(directory, package.config.all_criteria)
    except manager.ScenarioError as error:
        _say(job, Refused(refused=type(error).__name__, sentence=safe_text(error)))
    else:
        _say(job, Loaded(scenario=package.config, warnings=package.warnings))
        for state in (package.initial_state, *package.role_states.values()):
            frames.send(job, state)


def _hold(job: socket.socket, directory: Path) -> None:
    try:
        config = manager.load_package(directory).config
        facts = manager.load_facts(directory)
        patterns = {
            fact.id: fact.patterns for fact in facts if fact.patterns is not None
        } | paraphrases.patterns_of_checks(config)
        by_model = {fact.id for fact in facts if fact.patterns is None}
        held = paraphrases.hold(paraphrases.read_paraphrases(directory), patterns, by_model)
        held.audited = paraphrases.audit(paraphrases.read_paraphrases(directory, paraphrases.AUDIT), patterns)
        held.statements = {fact.id: fact.statement for fact in facts}
    except (manager.ScenarioError, paraphrases.ParaphrasesError) as error:
        _say(job, paraphrases.Held(faults=[safe_text(error)]))
    except Exception as error:
        raised = f"{type(error).__name__}: {safe_text(error)}{_place(error, directory)}"
        _say(job, paraphrases.Held(faults=[f"a pattern of facts.py raised {raised}"]))
    else:
        _say(job, held)


def _make(job: socket.socket, task: MakeTask) -> None:
    day = task.instance
    try:
        files = importlib.import_module(MAKER).make_instance(task.directory, day.difficulty, day.seed)
        contents = [bytes(content) for content in files.values()]
        answer: BaseModel = Made(made=list(files))
    except BaseException as error:  # any exception: there is no day
        answer, contents = _why_unmade(error, task.directory), []
    _flush()
    _say(job, answer)
    for content in contents:
        frames.send(job, content)


def _why_unmade(problem: BaseException, directory: Path) -> Unmade:
    """Describe why no day was made. An inconsistent day names the duty and the reason; any other failure names its
    exception and place.
    """
    if any(kind.__name__ == "InconsistentDayError" for kind in type(problem).__mro__):
        duty = getattr(problem, "duty", None)
        reason = safe_text(getattr(problem, "reason", problem))
        return Unmade(unmade=reason, duty=None if duty is None else safe_text(duty))
    sentence = f"{type(problem).__name__}: {safe_text(problem)}".removesuffix(": ")
    return Unmade(unmade=f"the family's code raised {sentence}{_place(problem, directory)}")


def _judge(job: socket.socket, task: JudgeTask, record: JudgeRecord) -> None:
    llm = None
    if task.has_model:
        from proctor.activities.scenario_code.relayed_model import RelayedModel

        llm = RelayedModel.over(lambda question: _ask(job, question))

    async def read_by_model(questions: Sequence[Question]) -> dict[tuple[str, str], Answer]:
        answers = from_json(_ask(job, facts_asked(questions)))
        return {question.key: answer for question, answer in zip(questions, answers, strict=True)}

    evaluators = _Evaluators(task)
    while True:
        criterion = EvaluationCriterion.model_validate_json(frames.receive(job))
        try:
            read = read_by_model if task.has_model else None
            outcome = asyncio.run(_judge_criterion(criterion, evaluators.of(criterion), task, record, llm, read))
        except BaseException as error:
            # Any exception (SystemExit, KeyboardInterrupt, CancelledError) means that there is no verdict.
            outcome = Judged(fault=_raised_sentence(criterion, error, task.directory), is_spoilt=True)
        _flush()
        left_running = threading.active_count() > 1
        _say(job, outcome.model_copy(update={"is_spoilt": outcome.is_spoilt or left_running}))


async def _judge_criterion(
    criterion: EvaluationCriterion,
    evaluators: EvaluatorRegistry,
    task: JudgeTask,
    record: JudgeRecord,
    llm: Any,
    read_by_model: ReadByModel | None,
) -> Judged:
    async with make_http_client() as http:
        client = AsyncUESClient(task.simulation, task.reader_key, timeout=_SIMULATOR_SECONDS, http=http)
        context = AgentBeatsEvalContext(
            client=client,
            scenario_config=task.scenario.model_dump(mode="json"),
            action_log=list(record.action_log),
            initial_state=record.initial_state,
            final_state=record.final_state,
            user_prompt=task.scenario.user_prompt,
            llm=llm,
            turn_notes=dict(record.turn_notes),
        )
        try:
            return Judged(verdict=await judge_by_evaluator(criterion, context, evaluators, read_by_model, task.model))
        except PassingEvaluatorError as error:
            return Judged(passing=str(error), is_spoilt=True)
        except EvaluatorError as error:
            return Judged(fault=f"{error}{_place(error.__cause__, task.directory)}", is_spoilt=True)


def _raised_sentence(criterion: EvaluationCriterion, problem: BaseException, directory: Path) -> str:
    if isinstance(problem, manager.ScenarioError):
        return safe_text(problem)
    message = f"{type(problem).__name__}: {safe_text(problem)}".removesuffix(": ")
    return f"evaluator {criterion.evaluator_id} raised {message}{_place(problem, directory)}"


def _place(problem: BaseException | None, directory: Path) -> str:
    """Return the last place of a failure's traceback in the scenario's own files, which the scenario's author can
    fix.
    """
    if problem is None:
        return ""
    frames_within = [
        frame for frame in traceback.extract_tb(problem.__traceback__) if Path(frame.filename).is_relative_to(directory)
    ]
    if not frames_within:
        return ""
    last = frames_within[-1]
    return f" ({Path(last.filename).relative_to(directory)} line {last.lineno})"


def _ask(job: socket.socket, question: dict[str, Any]) -> bytes:
    _say(job, Asked(asked=question))
    return frames.receive(job)


def _say(job: socket.socket, message: BaseModel) -> None:
    try:
        written = message.model_dump_json(exclude_none=True).encode()
    except PydanticSerializationError:
        written = to_json(json_safe(message.model_dump(exclude_none=True)))
    frames.send(job, written)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # the scenario's code may have closed or replaced it
