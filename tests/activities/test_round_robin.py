"""Campaigns on a scenario with several participants: each agent plays each role with each other one."""

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
import pytest_asyncio
from pydantic import TypeAdapter

from proctor.activities.campaign.assessments import AssessmentRuns
from proctor.activities.campaign.plan import Cell
from proctor.activities.scenario_code.scenarios import Scenarios
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobStore
from tests.assessments.packages import write_package, write_pair

A, B = "http://a", "http://b"

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("quick_fork_servers")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def runs(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AssessmentRuns]:
    tmp_path = tmp_path_factory.mktemp("runs")
    write_package(tmp_path / "scenarios", "tiny")
    write_pair(tmp_path / "scenarios")
    config = GreenAgentConfig(
        scenarios_dir=str(tmp_path / "scenarios"), storage_url=str(tmp_path / "store"), trust_scenarios=True
    )
    store = BlobStore(config.storage_url)
    async with aclosing(Scenarios(config, store)) as scenarios:
        yield AssessmentRuns(config, store, scenarios)


async def cells_of(runs: AssessmentRuns, *scenarios: str, names: tuple[str, str] = ("a", "b")) -> list[Cell]:
    config = {"scenarios": list(scenarios), "offline": True, "seeds": [7]}
    plan = await runs.plan("campaign", {"participants": dict(zip(names, (A, B), strict=True)), "config": config})
    return TypeAdapter(list[Cell]).validate_json(await runs._store.get(plan.cells.cells))


async def test_agents_cross_in_the_roles_and_the_cell_names_them(runs: AssessmentRuns) -> None:
    cells = await cells_of(runs, "pair")
    assert [cell.given["participants"] for cell in cells] == [
        {"ana_side": A, "ben_side": A},
        {"ana_side": A, "ben_side": B},
        {"ana_side": B, "ben_side": A},
        {"ana_side": B, "ben_side": B},
    ]
    assert [cell.label for cell in cells] == [
        f"{cast} · pair · seed 7" for cast in ("a + a", "a + b", "b + a", "b + b")
    ]
    assert len({cell.cell_id for cell in cells}) == 4
    assert [[lane.name for lane in cell.lanes] for cell in cells] == [[A], [A, B], [B, A], [B]]


async def test_agents_named_as_the_roles_play_those_only(runs: AssessmentRuns) -> None:
    (cell,) = await cells_of(runs, "pair", names=("ben_side", "ana_side"))
    assert cell.given["participants"] == {"ana_side": B, "ben_side": A}
    assert cell.label == "ana_side + ben_side · pair · seed 7"


async def test_a_scenario_with_one_participant_is_played_by_each_agent_alone(runs: AssessmentRuns) -> None:
    cells = await cells_of(runs, "tiny", "pair")
    assert [cell.given["participants"] for cell in cells[:2]] == [{"a": A}, {"b": B}]
    assert len(cells) == 6
