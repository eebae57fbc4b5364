"""Assessments that an older proctor judged are judged again, and get the same verdicts: each by its frozen code.

``judged_before.tar.xz`` has ten plays of ten families, made and judged by commit b0600615, when rules read values in
another way: they took "3:20pm" for 20:00. For each there are the frozen scenario, the evidence, the admitted document,
and the verdicts. All players write times so; six of them forget or confuse something, too.
"""

import asyncio
import json
import tarfile
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio

from activities.judging.by_evaluator import EvaluatorJudge
from activities.judging.payloads import JudgeInput
from activities.judging.verdicts import VerdictActivities
from activities.models.configured import ConfiguredModels
from activities.plan import Plan
from activities.scenario_code.scenarios import Scenarios
from activities.simulation.payloads import Evidence
from proctor.doing import do
from proctor_protocol.instances import Instance
from proctor_protocol.scenario import ScenarioConfig
from proctor_settings.config import GreenAgentConfig
from proctor_storage.blobs import BlobRef, BlobStore

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("quick_fork_servers")]

_NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
_NOTHING = BlobRef(sha256="0" * 64, size=0)
_OF_THE_ATTEMPT = {"evaluator_hash", "usage", "description"}


@cache
def entries() -> dict[str, dict[str, bytes]]:
    """The files of each play, by its family and their names."""
    found: dict[str, dict[str, bytes]] = {}
    with tarfile.open(Path(__file__).with_name("judged_before.tar.xz")) as archive:
        for member in archive:
            family, _, name = member.name.partition("/")
            content = archive.extractfile(member)
            assert content is not None
            found.setdefault(family, {})[name] = content.read()
    return found


class _NoSimulation:
    """Stands for the simulation after its last turn: kits read the evidence, and ask no simulator."""

    async def look_at(self, _payload: JudgeInput) -> Any:
        return SimpleNamespace(reader=SimpleNamespace(base_url="http://127.0.0.1:9"), reader_secret="reader")

    async def require_still(self, _payload: JudgeInput, _simulation: Any) -> None:
        """Nothing is lost."""


class Court:
    """The activity that judges, with a store of its own."""

    def __init__(self, folder: Path) -> None:
        config = GreenAgentConfig(state=str(folder), trust_scenarios=True)
        self.store = BlobStore(str(folder / "store"))
        self.scenarios = Scenarios(config, self.store)
        simulations: Any = None
        self.verdicts = VerdictActivities(config, self.store, self.scenarios, simulations, ConfiguredModels(config))
        looks: Any = _NoSimulation()
        self.verdicts.evaluators.looks = looks

    async def judge(self, family: str, *, is_reset: bool = False) -> list[dict[str, Any]]:
        """The verdicts on the criteria of a play, in their order."""
        files = entries()[family]
        scenario = ScenarioConfig.model_validate_json(files["scenario.json"])
        plan = _plan(
            scenario,
            scenario=await self.store.put(files["scenario.json"]),
            package=await self.store.put(files["frozen.tar"]),
            instance=Instance(family=family, difficulty=1, seed=1),
        )
        evidence = Evidence(checkpoint=_NOTHING, record=await self.store.put(files["evidence.json"]))
        found = []
        for criterion in scenario.criteria:
            given = JudgeInput(plan=plan, criterion_id=criterion.criterion_id, evidence=evidence, is_reset=is_reset)
            verdict = await do(self.verdicts.judge_criterion, given)
            assert is_reset or verdict.evaluator_hash == plan.package.sha256
            found.append(verdict.model_dump(mode="json", exclude=_OF_THE_ATTEMPT))
        return found


def _plan(admitted: ScenarioConfig, **blobs: Any) -> Plan:
    return Plan(
        assessment_id="before",
        simulation_id="before",
        initial_state=_NOTHING,
        scenario_id=admitted.scenario_id,
        scenario_name=admitted.name,
        participant="p",
        participant_url="http://127.0.0.1:9",
        seed=7,
        offline=True,
        verbose_updates=False,
        max_turns=9,
        turn_timeout=60,
        turn_tries=1,
        judge_timeout=60,
        assessment_timeout=600,
        models_task_queue="models",
        start_time=_NOON,
        end_time=_NOON,
        default_time_step="PT1H",
        expected_turns=9,
        character_count=0,
        criteria=[],
        **blobs,
    )


def judged_then(family: str) -> list[dict[str, Any]]:
    verdicts: list[dict[str, Any]] = json.loads(entries()[family]["verdicts.json"])
    return [{name: value for name, value in each.items() if name not in _OF_THE_ATTEMPT} for each in verdicts]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def court(quick_fork_servers: None, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Court]:
    made = Court(tmp_path_factory.mktemp("court"))
    yield made
    await made.scenarios.aclose()


@pytest.fixture
def with_current_evaluators(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    async def wanted(_judge: EvaluatorJudge) -> bool:
        return True

    with monkeypatch.context() as patch:
        patch.setattr(EvaluatorJudge, "_is_current_wanted", wanted)
        yield


async def test_what_was_judged_before_is_judged_the_same(court: Court) -> None:
    again = await asyncio.gather(*map(court.judge, entries()))
    assert len(again) == 10
    for family, verdicts in zip(entries(), again, strict=True):
        assert verdicts == judged_then(family), family


@pytest.mark.usefixtures("with_current_evaluators")
async def test_the_code_of_today_judges_it_otherwise(court: Court) -> None:
    """So the test above fails where the frozen code is not what judges."""
    family = "broken_tools"
    before, now = judged_then(family), await court.judge(family, is_reset=True)
    assert sum(each["score"] for each in now) > sum(each["score"] for each in before)
