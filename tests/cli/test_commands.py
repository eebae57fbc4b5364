"""Exit codes and sentences: 0 done, 1 failed, 2 wrong usage, 3 can't reach a service, 4 cancelled."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import BaseModel

import proctor.service.worker  # and with it nearly all models
from proctor.activities.plan import Model
from proctor.cli.main import main
from proctor.protocol.scenario import ScenarioModel
from purple_sdk.processes.ports import free_ports
from purple_sdk.protocol._wire import WireModel
from purple_sdk.protocol.instances import Instance
from purple_sdk.ues.answers import UESAnswer
from tests.activities.families import SOUND, write_family
from tests.cli.commands import Sandbox
from tests.programs import LINKED
from tests.sentences import says
from tests.work import some_of

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@pytest.fixture
def nobody() -> str:
    """An address at which nobody listens."""
    return f"http://127.0.0.1:{free_ports(1)[0]}"


HEAVY = (
    "temporalio",
    "a2a",
    "uvicorn",
    "starlette",
    "httpx",
    "langchain_core",
    "proctor.ues",
    "proctor.activities",
    "proctor.workflows",
)
MODELS = {"langchain_core", "langchain_openai", "openai", "langsmith", "numpy", "scipy"}
"""What only models and statistics need."""


def imported_by(*imports: str) -> Iterator[set[str]]:
    """What a process has imported after each of some imports, one after the other."""
    tell = "print(*(name for name, module in sys.modules.items() if module))"
    code = "import sys; from proctor.processes.importing import import_less; import_less()"
    for module in imports:
        code += f"; import {module}; {tell}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return (set(line.split()) for line in ran.stdout.splitlines())


def test_help_is_there_at_once_and_imports_nothing_that_it_does_not_need() -> None:
    at_the_end = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules)); from proctor.cli.main import main; main()"
    )
    ran = subprocess.run([sys.executable, "-c", at_the_end, "--help"], capture_output=True, text=True, check=True)
    for command in ("up", "demo", "assess", "worker", "gateway", "ues", "agent", "scenarios"):
        assert f"  {command} " in ran.stdout
    imported = set(ran.stdout.splitlines()[-1].split())
    assert "proctor.cli.main" in imported
    assert imported.isdisjoint({*HEAVY, *MODELS})


def test_no_process_imports_what_only_others_need() -> None:
    """A worker does neither: ``test_terminal_extra``."""
    up, commands = imported_by("proctor.local.up", "proctor.cli.demo, proctor.cli.scenario_packages")
    assert up.isdisjoint({"temporalio", "a2a", "jwt", "proctor.ues", "starlette.applications", "uvicorn", *MODELS})
    assert commands.isdisjoint({"temporalio.worker", "proctor.ues", "proctor.service.parts", *MODELS})
    [services] = imported_by("proctor.service.services, proctor.ues.server, purple_sdk.examples.triage_agent")
    assert services.isdisjoint({"temporalio", "proctor.a2a_gateway", "proctor.activities.scenario_code", *MODELS})
    pages = "proctor.a2a_gateway.server, proctor.viewer.app, proctor.service.page_actions, proctor.service.running"
    parent, gateway = imported_by("proctor.service.services, proctor.service.worker_processes", pages)
    assert parent.isdisjoint({"temporalio", "httpx", "proctor.service.parts"})
    assert gateway.isdisjoint({"proctor.ues", "proctor.service.parts", "jwt", "rich", "temporalio.worker", *MODELS})
    [statistics] = imported_by("proctor.statistics, proctor.local.audit.study")
    assert "scipy" not in statistics, "only the functions that compute with it import it"


def test_no_module_has_a_second_name() -> None:
    """In a checkout Python finds the folders that are linked into ``proctor`` at the top, too."""
    (imported,) = imported_by("proctor.service.worker, proctor.a2a_gateway.server, proctor.cli.scenario_packages")
    assert {"proctor.workflows.assessment", "proctor.activities.admission"} <= imported
    assert {name for name in imported if name.partition(".")[0] in LINKED} == set()


def test_a_model_that_is_built_when_it_is_first_used_can_be() -> None:
    def all_of(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
        for model in base.__subclasses__():
            yield model
            yield from all_of(model)

    each = [model for base in (WireModel, Model, ScenarioModel, UESAnswer) for model in all_of(base)]
    assert len(each) > 100
    for model in each:
        model.model_rebuild()
        assert model.__pydantic_complete__, model


WRONG_USAGE: list[tuple[list[str], dict[str, str], str]] = [
    (["fly"], {}, "fly"),
    (["assess"], {}, "'SCENARIO'"),
    (["assess", "email_triage_basic"], {}, "--agent"),
    (
        ["assess", "x", "--agent", "http://a", "--agent", "http://b"],
        {},
        "proctor run",
    ),
    (["gateway", "--port", "1", "--port", "1"], {}, "--port"),
    (["assess", "x", "--agent", "http://a", "--max-turns", "0"], {}, "--max-turns"),
    (["assess", "x", "--agent", "http://a", "--seed", "many"], {}, "--seed"),
    (["assess", "x", "--agent", "http://a", "--json", "no/such/folder/r.json"], {}, "no/such/folder/r.json"),
    (["assess", "x", "--agent", "http://a", "--json", "."], {}, "--json"),
    (["assess", "x", "--agent", "http://a"], {"AGENTBEATS_GREEN_PORT": "many"}, "AGENTBEATS_GREEN_PORT"),
    (["gateway", "--port", "70000"], {}, "--port"),
    (["gateway", "--temporal-adress", "x"], {}, "--temporal-adress"),
    (["worker", "--scenarios-dir", "no-such-folder"], {}, "no-such-folder"),
    (["worker"], {"AGENTBEATS_GREEN_ASSESSMENT_TIMEOUT": "soon"}, "AGENTBEATS_GREEN_ASSESSMENT_TIMEOUT"),
    (["worker"], {"AGENTBEATS_LOG_LEVEL": "loud"}, "AGENTBEATS_LOG_LEVEL"),
    (["worker"], {"AGENTBEATS_GREEN_SECRET": ""}, "AGENTBEATS_GREEN_SECRET"),
    (["worker", "--ues-url", "localhost:8100"], {}, "--ues-url"),
    (["worker", "--state", ""], {}, "--state"),
    (["demo", "--seed", "x"], {}, "--seed"),
    (["up", "--ues-port", "9000", "--ui-port", "9000"], {}, "9000"),
    (["up", "--scenarios-dir", "no-such-folder"], {}, "no-such-folder"),
    (["agent", "dance"], {}, "dance"),
    (["agent", "assistant"], {"AGENTBEATS_PURPLE_MODEL": "mystery"}, "openai/mystery"),
    (["scenarios", "show", "no_such_scenario"], {}, "no_such_scenario"),
    (["scenarios", "validate", "no_such_scenario"], {}, "no_such_scenario"),
    (["scenarios", "validate", "no/such/folder"], {}, "no/such/folder"),
    (["scenarios", "list", "--scenarios-dir", "no-such-folder"], {}, "no-such-folder"),
]


@pytest.mark.parametrize("place", ["argument 3", "the working directory"])
def test_a_folder_whose_name_the_locale_has_no_letters_for_is_named(place: str, tmp_path: Path) -> None:
    (folder := tmp_path / "naïve").mkdir()
    sandbox, archive = (Sandbox(tmp_path), str(folder)) if place == "argument 3" else (Sandbox(folder), ".")
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TMPDIR": str(tmp_path)}
    ascii_only["XDG_STATE_HOME"] = str(tmp_path / "state")
    done = sandbox.run("list", "--archive", archive, **ascii_only)
    assert done.returncode == 2
    assert says("LC_ALL", "C.UTF", place=place, tmp_path=tmp_path).within(done.stderr)


@pytest.mark.parametrize(("arguments", "environment", "fact"), WRONG_USAGE, ids=lambda value: str(value)[:60])
def test_wrong_usage_is_told_and_ends_with_2(
    arguments: list[str],
    environment: dict[str, str],
    fact: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["proctor", *arguments])
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert says(fact).within(capsys.readouterr().err)


def test_the_version_is_that_of_the_installed_package(sandbox: Sandbox) -> None:
    done = sandbox.call("--version")
    assert (done.returncode, done.stdout) == (0, f"proctor {version('proctor')}\n")


def test_the_scenarios_that_came_with_proctor_are_listed_and_a_variable_that_is_no_setting_is_warned_of(
    sandbox: Sandbox,
) -> None:
    wrong = {"AGENTBEATS_GREEN_TEMPORAL_ADRESS": "x", "AGENTBEATS_PURPLE_HOTS": "x", "AGENTBEATS_XYZZY": "x"}
    done = sandbox.call("scenarios", "list", AGENTBEATS_GREEN_PORT="8000", **wrong)
    assert done.returncode == 0
    assert "email_triage_basic" in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stderr.splitlines() == [
        says("AGENTBEATS_GREEN_TEMPORAL_ADRESS", "AGENTBEATS_GREEN_TEMPORAL_ADDRESS"),
        says("AGENTBEATS_PURPLE_HOTS", "AGENTBEATS_PURPLE_HOST"),
        says("AGENTBEATS_XYZZY"),
    ]


@pytest.mark.parametrize("command", some_of(["ues", "gateway", "agent triage"], 1))
def test_a_service_listens_on_this_machine_only_unless_told_otherwise_and_ends_well_at_ctrl_c(
    sandbox: Sandbox, command: str
) -> None:
    (port,) = free_ports(1)
    with sandbox.started(*command.split(), "--port", str(port), AGENTBEATS_PURPLE_TEMPERATURE="1.9") as service:
        service.wait_for("listening on")
        assert listening_at(service.process.pid) == {("127.0.0.1", port)}
        assert service.end(signal.SIGINT) == 0
    assert "Traceback" not in service.output
    assert ("temperature 1.9" in service.output) == command.startswith("agent")


@pytest.mark.parametrize("command", ["gateway", "up --without-agent", "view"])
def test_a_gateway_that_asks_nobody_is_opened_to_others_only_by_whoever_means_it(
    sandbox: Sandbox, command: str
) -> None:
    refused = sandbox.call(*command.split(), "--host", "0.0.0.0")
    assert refused.returncode == 2
    assert says("0.0.0.0").within(refused.stderr)
    assert "`proctor token create NAME`" in refused.stderr


def test_a_gateway_with_tokens_may_be_reached_by_others(sandbox: Sandbox) -> None:
    """It gets as far as its port, which is taken."""
    made = sandbox.call("token", "create", "nightly", "--state", str(sandbox.folder / "state"))
    assert (made.returncode, made.stdout[:8]) == (0, "proctor_"), made.stderr
    with socket.socket() as listener:
        listener.bind(("0.0.0.0", 0))
        listener.listen()
        port = str(listener.getsockname()[1])
        done = sandbox.call("gateway", "--host", "0.0.0.0", "--port", port, "--state", str(sandbox.folder / "state"))
    assert done.returncode == 1
    assert port in done.stderr
    assert "authenticat" not in done.stderr


@pytest.mark.parametrize("command", some_of(["gateway", "agent triage"], 1))
def test_common_variables_hold_for_every_service_and_what_is_probably_not_meant_is_told(
    sandbox: Sandbox, command: str
) -> None:
    (port,) = free_ports(1)
    common = {"AGENTBEATS_PORT": str(port), "AGENTBEATS_HOST": "0.0.0.0", "AGENTBEATS_LOG_LEVEL": "error"}
    common["AGENTBEATS_GREEN_OPEN"] = "true"
    with sandbox.started(*command.split(), **common) as service:
        service.wait_for("listening on")
        assert listening_at(service.process.pid) == {("0.0.0.0", port)}
        assert "INFO" not in service.output
    if command == "gateway":
        assert says("card_url").within(service.output)
        assert says().within(service.output)


def listening_at(pid: int) -> set[tuple[str, int]]:
    connections = psutil.Process(pid).net_connections("tcp")
    return {(found.laddr.ip, found.laddr.port) for found in connections if found.status == psutil.CONN_LISTEN}


def test_a_gateway_that_is_not_there_is_3_with_what_to_start(sandbox: Sandbox, nobody: str) -> None:
    done = sandbox.call("assess", "email_triage_basic", "--agent", "http://127.0.0.1:1", "--gateway", nobody)
    assert done.returncode == 3
    assert says(nobody=nobody).within(done.stderr)
    assert "`proctor up`" in done.stderr


def test_the_environment_names_the_gateway_and_a_flag_overrules_it(sandbox: Sandbox, nobody: str) -> None:
    done = sandbox.call("cancel", "some-task", AGENTBEATS_GATEWAY_URL=nobody)
    assert (done.returncode, nobody in done.stderr) == (3, True)
    assert "a setting" not in done.stderr
    done = sandbox.call("cancel", "some-task", "--gateway", nobody, AGENTBEATS_GATEWAY_URL="http://192.0.2.1:8000")
    assert (done.returncode, nobody in done.stderr) == (3, True)
    done = sandbox.call("cancel", "some-task", AGENTBEATS_GATEWAY_URL="localhost:8000")
    assert done.returncode == 2
    assert says("AGENTBEATS_GATEWAY_URL", "localhost:8000").within(done.stderr)


def test_terminal_trials_without_a_docker_engine_are_3_before_anything_starts(sandbox: Sandbox) -> None:
    (sandbox.folder / "tasks").mkdir()
    words = ("terminal-bench", "run", "--dataset", "tasks", "--agent", "oracle")
    done = sandbox.call(*words, DOCKER_HOST=f"unix://{sandbox.folder}/no-engine.sock")
    assert done.returncode == 3
    assert "no-engine.sock" in done.stderr
    assert "started" not in done.stdout


def test_an_address_that_is_no_gateway_is_3(sandbox: Sandbox) -> None:
    done = sandbox.call("assess", "email_triage_basic", "--agent", "http://127.0.0.1:1", "--gateway", "nonsense")
    assert done.returncode == 3
    assert says().within(done.stderr)


def test_a_worker_without_temporal_is_3(sandbox: Sandbox) -> None:
    done = sandbox.call("worker", "--processes", "1", "--temporal-address", f"127.0.0.1:{free_ports(1)[0]}")
    assert done.returncode == 3
    assert says().within(done.stderr)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["gateway", "ues", "agent triage"])
def test_a_service_whose_port_is_taken_is_1_and_says_so(sandbox: Sandbox, command: str) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        done = sandbox.call(*command.split(), "--host", "127.0.0.1", "--port", str(port))
    assert done.returncode == 1
    assert str(port) in done.stderr
    assert "Traceback" not in done.stderr


def test_up_names_each_port_that_is_taken(sandbox: Sandbox) -> None:
    ports = free_ports(4)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", ports[1]))
        listener.listen()
        flags = ["--port", "--ues-port", "--temporal-port", "--ui-port"]
        arguments = [word for flag, port in zip(flags, ports, strict=True) for word in (flag, str(port))]
        done = sandbox.call("up", *arguments, "--scenarios-dir", str(SCENARIOS))
    assert done.returncode == 1
    assert says(port=ports[1]).within(done.stderr)
    assert "with --ues-port" in done.stderr
    assert not sandbox.processes()


def scenario(folder: Path, **changes: Any) -> Path:
    """A small scenario that can be played, with some fields changed."""
    data = {
        "scenario_id": folder.name,
        "name": "A quiet morning",
        "start_time": "2026-03-02T08:00:00+00:00",
        "end_time": "2026-03-02T10:00:00+00:00",
        "user_prompt": "Keep an eye on things.",
        "user_character": "me",
        "characters": {"me": {"name": "Me", "email": "me@example.com"}},
        "criteria": [
            {
                "criterion_id": "calm",
                "name": "Calm",
                "dimension": "politeness",
                "max_score": 4,
                "evaluation_prompt": "Is it calm?",
                "rubric": [
                    {"id": "a", "points": 3, "statement": "s", "check": {"kind": "count", "target": "chat"}},
                    {"id": "b", "points": 1, "statement": "t"},
                ],
            }
        ],
        "initial_state": {"environment": {"modality_states": {}}, "events": {"events": []}},
        **changes,
    }
    folder.mkdir(parents=True)
    (folder / "scenario.json").write_text(json.dumps(data))
    return folder


def test_scenarios_and_families_are_listed_and_what_is_broken_hides_no_others(sandbox: Sandbox) -> None:
    folder = write_family(sandbox.folder / "mine")
    assert [(family.name, family.ability) for family in proctor.families(folder) if family.name == "one_question"] == [
        ("one_question", "answering")
    ]
    scenario(folder / "late", end_time="2026-03-01T08:00:00+00:00")
    scenario(folder / "quiet")
    write_family(folder, name="nameless")
    (folder / "families" / "nameless" / "family.toml").unlink()
    done = sandbox.call("scenarios", "list", "--scenarios-dir", "mine")
    assert done.returncode == 1
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("one_question")]
    assert line.split() == ["one_question", "One", "question", "answering"]
    assert says().within(done.stdout)
    assert "late/scenario.json" in done.stdout
    assert "A quiet morning" in done.stdout


def test_the_days_of_a_family_are_validated_until_one_cannot_be_made(sandbox: Sandbox) -> None:
    folder = write_family(sandbox.folder / "mine", f"{SOUND}\n\n_sound = make\n\n{_NO_SECOND}")
    done = sandbox.call("scenarios", "validate", "one_question", "--scenarios-dir", "mine", "--seed", "5")
    assert done.returncode == 1
    assert says("one_question").within(done.stdout)
    assert says().within(done.stderr)
    scenario(folder / "quiet")
    done = sandbox.call("scenarios", "validate", "quiet", "--scenarios-dir", "mine", "--seed", "5")
    assert done.returncode == 2
    assert says("--difficulty", "--seed").within(done.stderr)


_NO_SECOND = """
def make(day):
    if day.difficulty == 2:
        from proctor.scenarios.kit.making.days import InconsistentDayError

        raise InconsistentDayError("door", "two answers are right")
    _sound(day)
"""


def test_the_day_that_is_named_is_validated_of_a_family_by_name_or_by_folder(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: list[tuple[Path, int, int]] = []

    async def note(_code: Any, folder: Path, days: list[Instance], _check: Any) -> None:
        chosen.extend((folder, day.difficulty, day.seed) for day in days)

    monkeypatch.setattr("proctor.local.families.check_days", note)
    folder = write_family(sandbox.folder / "mine") / "families" / "one_question"
    for named in ("one_question", "mine/families/one_question"):
        for day in (("--difficulty", "3", "--seed", "5"), ()):
            done = sandbox.call("scenarios", "validate", named, "--scenarios-dir", "mine", *day)
            assert done.returncode == 0, done.stderr
    days = [(3, 5), (1, 1), (2, 1), (3, 1), (4, 1)]
    assert [(path.resolve(), *day) for path, *day in chosen] == 2 * [(folder.resolve(), *day) for day in days]


def test_a_scenario_is_shown_with_who_judges_what(sandbox: Sandbox) -> None:
    scenario(sandbox.folder / "mine" / "quiet")
    done = sandbox.call("scenarios", "show", "quiet", "--scenarios-dir", "mine")
    assert done.returncode == 0, done.stderr
    assert "quiet: A quiet morning" in done.stdout
    assert "2 turns of PT1H" in done.stdout
    assert "Keep an eye on things." in done.stdout
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("  Calm")]
    assert line.split() == ["Calm", "4", "model;", "offline", "3", "of", "4", "points"]


@pytest.mark.parametrize("named", some_of(["mine/quiet", "mine/quiet/scenario.json", "quiet"], 1))
def test_a_scenario_that_can_be_played_is_0(sandbox: Sandbox, named: str) -> None:
    scenario(sandbox.folder / "mine" / "quiet")
    done = sandbox.call("scenarios", "validate", named, "--scenarios-dir", "mine")
    assert done.returncode == 0, done.stderr
    assert says().within(done.stdout)


def test_a_broken_scenario_is_1_with_file_and_field(sandbox: Sandbox) -> None:
    scenario(sandbox.folder / "mine" / "late", end_time="2026-03-01T08:00:00+00:00")
    done = sandbox.call("scenarios", "validate", "mine/late")
    assert done.returncode == 1
    assert "late/scenario.json" in done.stderr
    assert says("end_time", "2026-03-01T08:00:00+00:00").within(done.stderr)
