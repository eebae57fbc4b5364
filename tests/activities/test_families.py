"""Days that families make: the same each time, frozen like any scenario, and refused with the reason."""

import json
import os
import re
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from pydantic import JsonValue
from temporalio.testing import ActivityEnvironment

from proctor.activities.attempts import heartbeats
from proctor.activities.scenario_code import allowance, processes
from proctor.activities.scenario_code.allowance import Allowance
from proctor.activities.scenario_code.families import has_only_the_kit, list_families, read_family
from proctor.activities.scenario_code.manager import (
    InstanceError,
    ScenarioManager,
    ScenarioNotFoundError,
    ScenarioValidationError,
)
from proctor.activities.scenario_code.processes import ScenarioCode
from proctor.activities.scenario_code.scenarios import Loaded, Scenarios
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobStore
from purple_sdk.protocol.instances import Instance
from tests.activities.families import ONE_QUESTION, SOUND, faulty, write_family
from tests.activities.scenario_code import Write
from tests.sentences import says

pytestmark = pytest.mark.usefixtures("quick_fork_servers", "one_fork_server")
in_one_loop = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def scenarios(tmp_path: Path, one_fork_server: None) -> AsyncIterator[Scenarios]:
    folder = write_family(tmp_path / "scenarios")
    config = GreenAgentConfig(
        scenarios_dir=str(folder), storage_url=str(tmp_path / "store"), evaluator_timeout=20, trust_scenarios=True
    )
    async with aclosing(Scenarios(config, BlobStore(config.storage_url))) as found:
        yield found


def files_of(scenarios: Scenarios, name: str) -> Path:
    folder = scenarios._manager.find_family(name)
    assert folder is not None
    return folder


# --- made -------------------------------------------------------------------------------------------------------------


@in_one_loop
async def test_a_day_is_a_scenario_as_any_other(scenarios: Scenarios) -> None:
    package, files, instance = await scenarios.load("one_question", 3, 7)
    assert instance == Instance(family="one_question", difficulty=3, seed=7)
    assert package.config.scenario_id == "one_question"
    assert {"door", "nothing_else"} == {criterion.criterion_id for criterion in package.config.criteria}
    ref = await scenarios._store.put(files)
    folder = await scenarios.unpack_frozen_code("one_question", ref)
    assert json.loads((folder / "truth.json").read_text())["seed"] == 7
    assert (folder / "_kit" / "checks.py").is_file(), "judged by the kit of its own time"
    assert not (folder / "_kit" / "making").exists()
    assert not (folder / "family.py").exists()


@in_one_loop
async def test_the_same_seed_is_the_same_day_everywhere(scenarios: Scenarios, tmp_path: Path) -> None:
    async def load(seed: int, difficulty: int | None, of: Scenarios) -> Loaded:
        return await of.load("one_question", difficulty, seed)

    first = await load(7, 2, scenarios)
    assert (await load(7, None, scenarios)).files == first.files, "2 is the usual difficulty"
    assert (await load(8, 2, scenarios)).files != first.files
    assert (await load(7, 3, scenarios)).files != first.files
    config = GreenAgentConfig(
        scenarios_dir=str(tmp_path / "scenarios"), storage_url=str(tmp_path / "else"), trust_scenarios=True
    )
    async with aclosing(Scenarios(config, BlobStore(config.storage_url))) as other:
        assert (await load(7, 2, other)).files == first.files


@in_one_loop
async def test_a_day_is_made_once_until_its_family_changes(
    scenarios: Scenarios, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    make = ScenarioCode.make

    async def counted(code: ScenarioCode, directory: Path, instance: Instance, within: Allowance) -> dict[str, bytes]:
        made.append(instance.seed)
        return await make(code, directory, instance, within)

    monkeypatch.setattr(ScenarioCode, "make", counted)
    monkeypatch.setattr("proctor.activities.scenario_code.scenarios._SCENARIOS_KEPT", 2)
    before = await scenarios.load("one_question", 2, 7)
    assert await scenarios.load("one_question", 2, 7) == before
    assert made == [7]
    write_family(tmp_path / "scenarios", SOUND.replace("Which code", "What code"))
    assert (await scenarios.load("one_question", 2, 7)).files != before.files
    assert made == [7, 7]
    for seed in (8, 9, 9, 7):
        await scenarios.load("one_question", 2, seed)
    assert made == [7, 7, 8, 9, 7], "the oldest is forgotten"


# --- refused ----------------------------------------------------------------------------------------------------------


OF_PYTHON = re.compile(r"(?<=TOML: ).*")
"""What tomllib says, which differs between versions of Python."""
FAULTS = [
    "raise ValueError('no room')",
    "raise InconsistentDayError('door', 'two answers are right')",
    "raise InconsistentDayError('d\\ud83d', 'half \\udc00')",
    "raise InconsistentDayError('door', 'x' * 3_900_000)",
    "raise ValueError('half \\ud83d')",
    "raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})",
    "day.files = lambda: {'\\ud83d': b''}",
    "day.files = lambda: {5: b''}",
    "day.duties[0]",
    "open('/etc/passwd')",
    "bytearray(10 * 1024**3)",
    "os._exit(3)",
    "os.abort()",
    "raise SystemExit(1)",
    "print('a' * 10_000_000, flush=True)",
    "day.files = lambda: {'../../x': b''}",
    "day.files = lambda: {}",
    "day.files = lambda: {f'{n}': b'' for n in range(51)}",
    "day.files = lambda: {'a': b'a' * 65 * 1024**2}",
    "day.files = lambda: {'scenario.json': b'{}'}",
    "day.files = lambda: 5",
]
DUTIES = {1: "door", 2: "d?", 3: "door"}
"""The duty that a fault names, by its place."""


@in_one_loop
async def test_a_family_that_makes_no_day_is_refused_with_the_reason(scenarios: Scenarios, tmp_path: Path) -> None:
    before = set(os.listdir(tmp_path))
    for place, body in enumerate(FAULTS):
        write_family(tmp_path / "scenarios", faulty(body))
        with pytest.raises(InstanceError) as caught:
            await scenarios.load("one_question", 2, 7)
        assert says("one_question")(caught.value)
        assert (caught.value.instance.seed, caught.value.duty) == (7, DUTIES.get(place))
    assert set(os.listdir(tmp_path)) == before, "nothing is stored"
    write_family(tmp_path / "scenarios")
    assert (await scenarios.load("one_question", 2, 7)).instance is not None, "a later one is not affected"


@in_one_loop
async def test_a_family_that_loops_is_stopped(tmp_path: Path) -> None:
    folder = write_family(tmp_path / "scenarios", faulty("__import__('time').sleep(600)"))
    config = GreenAgentConfig(
        scenarios_dir=str(folder), storage_url=str(tmp_path / "store"), evaluator_timeout=1, trust_scenarios=True
    )
    async with aclosing(Scenarios(config, BlobStore(config.storage_url))) as scenarios:
        with pytest.raises(InstanceError, check=says()):
            await scenarios.load("one_question", 2, 7)


@in_one_loop
async def test_the_time_that_a_family_waits_for_a_processor_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_family(tmp_path / "scenarios", faulty("__import__('time').sleep(1.5)"))
    config = GreenAgentConfig(
        scenarios_dir=str(folder), storage_url=str(tmp_path / "store"), evaluator_timeout=1, trust_scenarios=True
    )
    began = time.monotonic()
    monkeypatch.setattr(processes, "_seconds_waited", lambda pid: time.monotonic() - began)
    async with aclosing(Scenarios(config, BlobStore(config.storage_url))) as scenarios:
        assert (await scenarios.load("one_question", 2, 7)).instance is not None


@pytest.fixture
def starving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scenarios:
    """A family that loops; its own time never passes."""
    folder = write_family(tmp_path / "scenarios", faulty("__import__('time').sleep(600)"))
    began = time.monotonic()
    monkeypatch.setattr(processes, "_seconds_waited", lambda pid: time.monotonic() - began)
    config = GreenAgentConfig(
        scenarios_dir=str(folder), storage_url=str(tmp_path / "store"), evaluator_timeout=1, trust_scenarios=True
    )
    return Scenarios(config, BlobStore(config.storage_url))


@in_one_loop
async def test_a_family_that_never_gets_a_processor_is_stopped_in_all_tries_together(starving: Scenarios) -> None:
    """A try of a local activity ends after a minute. Others wait for workers first, and each try notes what it used."""
    day = "one_question · difficulty 2 · seed 7"
    surroundings, noted = ActivityEnvironment(), []
    before: list[JsonValue] = [{"kind": "spent", "what": day, "seconds": seconds} for seconds in (100.0, 79.5)]
    others: JsonValue = {"kind": "spent", "what": "another day", "seconds": 170.0}
    scheduled = surroundings.info.started_time - timedelta(minutes=3)

    async def load() -> None:
        heartbeats._notes.set([others, *before])
        await starving.load("one_question", 2, 7)

    surroundings.on_heartbeat = lambda *details: noted.append(details[-1])
    async with aclosing(starving):
        calls: list[dict[str, Any]] = [
            {"is_local": True, "scheduled_time": scheduled},
            {"is_local": False, "heartbeat_timeout": timedelta(seconds=4)},
        ]
        for about in calls:
            surroundings.info = replace(surroundings.info, attempt=4, **about)
            with pytest.raises(InstanceError, check=says(seconds=re.compile(r"[\d.]+(?= s )"))):
                await surroundings.run(load)
    assert [(note["kind"], note["what"]) for note in noted] == [("spent", day)]


@in_one_loop
async def test_a_day_is_made_and_loaded_in_one_time_for_both(
    scenarios: Scenarios, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The family may have left nothing to its day, which is then not loaded."""
    make = ScenarioCode.make

    async def slow(code: ScenarioCode, directory: Path, instance: Instance, within: Allowance) -> dict[str, bytes]:
        made = await make(code, directory, instance, within)
        within._used += allowance.IN_ALL_TRIES
        return made

    monkeypatch.setattr(ScenarioCode, "make", slow)
    with pytest.raises(InstanceError, check=says(seconds=re.compile(r"[\d.]+(?= s )"))):
        await scenarios.load("one_question", 2, 7)


@in_one_loop
async def test_a_fixed_scenario_has_no_difficulty(write_scenario: Write, scenarios: Scenarios) -> None:
    write_scenario("fixed", files={"evaluators.py": ""})
    assert (await scenarios.load("fixed", None, 7)).instance is None
    with pytest.raises(ScenarioValidationError, check=says()):
        await scenarios.load("fixed", 2, 7)


@in_one_loop
async def test_an_unknown_name_is_answered_with_the_nearest(write_scenario: Write, scenarios: Scenarios) -> None:
    write_scenario("fixed")
    with pytest.raises(ScenarioNotFoundError) as caught:
        await scenarios.load("one_questoin", 2, 7)
    assert "; families: " in str(caught.value)
    assert says("one_question").within(str(caught.value))
    with pytest.raises(ScenarioNotFoundError, check=says("fixed")):
        await scenarios.load("fixd", None, 7)
    with pytest.raises(ScenarioNotFoundError):
        await scenarios.load("families/one_question", 2, 7)


# --- described --------------------------------------------------------------------------------------------------------


def test_a_fixed_scenario_of_the_same_name_comes_first(write_scenario: Write, tmp_path: Path) -> None:
    folder = write_family(tmp_path / "scenarios")
    assert ScenarioManager(folder).find_family("one_question") is not None
    write_scenario("one_question")
    assert ScenarioManager(folder).find_family("one_question") is None


def test_a_family_is_described_by_its_toml(tmp_path: Path) -> None:
    folder = write_family(tmp_path / "scenarios")
    found = {
        family.name: family for family in list_families(ScenarioManager(folder)) if not isinstance(family, Exception)
    }
    assert (found["one_question"].title, found["one_question"].ability) == ("One question", "answering")
    description = folder / "families" / "one_question" / "family.toml"
    for content, place in {
        "title = 5": "title",
        "": "title",
        "title": "TOML",
        f"a = {'[' * 5000}": "TOML",
        f"a = {'1' * 5000}": "TOML",
    }.items():
        description.write_text(content)
        with pytest.raises(ScenarioValidationError, check=says("one_question/family.toml", place, why=OF_PYTHON)):
            read_family(description.parent)
    description.unlink()
    with pytest.raises(ScenarioValidationError, check=says()):
        read_family(description.parent)


# --- trusted ----------------------------------------------------------------------------------------------------------


@in_one_loop
async def test_a_frozen_day_has_only_code_of_the_kit(scenarios: Scenarios) -> None:
    """So that it can be judged on a machine that can't confine a stranger's code."""
    loaded = await scenarios.load("one_question", 2, 7)
    folder = await scenarios.unpack_frozen_code("one_question", await scenarios._store.put(loaded.files))
    assert has_only_the_kit(folder)
    assert not has_only_the_kit(ONE_QUESTION)
    evaluators = folder / "evaluators.py"
    sound = evaluators.read_text()
    for strange in ("import os\n", "from os import system\n", "print(1)\n", "def f():\n    pass\n", "x = 1\n", "(\n"):
        evaluators.write_text(sound + strange)
        assert not has_only_the_kit(folder)
    evaluators.write_text(sound)
    (folder / "_kit" / "checks.py").write_text("import os")
    assert not has_only_the_kit(folder)
