"""``proctor new-scenario``: a scenario that is valid, plays, and is held to its promise by tests of its own."""

import json
import runpy
from pathlib import Path

import pytest

from proctor.activities.judging.cases import KINDS, read_cases
from proctor.common.errors import UsageError
from proctor.protocol.scenario import ScenarioConfig
from tests.cli.commands import run_proctor
from tests.cli.projects import require_clean, require_in_wheel, run, run_tests
from tests.sentences import says
from tests.stack import Stack, play
from tests.work import NIGHTLY, only_nightly

NAME = "team-lunch"


@pytest.fixture(scope="module")
def project(scenarios_dir: Path) -> Path:
    """Written into the folder whose scenarios the shared evaluator plays."""
    run_proctor("new-scenario", NAME, "--folder", str(scenarios_dir))
    return scenarios_dir / NAME


def scenario_of(project: Path) -> ScenarioConfig:
    return ScenarioConfig.model_validate_json((project / "scenario.json").read_bytes())


def test_it_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_proctor("new-scenario", "s1", "--folder", ".")
    told = capsys.readouterr().out
    for command in ("python ./s1/build.py", "proctor scenarios validate ./s1", "pytest ./s1", "proctor play ./s1"):
        assert f"  {command}\n" in told
    assert "proctor up --scenarios-dir .\n  proctor assess s1 --agent http://localhost:8001 --offline" in told


def test_it_has_what_a_scenario_needs(project: Path) -> None:
    scenario = scenario_of(project)
    assert [key for key in scenario.characters if key != scenario.user_character] == ["ben"]
    assert len(scenario.criteria) == 2
    assert all(criterion.rubric and criterion.evaluation_prompt for criterion in scenario.criteria)
    state = json.loads((project / "initial_state.json").read_text())
    arriving = [event for event in state["events"]["events"] if event["modality"] == "email"]
    assert len(state["environment"]["modality_states"]["email"]["emails"]) + len(arriving) == 3
    cases = read_cases(project, scenario)
    items = {(criterion.criterion_id, item.id) for criterion in scenario.criteria for item in criterion.rubric or []}
    assert {(case.criterion, case.item, case.kind) for case in cases} == {
        (*item, kind) for item in items for kind in KINDS
    }


def test_each_has_a_canary_of_its_own(project: Path, tmp_path: Path) -> None:
    run_proctor("new-scenario", NAME, "--folder", str(tmp_path))
    assert scenario_of(project).canary != scenario_of(tmp_path / NAME).canary


def test_it_is_valid_without_a_warning(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_proctor("scenarios", "validate", str(project))
    assert capsys.readouterr().out == says("10")


@only_nightly  # by default: test_its_ideal_participant_earns_all_when_it_is_assessed
def test_its_tests_pass(project: Path) -> None:
    assert "8 passed" in run_tests(project)


def test_it_is_built_from_its_sources_and_ruff_finds_nothing(project: Path) -> None:
    run("build", "--check", folder=project)
    require_clean(project)


async def test_its_ideal_participant_earns_all_when_it_is_assessed(project: Path, stack: Stack) -> None:
    participants = runpy.run_path(str(project / "tests" / "participants.py"))
    overall = (await play(stack, NAME, participants["IDEAL"])).scores.overall
    assert (overall.score, overall.max_score) == (10, 10)


@pytest.mark.skipif(not NIGHTLY, reason="mypy takes long: make nightly")
def test_it_is_typed(project: Path) -> None:
    run("mypy", "--strict", "build.py", "evaluators.py", "tests", folder=project)


@pytest.mark.parametrize("name", ["", "Lunch", "team lunch", "../lunch"])
def test_a_name_that_is_none_is_told(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, check=says()):
        run_proctor("new-scenario", name, "--folder", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over(project: Path) -> None:
    with pytest.raises(UsageError, check=says()):
        run_proctor("new-scenario", NAME, "--folder", str(project.parent))


def test_its_templates_are_in_the_wheel() -> None:
    require_in_wheel("scenario")
