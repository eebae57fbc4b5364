"""``proctor new-agent``: a project whose tests pass, and whose agent plays."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from proctor.errors import UsageError
from proctor.new_agent import new_agent
from tests.proctor.projects import require_clean, require_in_wheel, run
from tests.stack import Stack, assess
from tests.waiting import wait_until
from tests.work import NIGHTLY


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    new_agent("mail-clerk", folder)
    return folder / "mail-clerk"


def test_it_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new_agent("a1", tmp_path)
    told = capsys.readouterr().out
    assert f"{tmp_path}/a1: edit execute_turn in agent.py" in told
    assert "proctor assess email_triage_basic --agent http://localhost:8001 --offline" in told


def test_the_project_is_whole(project: Path) -> None:
    files = {str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()}
    assert files == {".gitignore", "Dockerfile", "README.md", "agent.py", "pyproject.toml", "tests/test_agent.py"}
    assert tomllib.loads((project / "pyproject.toml").read_text())["project"]["name"] == "mail-clerk"
    assert "class MailClerk(BasePurpleAgent):" in (project / "agent.py").read_text()
    assert not [path for path in project.rglob("*") if path.is_file() and "$name" in path.read_text()]


def test_its_tests_pass_and_ruff_finds_nothing(project: Path) -> None:
    assert "1 passed" in run("pytest", "-p", "no:cacheprovider", folder=project)
    require_clean(project)


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
    with pytest.raises(UsageError, match="is no name for a project: write small letters"):
        new_agent(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over(project: Path) -> None:
    with pytest.raises(UsageError, match="mail-clerk is there already: choose another name"):
        new_agent("mail-clerk", project.parent)


def test_its_templates_are_in_the_wheel() -> None:
    require_in_wheel("agent")
