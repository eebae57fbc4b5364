"""``proctor new-family``, ``scenarios audit`` and ``scenarios show``, as an author types them."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from proctor.cli.main import app
from proctor.common.errors import CommandError, UsageError
from proctor.local.audit.families import write_command
from tests.sentences import says


def say(*words: str) -> Result:
    return CliRunner().invoke(app, words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    assert say("new-family", "barn_sale", "--folder", str(folder)).exit_code == 0
    return folder


def test_a_new_family_passes_its_audit(folder: Path) -> None:
    result = say(
        *("scenarios", "audit", "barn_sale", "--scenarios-dir", str(folder)),
        *("--seeds", "3", "--difficulty", "2", "--quick", "--processes", "1"),
    )
    assert result.exit_code == 0, result.output
    assert "1 instance" in result.output
    assert "0 violations" in result.output


def test_the_command_that_shows_a_violation_names_the_families_place() -> None:
    assert write_command("barn_sale", 2, 7, "my days") == (
        "proctor scenarios audit barn_sale --difficulty 2 --seeds 7 --scenarios-dir 'my days'"
    )
    assert write_command("barn_sale", 2, None) == "proctor scenarios audit barn_sale --difficulty 2"


def test_a_day_is_shown_with_its_truth(folder: Path) -> None:
    shown = say("scenarios", "show", "barn_sale", "--seed", "3", "--truth", "--scenarios-dir", str(folder))
    assert shown.exit_code == 0, shown.output
    assert "Barn sale: difficulty 2, seed 3" in shown.output
    assert "- right:" in shown.output


def test_what_is_refused(folder: Path) -> None:
    for words, kind, fact in (
        (("show", "barn_sale", "--seed", "30", "--truth"), CommandError, "1 to 20"),
        (("show", "barn_sal", "--seed", "3"), UsageError, "barn_sale"),
        (("audit", "barn_sale", "--difficulty", "5"), UsageError, "1 to 4"),
        (("audit", "barn_sale", "--seeds", "x"), UsageError, "--seeds"),
    ):
        problem = say("scenarios", *words, "--scenarios-dir", str(folder)).exception
        assert isinstance(problem, kind)
        assert str(problem) == says(fact, known=re.compile(r"(?<=families: )[^;]*"))
