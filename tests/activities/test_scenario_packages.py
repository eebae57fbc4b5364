"""Scenario packages: what loads, what is refused and with which sentence, and who sees whose modules."""

import base64
import hashlib
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.activities.scenario_code.manager import (
    EvaluatorLoadError,
    ScenarioManager,
    ScenarioNotFoundError,
    ScenarioPackage,
    ScenarioValidationError,
    is_shipped,
    load_evaluators,
    load_package,
)
from tests.assessments.packages import write_pair
from tests.sentences import says

Write = Callable[..., Path]

SHIPPED = {"email_triage_basic", "reschedule_day"}

CRITERION: dict[str, Any] = {
    "criterion_id": "c1",
    "name": "C",
    "dimension": "accuracy",
    "max_score": 4,
    "evaluator_id": "check",
}
CHECK = """
async def check(ctx, params):
    return {"score": 1, "max_score": 4, "explanation": "one"}
"""


def _load(directory: Path, scenario_id: str = "small") -> ScenarioPackage:
    """As the process does that loads a package for the worker."""
    folder = ScenarioManager(directory).find(scenario_id)
    package = load_package(folder)
    load_evaluators(folder, package.config.criteria)
    return package


def _evaluators(directory: Path, scenario_id: str = "small") -> Any:
    folder = ScenarioManager(directory).find(scenario_id)
    return load_evaluators(folder, load_package(folder).config.criteria)


def _environment(**modality_states: Any) -> dict[str, Any]:
    return {"environment": {"modality_states": modality_states}}


# --- attached files ---------------------------------------------------------------------------------------------------


def _mailed(*files: str) -> dict[str, Any]:
    attachments = [{"file": name, "mime_type": "text/csv"} for name in files]
    return _environment(email={"emails": {"m": {"attachments": attachments}}})


def test_an_attached_file_is_in_the_initial_state_once_by_its_hash(write_scenario: Write) -> None:
    directory = write_scenario("small", initial_state=_mailed("a.csv", "files/b.csv"))
    folder = directory / "small"
    (folder / "files").mkdir()
    for name in ("a.csv", "files/b.csv"):
        (folder / name).write_bytes(b"one,two")
    (folder / "a.csv.txt").write_text("one and two")
    email = json.loads(_load(directory).initial_state)["environment"]["modality_states"]["email"]
    [(sha256, file)] = email["files"].items()
    assert sha256 == hashlib.sha256(b"one,two").hexdigest()
    assert base64.b64decode(file["content"]) == b"one,two"
    assert [attachment["sha256"] for attachment in email["emails"]["m"]["attachments"]] == [sha256, sha256]
    assert email["emails"]["m"]["attachments"][0] == {
        "filename": "a.csv",
        "mime_type": "text/csv",
        "size": 7,
        "sha256": sha256,
    }


@pytest.mark.parametrize(
    ("files", "fact"),
    [
        ({}, "a0.csv"),
        ({"a0.csv": 0}, "524,288"),
        ({"a0.csv": 524_289}, "524,289"),
        ({f"a{number}.csv": 524_000 + number for number in range(9)}, "4,194,304"),
    ],
)
def test_missing_and_large_attached_files_are_refused(write_scenario: Write, files: dict[str, int], fact: str) -> None:
    directory = write_scenario("small", initial_state=_mailed(*files or ["a0.csv"]))
    for name, size in files.items():
        (directory / "small" / name).write_bytes(b"x" * size)
    with pytest.raises(ScenarioValidationError, check=says("small", fact)):
        _load(directory)


def test_an_attached_file_outside_of_the_folder_is_refused(write_scenario: Write) -> None:
    directory = write_scenario("small", initial_state=_mailed("../secret.csv"))
    (directory / "secret.csv").write_text("secret")
    with pytest.raises(ScenarioValidationError, check=says()):
        _load(directory)


# --- finding ----------------------------------------------------------------------------------------------------------


def test_ids_are_the_folders_with_a_scenario(write_scenario: Write) -> None:
    write_scenario("two")
    directory = write_scenario("one")
    (directory / "notes").mkdir()
    (directory / "readme.txt").write_text("not a scenario")
    assert set(ScenarioManager(directory).list_ids()) - SHIPPED == {"one", "two"}


def test_the_scenarios_that_come_with_proctor_are_there_too_unless_one_has_the_same_name(write_scenario: Write) -> None:
    directory = write_scenario("reschedule_day")
    manager = ScenarioManager(directory)
    assert manager.find("reschedule_day") == directory / "reschedule_day"
    assert is_shipped(manager.find("email_triage_basic"))


@pytest.mark.parametrize("name", ["three", "../scenarios/one", "/etc", "one\0", "", ".", "..", "one/", "ONE"])
def test_an_unknown_id_is_answered_with_the_known_ones(write_scenario: Write, name: str) -> None:
    write_scenario("one")
    with pytest.raises(ScenarioNotFoundError, check=says()) as caught:
        _load(write_scenario("two"), name)
    assert set(caught.value.known) == {"one", "two"} | SHIPPED


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioNotFoundError, check=says("scenarios_dir")):
        _load(tmp_path / "nowhere")


def test_the_default_falls_back_on_the_installed_scenarios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.find_spec("proctor.scenarios")
    assert spec is not None
    assert spec.origin is not None
    monkeypatch.chdir(tmp_path)
    assert ScenarioManager().directory == Path(spec.origin).parent
    (tmp_path / "scenarios" / "mine").mkdir(parents=True)
    (tmp_path / "scenarios" / "mine" / "scenario.json").write_text("{}")
    assert ScenarioManager().directory == tmp_path / "scenarios"


# --- scenario.json ----------------------------------------------------------------------------------------------------


def _with_raw(directory: Path, raw: bytes) -> Path:
    (directory / "small" / "scenario.json").write_bytes(raw)
    return directory


@pytest.mark.parametrize(
    "raw",
    [
        b'{\n  "name": "x",\n}',
        b'{"a": NaN}',
        b'{"a": 1, "a": 2}',
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        b"[" * 150 + b"]" * 150,
        b'{"a": ["\\ud83d"]}',
    ],
)
def test_a_file_that_is_not_json_is_refused_with_the_place(write_scenario: Write, raw: bytes) -> None:
    with pytest.raises(ScenarioValidationError, check=says()):
        _load(_with_raw(write_scenario(), raw))


@pytest.mark.parametrize(
    "change",
    [
        {"start_time": "tomorrow"},
        {"criteria": [CRITERION | {"max_score": 0}]},
        {"end_time": "2026-03-02T09:00:00+01:00"},
        {"user_character": "zoe"},
        {"initial_state": 7},
    ],
)
def test_a_bad_field_is_named_with_its_value(write_scenario: Write, change: dict[str, Any]) -> None:
    with pytest.raises(ScenarioValidationError, check=says()):
        _load(write_scenario(**change))


# --- the initial state ------------------------------------------------------------------------------------------------

STATE: dict[str, Any] = {
    "metadata": {"ues_version": "0.2", "scenario_version": "1", "created_at": "2026-01-01T00:00:00Z", "author": "A"},
    "environment": {
        "time_state": {"current_time": "2026-03-02T08:00:00Z"},
        "modality_states": {"chat": {"messages": []}},
    },
    "events": {"events": [{"scheduled_time": "2026-03-02T10:00:00Z", "modality": "chat", "data": {"role": "user"}}]},
}


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("in_a_file", [False, True])
def test_the_initial_state_loads_in_all_four_forms(write_scenario: Write, wrapped: bool, in_a_file: bool) -> None:
    state = {"scenario": STATE} if wrapped else STATE
    if in_a_file:
        directory = write_scenario(initial_state="state.json", files={"state.json": json.dumps(state)})
    else:
        directory = write_scenario(initial_state=state)
    loaded = json.loads(_load(directory).initial_state)
    assert loaded["environment"]["time_state"].pop("current_time") == "2026-03-02T09:00:00+01:00", "it is at its start"
    assert loaded["environment"].pop("time_state")["auto_advance"] is False
    environment = {name: value for name, value in STATE["environment"].items() if name != "time_state"}
    assert loaded == {**STATE, "environment": environment}


def test_missing_sections_are_filled_in(write_scenario: Write) -> None:
    state = json.loads(_load(write_scenario(initial_state=_environment())).initial_state)
    assert state["events"] == {"events": []}
    assert state["metadata"]["scenario_version"] == "1"


@pytest.mark.parametrize(
    ("state", "place"),
    [
        ([], "[]"),
        ({}, "environment"),
        ({"scenario": 3}, "scenario"),
        ({"scenario": {"environment": {}}}, "scenario.environment.modality_states"),
        ({"environment": []}, "environment"),
        (_environment(email=[]), "environment.modality_states.email"),
        (_environment(email={"emails": []}), "modality_states.email.emails"),
        (_environment(email={"emails": {"m1": 3}}), 'modality_states.email.emails["m1"]'),
        (_environment(chat={"messages": {}}), "modality_states.chat.messages"),
        (_environment() | {"events": []}, "events"),
        (
            _environment() | {"events": {"events": [{"scheduled_time": "noon", "modality": "chat", "data": {}}]}},
            "events.events[0].scheduled_time",
        ),
    ],
)
def test_a_broken_initial_state_is_refused_with_file_and_place(write_scenario: Write, state: Any, place: str) -> None:
    directory = write_scenario(initial_state="state.json", files={"state.json": json.dumps(state)})
    with pytest.raises(ScenarioValidationError, check=says("small/state.json", place)):
        _load(directory)


@pytest.mark.parametrize("name", ["../small/scenario.json/../../x.json", "/etc/hostname", "a\0b", ".", ""])
def test_an_initial_state_elsewhere_is_refused(write_scenario: Write, name: str) -> None:
    with pytest.raises(ScenarioValidationError, check=says()):
        _load(write_scenario(initial_state=name))


def test_a_missing_initial_state_file_is_named(write_scenario: Write) -> None:
    with pytest.raises(ScenarioValidationError, check=says("gone.json")):
        _load(write_scenario(initial_state="gone.json"))


# --- evaluators -------------------------------------------------------------------------------------------------------

HELPER_FORMS = {
    "plain": "import helpers\nasync def check(ctx, params):\n    return helpers.WHO\n",
    "from": "from helpers import WHO\nasync def check(ctx, params):\n    return WHO\n",
    "relative module": "from . import helpers\nasync def check(ctx, params):\n    return helpers.WHO\n",
    "relative name": "from .helpers import WHO\nasync def check(ctx, params):\n    return WHO\n",
    "late": "async def check(ctx, params):\n    import helpers\n    return helpers.WHO\n",
    "late relative": "async def check(ctx, params):\n    from .helpers import WHO\n    return WHO\n",
    "sibling of a sibling": "import more\nasync def check(ctx, params):\n    return more.who()\n",
    "package": "import parts.inner as inner\nasync def check(ctx, params):\n    return inner.WHO\n",
}


@pytest.mark.parametrize("form", HELPER_FORMS)
async def test_two_scenarios_have_helpers_of_the_same_name(write_scenario: Write, form: str) -> None:
    before = (dict(sys.modules), list(sys.path))
    for name in ("one", "two"):
        files = {
            "evaluators.py": HELPER_FORMS[form],
            "helpers.py": f"WHO = {name!r}\n",
            "more.py": "def who():\n    import helpers\n    return helpers.WHO\n",
            "parts/__init__.py": "",
            "parts/inner.py": "from helpers import WHO\n",
        }
        directory = write_scenario(name, files, criteria=[CRITERION])
    checks: list[Any] = [_evaluators(directory, name)["check"] for name in ("one", "two")]
    assert [await check(None, {}) for check in checks] == ["one", "two"]
    new = set(sys.modules) - set(before[0])
    assert all(module.startswith("_proctor_scenario_") for module in new)
    assert sys.path == before[1]
    assert not list(directory.rglob("__pycache__"))


def test_the_names_of_the_seeds_work_in_evaluators_and_nowhere_else(write_scenario: Write) -> None:
    code = (
        "import src.green.scenarios.schema as whole\n"
        "from src.green.scenarios import schema\n"
        "from src.green.scenarios.schema import AgentBeatsEvalContext, EvalResult, EvaluatorFunc\n"
        "from green.scenarios.schema import EvalResult as Same\n"
        "from src.common.agentbeats.results import ActionLogEntryWithTurn\n"
        "assert Same is EvalResult is whole.EvalResult is schema.EvalResult\n" + CHECK
    )
    _load(write_scenario(files={"evaluators.py": code}, criteria=[CRITERION]))
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("src.green.scenarios.schema")
    assert "src" not in sys.modules


def test_evaluators_are_the_async_functions_of_two_parameters(write_scenario: Write) -> None:
    code = CHECK + (
        "def helper(ctx, params): ...\nasync def fetch(one): ...\nasync def _hidden(ctx, params): ...\n"
        "async def other(ctx, params, more=1): ...\n"
    )
    directory = write_scenario(files={"evaluators.py": code}, criteria=[CRITERION])
    assert sorted(_evaluators(directory)) == ["check", "other"]


@pytest.mark.parametrize(
    "code",
    [
        "def broken(:\n",
        "\nimport nowhere_at_all\n",
        "import helpers\n",
        "import syntax\n",
        "from helpers_gone import x\n",
        "from . import gone\n",
        "import sys\nsys.exit(3)\n",
        "x = 1\n",
        CHECK.replace("check", "chekc"),
        "def check(ctx, params): ...\n",
        "async def check(ctx): ...\n",
        "check = 3\n",
    ],
)
def test_broken_evaluators_are_refused_with_the_place(write_scenario: Write, code: str) -> None:
    files = {"evaluators.py": code, "helpers.py": "1 / 0\n", "syntax.py": "\n1 +\n"}
    with pytest.raises(EvaluatorLoadError, check=says()):
        _load(write_scenario(files=files, criteria=[CRITERION]))


def test_a_criterion_without_an_evaluators_file_is_refused(write_scenario: Write) -> None:
    with pytest.raises(EvaluatorLoadError, check=says("evaluators.py", "c1")):
        _load(write_scenario(criteria=[CRITERION]))


def test_a_failed_import_is_tried_afresh(write_scenario: Write) -> None:
    files = {
        "evaluators.py": "import helpers\nassert helpers.FINE\n" + CHECK,
        "helpers.py": "import os\nFINE = 'OK_NOW' in os.environ\n",
    }
    directory = write_scenario(files=files, criteria=[CRITERION])
    with pytest.raises(EvaluatorLoadError):
        _load(directory)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OK_NOW", "1")
        assert "check" in _evaluators(directory)


# --- warnings ---------------------------------------------------------------------------------------------------------


def test_what_is_allowed_and_probably_not_meant_is_said(write_scenario: Write) -> None:
    people = {
        "ana": {"name": "Ana", "email": "ana@home.example", "phone": "+34 1"},
        "ben": {"name": "Ben"},
    }
    state = {
        "environment": {
            "time_state": {"current_time": "2026-03-02T09:30:00+01:00"},
            "modality_states": {"email": {"user_email_address": "x@y.example"}, "fax": {}},
        },
        "events": {
            "events": [
                {"scheduled_time": "2026-03-03T00:00:00Z", "modality": "chat", "data": {}},
                {"scheduled_time": "2026-03-01T00:00:00Z", "modality": "chat", "data": {}},
            ]
        },
    }
    directory = write_scenario(
        "strange",
        {"evaluators.py": CHECK},
        scenario_id="other",
        characters=people,
        default_time_step="PT1S",
        criteria=[CRITERION | {"evaluation_prompt": "How well?"}],
        initial_state=state,
    )
    facts = ("scenario_id", "10800", "scripted_replies", "ben", "c1", "fax", "2026-03-02T09:30:00+01:00")
    places = ("email.user_email_address", "end_time", "start_time")
    assert "\n".join(_load(directory, "strange").warnings) == says(*facts, *places)


def test_a_sound_scenario_has_no_warnings(write_scenario: Write) -> None:
    assert _load(write_scenario()).warnings == []


def test_each_role_is_a_package_of_its_own(tmp_path: Path) -> None:
    write_pair(tmp_path)
    sides = load_package(tmp_path / "pair").sides
    assert list(sides) == ["ana_side", "ben_side"]
    assert [side.config.user_character for side in sides.values()] == ["ana", "ben"]
    assert b"ben@work.example" in sides["ben_side"].initial_state


def test_roles_have_the_files_of_all_roles_since_one_may_forward_them_to_another(tmp_path: Path) -> None:
    write_pair(tmp_path)
    ben = tmp_path / "pair" / "ben.json"
    state = json.loads(ben.read_text())
    state["environment"]["modality_states"]["email"] |= _mailed("a.csv")["environment"]["modality_states"]["email"]
    ben.write_text(json.dumps(state))
    (tmp_path / "pair" / "a.csv").write_bytes(b"one,two")
    for side in load_package(tmp_path / "pair").sides.values():
        email = json.loads(side.initial_state)["environment"]["modality_states"]["email"]
        assert list(email["files"]) == [hashlib.sha256(b"one,two").hexdigest()]


def test_a_role_without_its_initial_state_is_refused(tmp_path: Path) -> None:
    write_pair(
        tmp_path, "broken", change=lambda scenario: scenario["roles"]["ben_side"].update(initial_state="no.json")
    )
    with pytest.raises(ScenarioValidationError, check=says("no.json")):
        load_package(tmp_path / "broken")
