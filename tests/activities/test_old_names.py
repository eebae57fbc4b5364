"""Scenarios were written with other names of our packages, and archives keep their code: the old names still work."""

import importlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import proctor.language.facts
import proctor.protocol.evaluation
import proctor.scenarios.kit.messages
import purple_sdk.protocol.results
from proctor.activities.scenario_code import freezing
from proctor.activities.scenario_code.evaluator_modules import KIT, import_evaluators, installed_kit
from proctor.activities.scenario_code.families import has_only_the_kit
from proctor.activities.scenario_code.freezing import packed, unpack
from proctor.activities.scenario_code.processes import ScenarioCode
from proctor.processes.names import _PLACES, current_name, old_names
from proctor.protocol.evaluation import AgentBeatsEvalContext
from proctor.scenarios.kit.making.days import make_day
from tests.activities.families import SOUND, write_family
from tests.activities.scenario_code import LIMITS, judged_by

Write = Callable[..., Path]

OLD = """
import proctor_protocol.evaluation
import scenarios.kit.messages as messages
from proctor_language import facts
from proctor_protocol.results import CriterionResult
from scenarios.kit.messages import messages_sent

async def judged(ctx, params):
    return [proctor_protocol.evaluation, messages, facts, CriterionResult, messages_sent]
"""
NOTHING = AgentBeatsEvalContext(None, {}, [], {}, {}, "")


def old_modules() -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] in _PLACES]


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    """Under an old name nothing stays: the process may have other packages with such names."""
    yield
    assert old_modules() == []


async def test_an_old_name_is_the_same_module_with_a_warning(write_scenario: Write) -> None:
    directory = write_scenario(files={"evaluators.py": OLD}) / "small"
    with pytest.warns(DeprecationWarning, match=r"^scenarios\.kit\.messages .* proctor\.scenarios\.kit"):
        module = import_evaluators(directory)
    messages = proctor.scenarios.kit.messages
    same: list[object] = [proctor.protocol.evaluation, messages, proctor.language.facts]
    same += [purple_sdk.protocol.results.CriterionResult, messages.messages_sent]
    assert await module.judged(NOTHING, {}) == same
    assert messages.__spec__ is not None
    assert messages.__spec__.name == messages.__name__


@pytest.mark.asyncio(loop_scope="module")
async def test_a_scenarios_process_knows_them_however_they_are_imported(
    write_scenario: Write, one_fork_server: None
) -> None:
    source = """
import importlib

async def check(ctx, params):
    import proctor_language.patterns
    found = [importlib.import_module(name) for name in ("scenarios.kit.checks", "proctor_protocol.visible")]
    names = [module.__name__ for module in (*found, proctor_language.patterns)]
    return {"score": 1, "max_score": 4, "explanation": " ".join(names)}
"""
    verdict = await judged_by(ScenarioCode(LIMITS), write_scenario(files={"evaluators.py": source}) / "small", "check")
    assert verdict.explanation.split() == [
        "proctor.scenarios.kit.checks",
        "proctor.protocol.visible",
        "proctor.language.patterns",
    ]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "imported",
    [
        "import scenarios.kit.times as times",
        "from scenarios.kit import times",
        "import scenarios.kit.times; times = scenarios.kit.times",
        "import proctor.scenarios.kit.times, proctor.language.facts; times = proctor.scenarios.kit.times",
        "import proctor.language.facts, proctor.scenarios.kit.times; times = proctor.scenarios.kit.times",
    ],
)
async def test_a_frozen_kit_has_both_names(
    imported: str, write_scenario: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kit = tmp_path / "kit"
    shutil.copytree(installed_kit(), kit, ignore=shutil.ignore_patterns("__pycache__"))
    (kit / "times.py").write_text("FROZEN = 'as it was'")
    monkeypatch.setattr(freezing, "installed_kit", lambda: kit)
    code = f"{imported}\n\nasync def judged(ctx, params): return times.FROZEN"
    copy = tmp_path / "copy"
    unpack(packed(write_scenario("reads", {"evaluators.py": code}) / "reads"), copy)
    assert (copy / KIT).is_dir()
    assert await import_evaluators(copy).judged(NOTHING, {}) == "as it was"


def test_a_familys_code_may_use_them_and_its_days_have_the_same_bytes(tmp_path: Path) -> None:
    folder = write_family(tmp_path, SOUND) / "families" / "one_question"
    new = make_day(folder, 2, 7).files()
    code = (folder / "family.py").read_text()
    assert "from proctor.scenarios.kit" in code
    (folder / "family.py").write_text(code.replace("from proctor.scenarios.kit", "from scenarios.kit"))
    with pytest.warns(DeprecationWarning, match=r"^scenarios\.kit\.making\.days"):
        old = make_day(folder, 2, 7).files()
    assert old == new
    assert b"\nfrom scenarios.kit.checks import " in old["evaluators.py"], "archived days have this line"
    (tmp_path / "day").mkdir()
    (tmp_path / "day" / "evaluators.py").write_bytes(old["evaluators.py"])
    assert has_only_the_kit(tmp_path / "day")


def test_each_old_name_has_a_place_and_others_are_left_alone() -> None:
    for name, places in _PLACES.items():
        assert current_name(name) in places
        assert [importlib.import_module(place).__name__ for place in places] == list(places)
    assert current_name("workflows.events") == "workflows.events"
    with old_names(), pytest.raises(ModuleNotFoundError, match=r"proctor\.language\.nothing"):
        importlib.import_module("proctor_language.nothing")
    assert json.__name__ == current_name("json")
