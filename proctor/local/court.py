"""Judge archived assessments again.

The evidence comes from the archive. The scenario's files come from the store, where they were frozen at admission, or
from today's folder of scenarios. Evaluators run confined, as in a worker. No services are needed.
"""

import asyncio
import hashlib
import io
import tarfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json
from temporalio.exceptions import ApplicationError

from proctor.activities.attempts import failures
from proctor.activities.judging.by_evaluator import SharedLooks
from proctor.activities.judging.model_judge import PROMPT_VERSION
from proctor.activities.judging.payloads import JudgeInput
from proctor.activities.judging.verdicts import VerdictActivities
from proctor.activities.models.configured import ConfiguredModels
from proctor.activities.models.factory import ModelError
from proctor.activities.plan import Plan
from proctor.activities.scenario_code.evaluator_modules import KIT, READER
from proctor.activities.scenario_code.evidence import JudgeRecord
from proctor.activities.scenario_code.freezing import packed
from proctor.activities.scenario_code.manager import ScenarioError, ScenarioPackage
from proctor.activities.scenario_code.scenarios import Scenarios
from proctor.activities.simulation.payloads import Evidence
from proctor.local.doing import do
from proctor.protocol.archive import ArchiveEntry, Content, rebuild_states
from proctor.protocol.judgements import Evaluators, JudgedBy, Judgement
from proctor.protocol.roles import name_of_role
from proctor.protocol.scenario import EvaluationCriterion, ScenarioConfig
from proctor.settings.config import GreenAgentConfig
from proctor.storage.archive import Archive
from proctor.storage.blobs import BlobDamagedError, BlobNotFoundError, BlobRef, HeldBlobs, blob_ref
from purple_sdk.protocol.problems import describe
from purple_sdk.protocol.results import AssessmentResults, CriterionResult, Scores

_ATTEMPTS = 3
_NOTHING = BlobRef(sha256="0" * 64, size=0)
_NOBODY = "http://127.0.0.1:9"
_SCENARIO = "scenario.json"
_NOT_OF_A_VERDICT = {"evaluator_hash", "usage", "description", "judge_warnings"}

OTHER_DAY = "the family makes another day today: the frozen day's truth was judged by today's kit"


class NotJudgeableError(Exception):
    """An assessment can't be judged again; the message says why."""


@dataclass(frozen=True)
class Side:
    """One participant's part of an assessment: its entry, its criteria in the result, and the evidence."""

    entry: ArchiveEntry
    criteria: Sequence[CriterionResult]
    evidence: bytes


@dataclass(frozen=True)
class Code:
    """The code that judges: the evaluators' files, the scenario for each role, and the kind of the evaluators."""

    files: bytes
    scenarios: dict[str, ScenarioConfig]
    evaluators: Evaluators
    remark: str = ""


class Court:
    """Judges any number of archived assessments again.

    Args:
        config: the settings; judging by a model takes its address and limits from them.
        archive: the archive of the entries; it isn't changed.
        is_current: whether today's evaluators judge, instead of those that were frozen at admission.
        judge: the model for criteria that need one; None to keep their first verdicts.
    """

    def __init__(self, config: GreenAgentConfig, archive: Archive, *, is_current: bool, judge: str | None) -> None:
        self._archive = archive
        self.is_current = is_current
        self.judge_name = judge
        self._store = HeldBlobs(config.storage_url)
        self.scenarios = Scenarios(config, self._store)
        nowhere: Any = None
        self._verdicts = VerdictActivities(config, self._store, self.scenarios, nowhere, ConfiguredModels(config))
        self._verdicts.evaluators.looks = _NoSimulation()
        self._sources: dict[str, asyncio.Task[str]] = {}

    async def aclose(self) -> None:
        await self.scenarios.aclose()

    async def who(self, entry: ArchiveEntry) -> JudgedBy:
        """The code and the model that would judge an entry.

        Raises:
            NotJudgeableError: today's scenario can't be loaded.
        """
        return JudgedBy(
            proctor=version("proctor"),
            evaluators="current" if self.is_current else "frozen",
            code=await self._source(entry),
            judge=self.judge_name,
            prompt=PROMPT_VERSION if self.judge_name else None,
        )

    async def judge(self, entry: ArchiveEntry) -> Judgement:
        """Judge an entry again.

        Raises:
            NotJudgeableError: there is no evidence, no scenario, or no verdict.
            EntryDamagedError: a file of the entry is missing or damaged.
        """
        results = await asyncio.to_thread(self._archive.results, entry)
        if results.status != "completed" and results.failure_kind != failures.EVALUATOR_FAILED:
            raise NotJudgeableError(f"it has no verdict, since it ended as {results.status}")
        sides = await asyncio.to_thread(self._sides, entry, results)
        code = await (self._current_code(entry, sides) if self.is_current else self._frozen_code(entry, sides))
        by = (await self.who(entry)).model_copy(
            update={
                "evaluators": code.evaluators,
                "kit": _hash_kit(code.files),
                "reader": next(iter(code.scenarios.values())).reader,
            }
        )
        verdicts, kept = list[CriterionResult](), list[str]()
        with self._store.holding(code.files) as package:
            for side in sides:
                scenario = code.scenarios[side.entry.role if entry.roles else ""]
                of_side, kept_of_side = await self._judge_side(entry, side, scenario, package)
                verdicts += of_side
                kept += kept_of_side
        return Judgement(
            assessment_id=entry.id,
            by=by,
            judged_at=datetime.now(UTC),
            first=results.final_scores,
            scores=Scores.of(verdicts),
            criteria_results=verdicts,
            kept=kept,
            remark=code.remark,
        )

    async def _judge_side(
        self, entry: ArchiveEntry, side: Side, scenario: ScenarioConfig, package: BlobRef
    ) -> tuple[list[CriterionResult], list[str]]:
        """The verdicts on a participant's criteria, and the ids of criteria that keep their first verdict."""
        first = {criterion.criterion_id: criterion for criterion in side.criteria}
        form, verdicts, kept = scenario.model_dump_json().encode(), list[CriterionResult](), list[str]()
        with self._store.holding(form) as document, self._store.holding(side.evidence) as record:
            plan = self._plan(entry, scenario=document, package=package)
            evidence = Evidence(checkpoint=_NOTHING, record=record)
            for criterion in scenario.criteria:
                name = criterion.criterion_id
                known = first.get(name)
                if known and self.judge_name is None and not entry.offline and _needed_model(criterion, known):
                    verdicts.append(known)
                    kept.append(name)
                else:
                    given = JudgeInput(plan=plan, criterion_id=name, evidence=evidence)
                    verdicts.append(await self._judge_criterion(given))
        return verdicts, kept

    async def _judge_criterion(self, given: JudgeInput) -> CriterionResult:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return await do(self._verdicts.judge_criterion, given, attempt=attempt)
            except ModelError as error:
                if attempt == _ATTEMPTS:
                    raise NotJudgeableError(f"Criterion {given.criterion_id}: {error}") from None
            except ApplicationError as error:
                if error.non_retryable or attempt == _ATTEMPTS:
                    sentence = error.message.removesuffix(".")
                    if "can't reach the simulator" in sentence:
                        sentence += "; the archive has none: `proctor replay ID --from-judging` judges with one"
                    raise NotJudgeableError(sentence) from None
        raise AssertionError

    def _sides(self, entry: ArchiveEntry, results: AssessmentResults) -> list[Side]:
        if not entry.roles:
            return [self._load_side(entry, results)]
        sides = []
        for role in entry.roles:
            part = self._archive.get(name_of_role(entry.id, role))
            if part is None:
                raise NotJudgeableError(f"the entry of its role {role} is not in the archive")
            sides.append(self._load_side(part, self._archive.results(part)))
        return sides

    def _load_side(self, entry: ArchiveEntry, results: AssessmentResults) -> Side:
        states = list(self._archive.states(entry))
        if not states:
            raise NotJudgeableError("the archive has no states of it")
        last, final = states[-1]
        if last.lacking:
            raise NotJudgeableError(f"its last state is not in the archive: {last.lacking}")
        record = JudgeRecord(
            action_log=results.action_log,
            turn_notes={turn.turn: turn.notes for turn in self._archive.turns(entry) if turn.notes},
            initial_state=rebuild_states(self._archive.initial_state(entry)),
            final_state=rebuild_states(final),
        )
        return Side(entry, results.criteria_results, record.model_dump_json().encode())

    async def _frozen_code(self, entry: ArchiveEntry, sides: Sequence[Side]) -> Code:
        files = await self._frozen_files(entry)
        scenarios = {}
        for side in sides:
            role = side.entry.role if entry.roles else ""
            archived = await asyncio.to_thread(self._archive.read_content, side.entry, "scenario")
            try:
                scenarios[role] = _with_answers(archived, files, role)
            except ValidationError as error:
                raise NotJudgeableError(f"its scenario can't be read: {describe(error)}") from None
            except (ValueError, LookupError, tarfile.TarError) as error:
                raise NotJudgeableError(f"its frozen files can't be read: {error}") from None
        return Code(files, scenarios, "frozen")

    async def _frozen_files(self, entry: ArchiveEntry) -> bytes:
        if entry.package is None:
            raise NotJudgeableError("its entry names no frozen files of its scenario")
        try:
            return await self._store.get(entry.package)
        except (BlobNotFoundError, BlobDamagedError) as error:
            raise NotJudgeableError(
                f"its scenario's frozen files are needed (--current takes today's): {error}"
            ) from None

    async def _current_code(self, entry: ArchiveEntry, sides: Sequence[Side]) -> Code:
        try:
            if entry.instance:
                loaded = await self.scenarios.load_instance(entry.instance)
            else:
                loaded = await self.scenarios.load_package(entry.scenario_id)
        except ScenarioError as error:
            raise NotJudgeableError(str(error)) from None
        now = loaded.package.sides
        if await self._is_same_day(entry, sides, now):
            return Code(loaded.files, {role: side.config for role, side in now.items()}, "current")
        if not entry.instance:
            raise NotJudgeableError(
                f"{entry.scenario_id} begins with other data or another task today, which today's checks ask for"
            )
        frozen = await self._frozen_code(entry, sides)
        assert entry.package is not None
        try:
            folder, _ = await self.scenarios.unpack_with_current_kit(entry.scenario_id, entry.package)
            files = await asyncio.to_thread(packed, folder)
        except ScenarioError as error:
            raise NotJudgeableError(str(error)) from None
        return Code(files, frozen.scenarios, "current kit", OTHER_DAY)

    async def _is_same_day(self, entry: ArchiveEntry, sides: Sequence[Side], now: dict[str, ScenarioPackage]) -> bool:
        """Whether today's scenario begins with the same data and the same task as the played scenario."""
        frozen: dict[str, ScenarioPackage] | None = None
        for side in sides:
            role = side.entry.role if entry.roles else ""
            today, archived = now.get(role), await asyncio.to_thread(self._archive.scenario, side.entry)
            if today is None or archived is None or _describe_task(archived) != _describe_task(today.config):
                return False
            began_with: Content | None = side.entry.began_with
            if began_with is None:
                frozen = frozen or await self._frozen_sides(entry)
                if role not in frozen:
                    return False
                began_with = _find_state(frozen[role])
            if began_with != _find_state(today):
                return False
        return True

    async def _frozen_sides(self, entry: ArchiveEntry) -> dict[str, ScenarioPackage]:
        """The frozen scenario by role, for entries that don't record their beginning; empty if it isn't valid today."""
        await self._frozen_files(entry)
        assert entry.package is not None
        with suppress(ScenarioError):
            folder = await self.scenarios.unpack_frozen_code(entry.scenario_id, entry.package)
            return (await self.scenarios.read_package(folder)).sides
        return {}

    async def _source(self, entry: ArchiveEntry) -> str:
        """The hash of the code that judges an entry. Only today's scenarios, other than families, must be loaded."""
        if not self.is_current:
            return entry.package.sha256 if entry.package else ""
        name = entry.scenario_id
        if name not in self._sources:
            self._sources[name] = asyncio.create_task(self._hash_of_current(name))
        try:
            return await self._sources[name]
        except ScenarioError as error:
            raise NotJudgeableError(str(error)) from None

    async def _hash_of_current(self, name: str) -> str:
        if self.scenarios.is_family(name):
            return await self.scenarios.hash_of_family(name)
        return blob_ref((await self.scenarios.load_package(name)).files).sha256

    def _plan(self, entry: ArchiveEntry, **blobs: BlobRef) -> Plan:
        """A plan for judging: models, seed, scenario and files are real; other fields are placeholders."""
        return Plan(
            assessment_id=entry.id,
            simulation_id=entry.id,
            initial_state=_NOTHING,
            scenario_id=entry.scenario_id,
            scenario_name=entry.scenario_name,
            participant=entry.participant,
            participant_url=entry.participant_url,
            seed=entry.seed or 0,
            offline=self.judge_name is None,
            judges=[self.judge_name] if self.judge_name else [],
            instance=entry.instance,
            verbose_updates=False,
            max_turns=1,
            turn_timeout=1,
            turn_tries=1,
            judge_timeout=1,
            assessment_timeout=1,
            models_task_queue="",
            start_time=entry.started_at,
            end_time=entry.ended_at,
            default_time_step="PT1H",
            expected_turns=1,
            character_count=0,
            criteria=[],
            **blobs,
        )


class _NoSimulation(SharedLooks):
    """A substitute for the simulation after its last turn: an archive has no simulator."""

    def __init__(self) -> None:
        nowhere: Any = None
        super().__init__(nowhere)

    async def open_simulation(self, payload: JudgeInput) -> Any:
        return SimpleNamespace(reader=SimpleNamespace(base_url=_NOBODY), reader_secret="reader")

    async def require_still(self, payload: JudgeInput, simulation: Any) -> None:
        """Raise nothing: an archive can't lose a simulation."""


def is_same(first: Sequence[CriterionResult], now: Sequence[CriterionResult]) -> bool:
    """Whether two lists of verdicts are the same, word for word."""
    before, after = (
        [result.model_dump(mode="json", exclude=_NOT_OF_A_VERDICT) for result in some] for some in (first, now)
    )
    return before == after


def _needed_model(criterion: EvaluationCriterion, first: CriterionResult) -> bool:
    return criterion.needs_model or criterion.needs_model_for > 0 or "model:" in first.judged_by


def _with_answers(archived: bytes, files: bytes, role: str) -> ScenarioConfig:
    """The scenario as it was admitted. Answers come from ``files`` if the archive left them out as not public."""
    form = from_json(archived)
    criteria = [criterion for criterion in form["criteria"] if criterion.get("params") is None]
    if criteria:
        with tarfile.open(fileobj=io.BytesIO(files)) as archive:
            member = archive.extractfile(_SCENARIO)
            document = from_json(member.read()) if member is not None else {}
        document = document["roles"][role] if role else document
        answers = {original["criterion_id"]: original.get("params") for original in document["criteria"]}
        for criterion in criteria:
            criterion["params"] = answers.get(criterion["criterion_id"])
        for name, person in form["characters"].items():
            known = document.get("characters", {}).get(name, {})
            person.update({key: known[key] for key in ("scripted_replies", "special_instructions") if key in known})
    return ScenarioConfig.model_validate(form)


def _describe_task(scenario: ScenarioConfig) -> tuple[object, ...]:
    return scenario.user_prompt, scenario.start_time, scenario.end_time


def _find_state(package: ScenarioPackage) -> Content:
    return package.large_state or blob_ref(package.initial_state)


def _hash_kit(files: bytes) -> str | None:
    """The hash of the kit and the reader in a scenario's files."""
    digest, count = hashlib.sha256(), 0
    with tarfile.open(fileobj=io.BytesIO(files)) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.name.startswith((f"{KIT}/", f"{READER}/")) else None
            if content is not None:
                digest.update(f"{member.name}\0".encode() + content.read() + b"\0")
                count += 1
    return digest.hexdigest() if count else None
