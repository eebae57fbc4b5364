"""``proctor new-agent``: a project whose tests pass, and whose agent plays."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

from proctor.cli.purple_wheel import dependencies
from proctor.common.errors import UsageError
from tests.cli.commands import run_proctor
from tests.cli.projects import require_clean, require_in_wheel, run, run_tests
from tests.cli.test_ten_minutes import edit, guide
from tests.programs import ROOT
from tests.sentences import says
from tests.stack import Stack, assess
from tests.waiting import wait_until
from tests.work import NIGHTLY, only_nightly


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    run_proctor("new-agent", "mail-clerk", "--folder", str(folder))
    return folder / "mail-clerk"


def test_it_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_proctor("new-agent", "a1", "--folder", str(tmp_path))
    told = capsys.readouterr().out
    assert f"{tmp_path}/a1: edit execute_turn in agent.py" in told
    assert "proctor assess email_triage_basic --agent http://localhost:8001 --offline" in told


def test_the_project_is_whole(project: Path) -> None:
    files = {str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()}
    [wheel] = [name for name in files if name.startswith("wheels/proctor_purple-")]
    plain = {".gitignore", "Dockerfile", "README.md", "agent.py", "pyproject.toml", "requirements.lock"}
    assert files == {*plain, "tests/test_agent.py", wheel}
    assert tomllib.loads((project / "pyproject.toml").read_text())["project"]["name"] == "mail-clerk"
    assert "class MailClerk(BasePurpleAgent):" in (project / "agent.py").read_text()
    assert not [name for name in plain if "$name" in (project / name).read_text()]


def test_its_tests_pass_and_ruff_finds_nothing(project: Path) -> None:
    assert "1 passed" in run_tests(project)
    require_clean(project)


@only_nightly  # by default: test_ten_minutes.py
def test_its_tests_pass_after_the_guides_edit(tmp_path: Path) -> None:
    run_proctor("new-agent", "mail-clerk", "--folder", str(tmp_path))
    edit(tmp_path / "mail-clerk" / "agent.py", guide()[1])
    assert "1 passed" in run_tests(tmp_path / "mail-clerk")


def test_its_wheel_is_that_of_the_light_distribution(project: Path, tmp_path: Path) -> None:
    """Its image installs it, without an index for it."""
    declared = tomllib.loads((ROOT / "packaging" / "purple" / "pyproject.toml").read_text())["project"]
    assert {str(Requirement(dependency)) for dependency in declared["dependencies"]} == set(dependencies())
    [wheel] = (project / "wheels").iterdir()
    ZipFile(wheel).extractall(tmp_path)
    code = "import purple_sdk, proctor.protocol; print(purple_sdk.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    where = subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path, env=environment, text=True)
    assert where.startswith(str(tmp_path))


@pytest.mark.parametrize("is_changed", [False, True])
def test_its_image_takes_no_wheel_but_the_one_that_its_lock_names(
    project: Path, tmp_path: Path, is_changed: bool
) -> None:
    [wheel] = (project / "wheels").iterdir()
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / wheel.name).write_bytes(wheel.read_bytes() + b"\0" * is_changed)
    own = (project / "requirements.lock").read_text().partition("proctor-purple==")
    (tmp_path / "requirements.lock").write_text(own[1] + own[2])
    [install] = re.findall(r"^RUN pip (install .*)", (project / "Dockerfile").read_text(), re.MULTILINE)
    pip = [sys.executable, "-m", "pip", *install.split(), "--no-index", "--dry-run"]
    done = subprocess.run(pip, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == is_changed, done.stderr
    assert ("DO NOT MATCH THE HASHES" in done.stderr) == is_changed


async def test_its_agent_plays(project: Path, stack: Stack, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("w") as output:
        command = [sys.executable, "agent.py", "--host", "127.0.0.1", "--port", "0"]
        agent = subprocess.Popen(command, cwd=project, stdout=output)
    try:
        wait_until(lambda: "listening on" in log.read_text() or agent.poll() is not None)
        url = log.read_text().split("listening on ")[1].strip()
        assessed = await assess(stack, url, "tiny", max_turns=2)
    finally:
        agent.terminate()
        agent.wait()
    assert assessed.state == "completed", assessed.sentence
    assert assessed.results is not None
    assert assessed.results.turns_taken == 2


@pytest.mark.skipif(not NIGHTLY, reason="mypy takes long: make nightly")
def test_it_is_typed(project: Path) -> None:
    run("mypy", "--strict", "agent.py", "tests", folder=project)


@pytest.mark.parametrize("name", ["", "Mail", "mail clerk", "../mail", "1mail", "mail-"])
def test_a_name_that_is_none_is_told(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, check=says()):
        run_proctor("new-agent", name, "--folder", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over(project: Path) -> None:
    with pytest.raises(UsageError, check=says()):
        run_proctor("new-agent", "mail-clerk", "--folder", str(project.parent))


def test_its_templates_are_in_the_wheel() -> None:
    require_in_wheel("agent")
