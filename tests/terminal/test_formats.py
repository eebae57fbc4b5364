"""Tasks of both formats are read as their descriptions say; what keeps one from being played is said in sentences."""

from pathlib import Path

import pytest

from proctor.terminal.failures import TaskError
from proctor.terminal.task_model import Limits, TaskFormat, TerminalTask
from proctor.terminal.tasks import find_tasks, load_task, problems_of
from tests.docker_engine import TASKS
from tests.sentences import says
from tests.terminal.writing import COMPOSE, format_one, format_two

ONE = "instruction: Do it.\ndifficulty: easy\n"


@pytest.mark.parametrize("folder", find_tasks(TASKS), ids=lambda folder: folder.name)
def test_tasks_of_our_own_have_no_problem(folder: Path) -> None:
    assert problems_of(folder) == []
    assert load_task(folder).instruction


PLAYED_ONE = {
    "parser_name: pytest": ("parser", "pytest"),
    "parser_name: swebench": ("parser", "swebench"),
    "parser_name: sweperf": ("parser", "sweperf"),
    "parser_name: mlebench": ("parser", "mlebench"),
    "parser_name: swelancer": ("parser", "swelancer"),
    "max_agent_timeout_sec: 1200": ("agent_timeout", 1200.0),
    "max_agent_timeout_sec: 0.5": ("agent_timeout", 0.5),
    'max_agent_timeout_sec: "90"': ("agent_timeout", 90.0),
    "max_test_timeout_sec: 33.5": ("test_timeout", 33.5),
    "run_tests_in_same_shell: true": ("run_tests_in_same_shell", True),
    "run_tests_in_same_shell: yes": ("run_tests_in_same_shell", True),
    "run_tests_in_same_shell: false": ("run_tests_in_same_shell", False),
    "disable_asciinema: true": ("agent_timeout", 360.0),
    "estimated_duration_sec: 12.5": ("test_timeout", 60.0),
    "expert_time_estimate_min: 20\njunior_time_estimate_min: 90": ("test_timeout", 60.0),
    "expert_time_estimate_min: null": ("test_timeout", 60.0),
    "author_name: A. Person\nauthor_email: a@example.org": ("parser", "pytest"),
    "category: security\ntags: [a, b]": ("parser", "pytest"),
    "tags:\n  - one\n  - two": ("parser", "pytest"),
}


@pytest.mark.parametrize("lines", PLAYED_ONE, ids=lambda lines: lines.replace("\n", ", "))
def test_optional_fields_of_format_one(tmp_path: Path, lines: str) -> None:
    task = load_task(format_one(tmp_path / "task", {"task.yaml": f"{ONE}{lines}\n"}))
    name, value = PLAYED_ONE[lines]
    assert task.format == TaskFormat.ONE
    assert getattr(task, name) == value


def test_the_earliest_tasks_have_several_descriptions(tmp_path: Path) -> None:
    written = "descriptions:\n  - key: base\n    description: Do it.\n  - key: hard\n    description: Guess.\n"
    assert load_task(format_one(tmp_path / "task", {"task.yaml": written})).instruction == "Do it."


PLAYED_TWO = {
    "[agent]\ntimeout_sec = 90.0": ("agent_timeout", 90.0),
    "[agent]\ntimeout_sec = 90": ("agent_timeout", 90.0),
    '[agent]\nuser = "worker"': ("agent_user", "worker"),
    "[agent]\nuser = 1000": ("agent_user", "1000"),
    "[verifier]\ntimeout_sec = 12.0": ("test_timeout", 12.0),
    '[verifier]\nuser = "root"': ("test_user", "root"),
    '[verifier]\nenv = { A = "1" }': ("test_environment", {"A": "1"}),
    '[verifier.env]\nA = "${B:-two}"': ("test_environment", {"A": "two"}),
    '[verifier.env]\nA = "${GIVEN}"': ("test_environment", {"A": "given"}),
    '[verifier]\nenvironment_mode = "shared"': ("parser", "reward"),
    "[environment]\nbuild_timeout_sec = 30.0": ("build_timeout", 30.0),
    "[environment]\ncpus = 2": ("limits", Limits(cpus=2)),
    "[environment]\ncpus = 0.5": ("limits", Limits(cpus=0.5)),
    "[environment]\nmemory_mb = 64": ("limits", Limits(memory_mb=64)),
    '[environment]\nmemory = "2G"': ("limits", Limits(memory_mb=2048)),
    '[environment]\nmemory = "512M"\nstorage = "10G"': ("limits", Limits(memory_mb=512, storage_mb=10240)),
    "[environment]\nstorage_mb = 100": ("limits", Limits(storage_mb=100)),
    "[environment]\nallow_internet = false": ("limits", Limits(network="none")),
    "[environment]\nallow_internet = true": ("limits", Limits()),
    '[environment]\nnetwork_mode = "no-network"': ("limits", Limits(network="none")),
    '[environment]\nnetwork_mode = "public"': ("limits", Limits()),
    '[environment]\nworkdir = "/srv"': ("workdir", "/srv"),
    '[environment]\nos = "Linux"': ("parser", "reward"),
    "[environment]\ngpus = 0": ("parser", "reward"),
    '[environment.env]\nA = "b"': ("compose_variables", {"A": "b", "GIVEN": "given"}),
    '[solution.env]\nA = "b"': ("parser", "reward"),
    '[metadata]\nauthor_name = "A"\nanything = [1, 2]': ("metadata", {"author_name": "A", "anything": [1, 2]}),
    '[task]\nname = "org/task"\ndescription = "x"\nkeywords = ["k"]': ("parser", "reward"),
    '[[task.authors]]\nname = "A"': ("parser", "reward"),
    'source = "elsewhere"': ("parser", "reward"),
    'schema_version = "1.4"': ("parser", "reward"),
    '[environment.healthcheck]\ncommand = "true"\nretries = 1': ("format", TaskFormat.TWO),
}


@pytest.mark.parametrize("lines", PLAYED_TWO, ids=lambda lines: lines.replace("\n", ", "))
def test_optional_fields_of_format_two(tmp_path: Path, lines: str) -> None:
    task = load_task(format_two(tmp_path / "task", toml=lines), {"GIVEN": "given"})
    name, value = PLAYED_TWO[lines]
    if name == "compose_variables":
        assert task.service is not None
        assert task.service.environment == {"A": "b"}
    assert getattr(task, name) == value


def compose_with(**settings: str) -> str:
    return COMPOSE + "".join(f"    {name}: {value}\n" for name, value in settings.items())


PLAYED_COMPOSE = {
    "memory": (compose_with(mem_limit="64m"), "Memory", 64 * 2**20),
    "cpus": (compose_with(cpus="0.5"), "NanoCpus", 500_000_000),
    "deploy": (compose_with(deploy='{resources: {limits: {memory: 1G, cpus: "1.5"}}}'), "Memory", 2**30),
    "processes": (compose_with(pids_limit="100"), "PidsLimit", 100),
    "no end of processes": (compose_with(pids_limit="-1"), "PidsLimit", None),
    "shm": (compose_with(shm_size="32mb"), "ShmSize", 32 * 2**20),
    "capabilities": (compose_with(cap_add="[SYS_PTRACE]"), "CapAdd", ["SYS_PTRACE"]),
    "hosts": (compose_with(extra_hosts="{db: 10.0.0.1}"), "ExtraHosts", ["db:10.0.0.1"]),
    "tmpfs": (compose_with(tmpfs="/run"), "Tmpfs", {"/run": ""}),
    "no network": (compose_with(network_mode="none"), "NetworkMode", "none"),
    "privileged": (compose_with(privileged="true"), "Privileged", True),
    "ports": (compose_with(ports='["80:80"]'), "PortBindings", None),
    "terminal": (compose_with(stdin_open="true", tty="true"), "Tty", None),
}


@pytest.mark.parametrize("which", PLAYED_COMPOSE)
def test_one_service_is_played_without_compose(tmp_path: Path, which: str) -> None:
    text, name, value = PLAYED_COMPOSE[which]
    task = load_task(format_one(tmp_path / "task", {"docker-compose.yaml": text}), None, {"capabilities", "privileged"})
    assert task.compose_file is None
    assert task.service is not None
    assert task.service.more.get(name) == value
    assert task.service.environment == {"TEST_DIR": "/tests"}


NEEDS_COMPOSE = {
    "another service": COMPOSE + "  db:\n    image: postgres\n",
    "a volume": COMPOSE.rstrip() + "\n      - data:/data\nvolumes:\n  data:\n",
    "a health check": compose_with(healthcheck='{test: ["CMD", "true"]}'),
    "its own network": compose_with(networks="[front]") + "networks:\n  front:\n",
}


@pytest.mark.parametrize("which", NEEDS_COMPOSE)
def test_what_takes_compose(tmp_path: Path, which: str) -> None:
    task = load_task(format_one(tmp_path / "task", {"docker-compose.yaml": NEEDS_COMPOSE[which]}))
    assert task.compose_file is not None


BROKEN_ONE: dict[str, tuple[dict[str, str | None], str]] = {
    "no instruction": ({"task.yaml": "difficulty: easy\n"}, "task.yaml: instruction"),
    "blank instruction": ({"task.yaml": "instruction: '  '\n"}, "task.yaml: instruction"),
    "no yaml": ({"task.yaml": "instruction: [\n"}, "task.yaml line 2, column 1"),
    "a tab": ({"task.yaml": "instruction: x\n\tdifficulty: easy\n"}, "task.yaml line 2, column 1"),
    "a list": ({"task.yaml": "- a\n- b\n"}, '["a", "b"]'),
    "empty": ({"task.yaml": ""}, "task.yaml"),
    "parser": ({"task.yaml": f"{ONE}parser_name: junit\n"}, 'parser_name is "junit"'),
    "timeout": ({"task.yaml": f"{ONE}max_agent_timeout_sec: -1\n"}, "max_agent_timeout_sec is -1"),
    "endless": ({"task.yaml": f"{ONE}max_test_timeout_sec: .inf\n"}, "max_test_timeout_sec is"),
    "no number": ({"task.yaml": f"{ONE}max_test_timeout_sec: soon\n"}, 'max_test_timeout_sec is "soon"'),
    "no tests": ({"run-tests.sh": None}, "run-tests.sh"),
    "nothing to run": ({"Dockerfile": None, "docker-compose.yaml": None}, "docker-compose.yaml"),
    "no Dockerfile": ({"Dockerfile": None}, "Dockerfile"),
    "no FROM": ({"Dockerfile": "RUN true\n"}, "FROM"),
    "misspelt": ({"Dockerfile": "FROM a\nRUNN true\n"}, "Dockerfile line 2: RUNN"),
    "copies nothing": ({"Dockerfile": "FROM a\nCOPY data.csv /\n"}, "Dockerfile line 2: data.csv"),
    "copies outside": ({"Dockerfile": "FROM a\nCOPY ../x /\n"}, "Dockerfile line 2: ../x"),
    "no services": ({"docker-compose.yaml": "version: '3'\n"}, "services"),
    "no client": ({"docker-compose.yaml": "services:\n  web:\n    image: x\n"}, "client"),
    "compose no yaml": ({"docker-compose.yaml": "services: {\n"}, "docker-compose.yaml line 2, column 1"),
    "wants a value": (
        {"docker-compose.yaml": compose_with(hostname="${HOST:?set it}")},
        "${HOST}",
    ),
    "nothing to build": (
        {"docker-compose.yaml": "services:\n  client:\n    image: ${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}\n"},
        "services.client",
    ),
    "solution": ({"solution.sh": None, "solution.yaml": "command: ls\n"}, "solution.yaml is"),
    "solution's step": ({"solution.sh": None, "solution.yaml": "- block: true\n"}, "command"),
}


@pytest.mark.parametrize("which", BROKEN_ONE)
def test_what_is_wrong_with_a_task_of_format_one(tmp_path: Path, which: str) -> None:
    files, place = BROKEN_ONE[which]
    with pytest.raises(TaskError, check=says(place)):
        load_task(format_one(tmp_path / "task", files))


BROKEN_TWO: dict[str, tuple[str, dict[str, str | None], str]] = {
    "no toml": ("x = [", {}, "task.toml"),
    "no instruction": ("", {"instruction.md": None}, "instruction.md"),
    "blank instruction": ("", {"instruction.md": "\n"}, "instruction.md"),
    "no tests": ("", {"tests/test.sh": None, "tests/other.py": ""}, "tests/test.sh"),
    "nothing to run": ("", {"environment/Dockerfile": None}, "environment/Dockerfile"),
    "windows": ('[environment]\nos = "windows"', {}, 'environment.os is "windows"'),
    "gpus": ("[environment]\ngpus = 1", {}, "environment.gpus is 1"),
    "allowlist": ('[environment]\nnetwork_mode = "allowlist"', {}, 'environment.network_mode is "allowlist"'),
    "agent's network": ('[agent]\nnetwork_mode = "no-network"', {}, 'agent.network_mode is "no-network"'),
    "memory": ('[environment]\nmemory = "much"', {}, "much"),
    "two memories": ('[environment]\nmemory = "1G"\nmemory_mb = 5', {}, "environment.memory_mb is 5"),
    "no memory": ("[environment]\nmemory_mb = 0", {}, "environment.memory_mb is 0"),
    "timeout": ("[agent]\ntimeout_sec = 0", {}, "agent.timeout_sec is 0"),
    "not a number": ("[agent]\ntimeout_sec = nan", {}, "agent.timeout_sec is"),
    "secret": ('[verifier.env]\nKEY = "${API_KEY}"', {}, "API_KEY"),
    "another container": ('[verifier]\nenvironment_mode = "separate"', {}, "verifier.environment"),
    "steps": ('[[steps]]\nname = "a"', {}, "steps has 1 steps"),
    "health": ("[environment.healthcheck]\nretries = 1", {}, "environment.healthcheck.command"),
    "service": (
        "",
        {"environment/docker-compose.yaml": "services:\n  db: {}\n"},
        "services.db",
    ),
}


@pytest.mark.parametrize("which", BROKEN_TWO)
def test_what_is_wrong_with_a_task_of_format_two(tmp_path: Path, which: str) -> None:
    toml, files, place = BROKEN_TWO[which]
    with pytest.raises(TaskError, check=says(place)):
        load_task(format_two(tmp_path / "task", files, toml))


def test_remarks_do_not_keep_a_task_from_being_played(tmp_path: Path) -> None:
    folder = format_one(
        tmp_path / "task",
        {
            "task.yaml": "instruction: x\ndifficulty: insane\nmax_agent_timeout_secs: 5\n",
            "solution.sh": None,
            "Dockerfile": "FROM a\nCOPY tests /app/tests\n",
            "docker-compose.yaml": compose_with(hostname="${SOMEBODY}"),
        },
    )
    said = [problem.sentence for problem in problems_of(folder)]
    assert len(said) == 5
    assert says("task.yaml", "max_agent_timeout_secs").within(said)
    assert says().within(said)
    assert not any(problem.is_fatal for problem in problems_of(folder))
    assert load_task(folder).solution is None


def test_a_task_sees_nothing_of_our_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "secret")
    monkeypatch.setenv("HOST", "secret")
    toml = '[environment.env]\nKEY = "${API_KEY:-}"'
    service = load_task(format_two(tmp_path / "two", toml=toml)).service
    assert service is not None
    assert service.environment == {"KEY": ""}
    service = load_task(format_one(tmp_path / "one", {"docker-compose.yaml": compose_with(hostname="${HOST}")})).service
    assert service is not None
    assert service.hostname == ""


def names(tasks: list[Path]) -> list[str]:
    return [task.name for task in tasks]


def test_tasks_are_chosen_by_name_and_pattern(tmp_path: Path) -> None:
    for name in ("hello-1", "hello-2", "other", "zoo"):
        format_two(tmp_path / name)
    (tmp_path / "no-task").mkdir()
    assert names(find_tasks(tmp_path)) == ["hello-1", "hello-2", "other", "zoo"]
    assert names(find_tasks(tmp_path, ["hello-*", "zoo"], exclude=["hello-2"])) == ["hello-1", "zoo"]
    with pytest.raises(TaskError, check=says()):
        find_tasks(tmp_path, ["nobody"])
    with pytest.raises(TaskError, check=says()):
        find_tasks(tmp_path / "no-task")
    with pytest.raises(TaskError, check=says()):
        find_tasks(tmp_path / "missing")


def test_a_folder_that_is_no_task(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert [problem.sentence for problem in problems_of(tmp_path / "empty")] == [says("task.yaml", "task.toml")]


def test_the_second_format_wins_in_a_folder_that_has_both(tmp_path: Path) -> None:
    folder = format_two(format_one(tmp_path / "task"))
    task: TerminalTask = load_task(folder)
    assert task.format == TaskFormat.TWO
