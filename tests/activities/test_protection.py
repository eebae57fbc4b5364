"""Code that did not come with proctor is refused where the machine can't confine it."""

import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from proctor.activities.scenario_code import confinement
from proctor.activities.scenario_code.confinement import find_missing_protections
from proctor.activities.scenario_code.freezing import packed
from proctor.activities.scenario_code.manager import ScenarioError, ScenarioValidationError
from proctor.activities.scenario_code.processes import EvaluatorRetryError, ScenarioCode
from proctor.activities.scenario_code.scenarios import Scenarios
from proctor.service.doctor.places import look_at_confinement
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobStore
from purple_sdk.processes import system_calls
from purple_sdk.settings.config import merge_configs
from tests.activities.scenario_code import GOOD, LIMITS, Write
from tests.sentences import says
from tests.stack import SCENARIOS

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def unprotected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with an old kernel and without libseccomp."""
    monkeypatch.setattr(confinement, "landlock_version", lambda: 0)
    monkeypatch.setattr(confinement, "filter_of_calls", lambda connects: None)


def config_of(folder: Path, tmp_path: Path) -> GreenAgentConfig:
    return GreenAgentConfig(scenarios_dir=str(folder), storage_url=str(tmp_path / "store"))


async def refusal(config: GreenAgentConfig, scenario_id: str) -> str:
    async with aclosing(Scenarios(config, BlobStore(config.storage_url))) as scenarios:
        try:
            await scenarios.load_package(scenario_id)
        except ScenarioError as problem:
            return str(problem)
    return ""


@pytest.mark.usefixtures("unprotected", "one_fork_server")
async def test_a_strangers_scenario_is_refused_unless_the_operator_trusts_it(
    write_scenario: Write, tmp_path: Path
) -> None:
    config = config_of(write_scenario(files={"evaluators.py": GOOD}), tmp_path)
    sentence = await refusal(config, "small")
    assert says().within(sentence)
    assert says().within(sentence)
    assert says().within(sentence)
    assert "AGENTBEATS_GREEN_TRUST_SCENARIOS=true" in sentence
    found = await look_at_confinement(config)
    assert (found.state, found.said[-8:]) == ("warning", "refused.")
    trusting = merge_configs(config, {"trust_scenarios": True})
    assert await refusal(trusting, "small") == ""
    assert says().within((await look_at_confinement(trusting)).said)


@pytest.mark.usefixtures("unprotected", "one_fork_server")
async def test_a_scenario_that_came_with_proctor_is_played_everywhere(tmp_path: Path) -> None:
    assert await refusal(config_of(SCENARIOS, tmp_path), "email_triage_basic") == ""


@pytest.mark.usefixtures("unprotected", "one_fork_server")
async def test_frozen_code_that_another_machine_admitted_is_refused_too(write_scenario: Write, tmp_path: Path) -> None:
    """A worker that confines code may have admitted what this one is to judge."""
    folder = write_scenario(files={"evaluators.py": GOOD})
    config = config_of(folder, tmp_path)
    store = BlobStore(config.storage_url)
    async with aclosing(Scenarios(config, store)) as scenarios:
        strange, shipped = [
            await store.put(packed(place)) for place in (folder / "small", SCENARIOS / "email_triage_basic")
        ]
        with pytest.raises(ScenarioValidationError, check=says()):
            await scenarios.unpack_frozen_code("small", strange)
        with pytest.raises(ScenarioValidationError, check=says()):
            await scenarios.unpack_current_code("small")
        with pytest.raises(ScenarioValidationError, check=says()):
            await scenarios.unpack_frozen_code("email_triage_basic", strange)  # with a name that is not its own
        assert (await scenarios.unpack_frozen_code("email_triage_basic", shipped)).is_dir()


async def test_no_code_runs_where_the_protection_was_there_and_is_lost(
    write_scenario: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """libseccomp is looked for by starting programs, which fails on a machine that is short of memory."""
    if find_missing_protections():
        pytest.skip(f"not this machine: {find_missing_protections()}")
    (tmp_path / "pyseccomp.py").write_text("raise ImportError")
    monkeypatch.syspath_prepend(tmp_path)
    code = ScenarioCode(LIMITS)
    try:
        with pytest.raises(EvaluatorRetryError, check=says()):
            await code.load(write_scenario(files={"evaluators.py": GOOD}) / "small")
    finally:
        await code.aclose()


async def test_without_the_library_no_filter_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    assert system_calls.make_filter(system_calls.SCENARIO_CODE) is None


async def test_this_machine_confines_code(tmp_path: Path) -> None:
    if find_missing_protections():
        pytest.skip(f"not this one: {find_missing_protections()}")
    assert (await look_at_confinement(config_of(SCENARIOS, tmp_path))).state == "ok"
