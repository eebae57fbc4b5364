"""What a fresh machine relies on: the lock, the Makefile, the containers' description."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from proctor.settings.config import GreenAgentConfig
from tests.programs import LINKED
from tests.sentences import says

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
LIGHT = tomllib.loads((ROOT / "packaging" / "purple" / "pyproject.toml").read_text())


def packages_in(pyproject: dict[str, Any]) -> set[str]:
    wheel = pyproject["tool"]["hatch"]["build"]["targets"]["wheel"]
    return {*wheel.get("packages", []), *wheel.get("force-include", {}).values()}


LOCKS = (
    "requirements-run.lock",
    "requirements.lock",
    "packaging/uv.txt",
    "proctor/cli/templates/agent/requirements.lock.tmpl",
)


PIN = re.compile(
    r"([A-Za-z0-9._-]+)==([A-Za-z0-9.+!]+)( ; [^\\]+)?((?: \\\n    --hash=sha256:\w{64})+)(\n    # via .*)?"
)


def locked(lock: str) -> dict[str, Version]:
    """What a lock pins; each pin has hashes."""
    pins: dict[str, Version] = {}
    for entry in re.split(r"\n(?! )", (ROOT / lock).read_text().strip()):
        if not entry.startswith("#"):
            found = PIN.fullmatch(entry)
            assert found, f"{lock}: not an exact version with hashes: {entry[:200]}"
            pins[canonicalize_name(found[1])] = Version(found[2])
    return pins


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_exact_versions_and_hashes_and_no_address(lock: str) -> None:
    assert locked(lock)
    assert "://" not in (ROOT / lock).read_text()
    assert "index-url" not in (ROOT / lock).read_text()


def test_the_locks_have_everything_that_the_project_asks_for() -> None:
    extras = PROJECT["optional-dependencies"]
    runtime = [*PROJECT["dependencies"], *extras["local"], *PYPROJECT["dependency-groups"]["build"]]
    every = [*runtime, *(one for extra in extras.values() for one in extra)]
    for lock, wanted in (("requirements-run.lock", runtime), ("requirements.lock", every)):
        pins = locked(lock)
        for requirement in map(Requirement, wanted):
            name = canonicalize_name(requirement.name)
            if name != "proctor":
                assert pins[name] in requirement.specifier, f"{requirement}, but {lock} has {pins.get(name)}: make lock"


def test_the_lock_to_run_with_is_the_smaller_part_of_the_one_to_develop_with() -> None:
    runtime, every = locked("requirements-run.lock"), locked("requirements.lock")
    assert runtime.items() <= every.items()
    assert len(runtime) < 115
    assert not {"pytest", "mypy", "ruff", "playwright", "pyarrow", "s3fs", "google-genai"} & set(runtime)


def test_proctors_distribution_has_two_packages_and_the_light_one_has_one_of_them() -> None:
    """Any other name might be that of another's package, and break it."""
    assert packages_in(PYPROJECT) == {"proctor", "purple_sdk"}
    assert packages_in(LIGHT) == {"purple_sdk"}


def test_at_most_twelve_folders_greet_a_reader() -> None:
    files = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).split("\n")
    assert len({name.partition("/")[0] for name in files if "/" in name and not name.startswith(".")}) <= 12


@pytest.mark.parametrize("has_file", [True, False])
def test_a_checkout_without_links_says_what_to_do(has_file: bool, tmp_path: Path) -> None:
    """Git writes a link's target into a file where the system has no links; an archive of the sources has no links."""
    for name in ("packaging/install.py", "proctor/__init__.py"):
        (tmp_path / name).parent.mkdir()
        shutil.copy(ROOT / name, tmp_path / name)
    if has_file:
        (tmp_path / "proctor" / "workflows").write_text("../workflows")
    importing = [sys.executable, "-c", "import proctor"]
    installing = [sys.executable, str(tmp_path / "packaging" / "install.py"), "requirements.lock"]
    for command in (importing, installing):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1
        assert "core.symlinks=true" in done.stderr


def test_proctor_asks_for_all_that_the_light_distribution_asks_for_since_it_has_its_code() -> None:
    assert set(LIGHT["project"]["dependencies"]) <= set(PROJECT["dependencies"])
    assert set(LIGHT["project"]["optional-dependencies"]["assistant"]) <= set(PROJECT["dependencies"])


def make(*arguments: str, path: Path | None = None, folder: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, **({"PATH": f"{path}:/usr/bin:/bin"} if path else {})}
    return subprocess.run(
        ["make", *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False
    )


def test_make_lists_what_it_can() -> None:
    told = make("help").stdout
    for target in ("demo", "test", "system-packages", "check", "lock", "nightly", "wheels"):
        assert re.search(rf"^  make {target} ", told, re.MULTILINE)


def test_an_old_python_is_told_with_what_to_do(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2"\nexit 1\n')
    old.chmod(0o755)
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    (tmp_path / "requirements-run.lock").touch()
    (tmp_path / "pyproject.toml").touch()
    done = make("demo", f"PYTHON={old}", folder=tmp_path)
    assert done.returncode != 0
    assert says("3.11", "3.9.2", old=old).within(done.stderr)
    assert "make demo PYTHON=" in done.stderr


def stand_in(path: Path, code: str) -> Path:
    """A program that runs this shell code, in a folder that is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{code}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("uv", ["works", "fails"])
def test_a_lock_is_installed_by_uv_and_by_pip_where_uv_fails(uv: str, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    note = f'echo "$(basename $0) $*" >> {calls}'
    stand_in(tmp_path / ".venv" / "bin" / "python", f"{note}; exit 0")
    stand_in(tmp_path / "bin" / "uv", f"{note}; [ $1 = --version ] || {'exit 0' if uv == 'works' else 'exit 2'}")
    done = install_lock(tmp_path, tmp_path / "bin")
    assert done.returncode == 0, done.stderr
    installs = [line for line in calls.read_text().splitlines() if "--require-hashes" in line]
    assert [line.split()[0] for line in installs] == (["uv"] if uv == "works" else ["uv", "python"])
    assert done.stderr == says()


def test_without_uv_and_without_an_index_pip_is_tried_and_the_reader_told(tmp_path: Path) -> None:
    stand_in(tmp_path / ".venv" / "bin" / "python", "exit 1")
    done = install_lock(tmp_path, tmp_path / "bin")
    assert done.returncode == 1
    assert "with pip (once)" in done.stderr
    assert says().within(done.stderr)


def install_lock(folder: Path, path: Path) -> "subprocess.CompletedProcess[str]":
    """Run ``packaging/install.py`` in a folder, with only these programs and the system's."""
    command = [sys.executable, str(ROOT / "packaging" / "install.py"), str(ROOT / "requirements-run.lock")]
    environment = {"PATH": f"{path}:/usr/bin:/bin", "TMPDIR": str(folder)}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_make_test_installs_no_programs_of_the_system() -> None:
    told = make("--dry-run", "--always-make", "test").stdout
    assert "tests.system_programs" in told
    assert "--install" not in told
    assert "tests.system_programs --install" in make("--dry-run", "system-packages").stdout
    assert "apt-get install" not in (ROOT / "Makefile").read_text()


def test_a_newer_python_beside_an_old_one_is_taken(tmp_path: Path) -> None:
    for name, code in (("python3", 1), ("python3.13", 1), ("python3.12", 0)):
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (tmp_path / name).chmod(0o755)
    shown = make("--eval", "which: ; @echo $(PYTHON)", "which", path=tmp_path)
    assert shown.stdout.strip() == "python3.12"


def test_an_image_is_made_from_the_packages_and_nothing_else_of_the_checkout() -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    assert lines[0] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == {
        *packages_in(PYPROJECT),
        *LINKED,
        "packaging",
        "pyproject.toml",
        "requirements.lock",
        PROJECT["readme"],
    }


def test_an_image_has_extras_that_exist_and_a_user_without_rights() -> None:
    text = (ROOT / "Dockerfile").read_text()
    (extras,) = re.findall(r"lock_part\.py \. (.*) >", text)
    assert set(extras.split()) == set(PROJECT["optional-dependencies"]) - {
        "dev",
        "audit",
    }  # families are audited in a checkout
    base = text[text.index(" AS base\n") : text.index(" AS locked\n")]
    assert re.search(r"^USER proctor$", base, re.MULTILINE)
    assert re.search(r"^RUN useradd .* proctor && install -d -o proctor -g proctor /state$", base, re.MULTILINE)
    assert text[text.rindex("FROM ") :].startswith("FROM base\n")
    assert len(re.findall("^USER ", text, re.MULTILINE)) == 1


@pytest.fixture(scope="module", params=["docker-compose.yaml", "compose.postgres.yaml"])
def any_compose(request: pytest.FixtureRequest) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((ROOT / request.param).read_text())
    return data


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    text = (ROOT / "docker-compose.yaml").read_text()
    data: dict[str, Any] = yaml.safe_load(text)
    return data


def own_services(compose: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The services that run `proctor`."""
    return {
        name: service
        for name, service in compose["services"].items()
        if "build" in service and "entrypoint" not in service
    }


def test_compose_runs_every_service_with_commands_that_exist(any_compose: dict[str, Any]) -> None:
    from typer.main import get_command

    from proctor.cli.main import app

    assert {"ues", "worker", "gateway", "agent"} <= set(own_services(any_compose))
    root: Any = get_command(app)
    for name, service in own_services(any_compose).items():
        words = list(service["command"])
        command = root
        while hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        flags = {flag for parameter in command.params for flag in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= flags, name


def test_compose_sets_only_settings_that_exist(any_compose: dict[str, Any]) -> None:
    known = {f"AGENTBEATS_GREEN_{name}".upper() for name in GreenAgentConfig.model_fields}
    for service in any_compose["services"].values():
        given = {name for name in service.get("environment", {}) if name.startswith("AGENTBEATS_")}
        assert given <= known


@pytest.mark.skipif(not shutil.which("docker-compose"), reason="docker-compose is missing: make system-packages")
@pytest.mark.parametrize("file", ["docker-compose.yaml", "compose.postgres.yaml"])
def test_compose_files_are_what_docker_takes(file: str, tmp_path: Path) -> None:
    text = (ROOT / file).read_text()
    needed = dict.fromkeys(re.findall(r"\$\{(\w+):\?", text), "x")
    (tmp_path / "packaging").mkdir()
    shutil.copy(ROOT / "packaging" / "proxy.conf", tmp_path / "packaging")
    older = re.sub(r"^name: .*$", 'version: "3.9"', text, flags=re.MULTILINE)  # Debian's version knows no names
    (tmp_path / file).write_text(older)
    command = ["docker-compose", "--file", str(tmp_path / file), "config", "--quiet"]
    checked = subprocess.run(command, env={**os.environ, **needed}, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_a_teams_deployment_asks_callers_who_they_are_and_gives_each_service_its_own_secrets() -> None:
    services = yaml.safe_load((ROOT / "compose.postgres.yaml").read_text())["services"]
    assert (services["worker"]["deploy"]["replicas"], services["gateway"]["deploy"]["replicas"]) == (3, 2)
    simulators = services["worker"]["environment"]["AGENTBEATS_GREEN_UES_URL"].split()
    assert {f"http://{name}:8100" for name in ("ues", "ues-2")} == set(simulators)
    assert "--open" not in services["gateway"]["command"]
    for name in ("gateway", "codec-server"):
        assert services[name]["environment"]["AGENTBEATS_GREEN_TOKENS_FILE"] == "/state/tokens.json"
    holders = {
        "OPENAI_API_KEY": {"worker"},
        "AGENTBEATS_GREEN_PAYLOAD_KEYS": {"worker", "gateway", "codec-server"},
        "AGENTBEATS_GREEN_SECRET": {"worker", "gateway", "codec-server", "ues", "ues-2"},
        "AWS_SECRET_ACCESS_KEY": {"worker", "gateway", "codec-server"},
        "POSTGRES_PASSWORD": {"postgres"},
    }
    for secret, expected in holders.items():
        assert {
            name for name, definition in services.items() if secret in definition.get("environment", {})
        } == expected, secret
    for name, service in services.items():
        assert all(str(port).startswith("127.0.0.1:") for port in service.get("ports", [])), name


def test_compose_gives_the_secret_to_no_agent_and_storage_to_whoever_reads_it(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert "environment" not in services["agent"]
    assert services["worker"]["volumes"] == services["gateway"]["volumes"] == ["storage:/state"]
    for name, service in services.items():
        for other in service.get("depends_on", {}):
            assert "healthcheck" in services[other], f"{name} waits for the health of {other}"


def test_compose_asks_for_health_by_address_since_a_name_may_wait_for_a_dns_server(compose: dict[str, Any]) -> None:
    checked = {
        name: " ".join(service["healthcheck"]["test"])
        for name, service in compose["services"].items()
        if "healthcheck" in service
    }
    assert set(checked) == set(compose["services"])
    observed = compose["services"]["worker"]["environment"]["AGENTBEATS_GREEN_OBSERVE_PORT"]
    for name, test in checked.items():
        port = observed if name == "worker" else compose["services"][name]["ports"][0].rpartition(":")[2]
        assert f"127.0.0.1:{port}" in test, name
