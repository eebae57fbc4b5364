"""Days that families make: the same each time, frozen like any scenario, and refused with the reason."""

import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.testing import ActivityEnvironment

from activities.attempts import heartbeats
from activities.scenario_code import allowance, processes
from activities.scenario_code.allowance import Allowance
from activities.scenario_code.families import has_only_the_kit, list_families, read_family
from activities.scenario_code.manager import (
    InstanceError,
    ScenarioManager,
    ScenarioNotFoundError,
    ScenarioValidationError,
)
from activities.scenario_code.processes import ScenarioCode
from activities.scenario_code.scenarios import Loaded, Scenarios
from proctor_protocol.instances import Instance
from proctor_settings.config import GreenAgentConfig
from proctor_storage.blobs import BlobStore
from tests.activities.families import ONE_QUESTION, SOUND, faulty, write_family
from tests.activities.scenario_code import Write

DAY = "family one_question makes no day of difficulty 2 and seed 7: "


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
    monkeypatch.setattr("activities.scenario_code.scenarios._SCENARIOS_KEPT", 2)
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


FAULTS = [
    ("raise ValueError('no room')", "the family's code raised ValueError: no room (family.py line 7)"),
    ("raise InconsistentDayError('door', 'two answers are right')", "duty door: two answers are right"),
    ("raise InconsistentDayError('d\\ud83d', 'half \\udc00')", "duty d?: half ?"),
    ("raise InconsistentDayError('door', 'x' * 3_900_000)", f"duty door: {'x' * 2000}… (3,898,000 more characters)"),
    ("raise ValueError('half \\ud83d')", "the family's code raised ValueError: half ?"),
    (
        "raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})",
        "the family's code raised Odd: (its message can't be read)",
    ),
    ("day.files = lambda: {'\\ud83d': b''}", 'its files are ["?"]: at most 50 plain names, each once'),
    ("day.files = lambda: {5: b''}", "the family's code raised ValidationError"),
    ("day.duties[0]", "the family's code raised IndexError: list index out of range (family.py line 7)"),
    ("open('/etc/passwd')", "the family's code raised PermissionError: [Errno 13]"),
    ("bytearray(10 * 1024**3)", "the family's code raised MemoryError"),
    ("os._exit(3)", "the family's code ended its process (exit code 3)"),
    ("os.abort()", "the family's code was ended by signal "),
    ("raise SystemExit(1)", "the family's code raised SystemExit: 1"),
    ("print('a' * 10_000_000, flush=True)", "the family's code printed more than 1024 kB and was stopped"),
    ("day.files = lambda: {'../../x': b''}", 'its files are ["../../x"]: at most 50 plain names, each once'),
    ("day.files = lambda: {}", "its files are []: at most 50 plain names, each once"),
    ("day.files = lambda: {f'{n}': b'' for n in range(51)}", 'its files are ["0", "1", '),
    ("day.files = lambda: {'a': b'a' * 65 * 1024**2}", "its files have more than 64 MB"),
    ("day.files = lambda: {'scenario.json': b'{}'}", "one_question/scenario.json: "),
    ("day.files = lambda: 5", "the family's code raised AttributeError"),
]


@in_one_loop
async def test_a_family_that_makes_no_day_is_refused_with_the_reason(scenarios: Scenarios, tmp_path: Path) -> None:
    before = set(os.listdir(tmp_path))
    for body, reason in FAULTS:
        write_family(tmp_path / "scenarios", faulty(body))
        with pytest.raises(InstanceError) as caught:
            await scenarios.load("one_question", 2, 7)
        assert str(caught.value).startswith(DAY + reason)
        duty = reason.split()[1].rstrip(":") if reason.startswith("duty ") else None
        assert (caught.value.instance.seed, caught.value.duty) == (7, duty)
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
        with pytest.raises(InstanceError, match="was still at work after 1 s and was stopped"):
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
    before = [{"kind": "spent", "what": day, "seconds": seconds} for seconds in (100.0, 79.5)]
    others = {"kind": "spent", "what": "another day", "seconds": 170.0}
    scheduled = surroundings.info.started_time - timedelta(minutes=3)

    async def load() -> None:
        heartbeats._notes.set([others, *before])
        await starving.load("one_question", 2, 7)

    surroundings.on_heartbeat = lambda *details: noted.append(details[-1])
    async with aclosing(starving):
        for about in ({"is_local": True, "scheduled_time": scheduled}, {"heartbeat_timeout": timedelta(seconds=4)}):
            surroundings.info = replace(surroundings.info, attempt=4, **{"is_local": False, **about})
            with pytest.raises(
                InstanceError, match="still at work after 180 s on a busy machine, all tries together, and"
            ):
                await surroundings.run(load)
    assert [(each["kind"], each["what"]) for each in noted] == [("spent", day)]


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
    with pytest.raises(InstanceError, match="was not loaded within 180 s on a busy machine, all tries together: "):
        await scenarios.load("one_question", 2, 7)


@in_one_loop
async def test_a_fixed_scenario_has_no_difficulty(write_scenario: Write, scenarios: Scenarios) -> None:
    write_scenario("fixed", files={"evaluators.py": ""})
    assert (await scenarios.load("fixed", None, 7)).instance is None
    with pytest.raises(ScenarioValidationError, match="difficulty is 2, and fixed is a fixed scenario"):
        await scenarios.load("fixed", 2, 7)


@in_one_loop
async def test_an_unknown_name_is_answered_with_the_nearest(write_scenario: Write, scenarios: Scenarios) -> None:
    write_scenario("fixed")
    with pytest.raises(ScenarioNotFoundError) as caught:
        await scenarios.load("one_questoin", 2, 7)
    assert "; families: " in str(caught.value)
    assert str(caught.value).endswith("; did you mean one_question?")
    with pytest.raises(ScenarioNotFoundError, match="; did you mean fixed"):
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
    for content, problem in {
        "title = 5": "one_question/family.toml: title is 5: it must be a valid string",
        "": "one_question/family.toml: title is missing: add it",
        "title": "one_question/family.toml isn't TOML: ",
        f"a = {'[' * 5000}": "one_question/family.toml isn't TOML: ",
        f"a = {'1' * 5000}": "one_question/family.toml isn't TOML: ",
    }.items():
        description.write_text(content)
        with pytest.raises(ScenarioValidationError) as caught:
            read_family(description.parent)
        assert str(caught.value).startswith(problem)
    description.unlink()
    with pytest.raises(ScenarioValidationError, match="every family needs one, with title and ability"):
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
