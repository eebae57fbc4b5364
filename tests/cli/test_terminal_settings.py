"""Settings of Terminal-Bench runs: where they come from, which wins, and what is said of bad ones."""

from pathlib import Path

import pytest

from proctor.cli.terminal_settings import SECRETS_FILE, TerminalSettings, read_terminal_settings
from proctor.common.errors import UsageError
from tests.programs import ROOT
from tests.sentences import says


def write(folder: Path, config: str = "", secrets: str = "") -> str:
    (folder / "config.toml").write_text(config)
    if secrets:
        (folder / ".env").write_text(secrets)
    return str(folder / "config.toml")


def test_the_strongest_wins(tmp_path: Path) -> None:
    path = write(tmp_path, "[evaluation]\nn_attempts = 2\nn_tasks = 3\ntimeout_multiplier = 2.5\n")
    environment = {"EVALUATION_N_ATTEMPTS": "4", "EVALUATION_N_TASKS": "5", "EVALUATION_TASK_IDS": '["a", "b-*"]'}
    settings = read_terminal_settings({("evaluation", "n_attempts"): 6}, path, environment)
    chosen = settings.evaluation
    assert (chosen.n_attempts, chosen.n_tasks, chosen.timeout_multiplier) == (6, 5, 2.5)
    assert chosen.task_ids == ["a", "b-*"]
    assert (settings.green_agent.port, settings.white_agent.port) == (9999, 8001)


def test_the_seeds_own_file_is_read(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        [project]
        name = "terminal-bench-green-agent"
        version = "1.0.0"
        [green_agent]
        host = "0.0.0.0"
        port = 9999
        card_path = "src/green_agent/card.toml"
        [white_agent]
        port = 8001
        card_path = "white_agent/white_agent_card.toml"
        model = "gpt-4o-mini"
        [evaluation]
        output_path = "./eval_results"
        n_attempts = 1
        n_concurrent_trials = 1
        timeout_multiplier = 1.0
        cleanup = false
        task_ids = ["hello-world"]
        [logging]
        level = "INFO"
        format = "%(message)s"
        [a2a]
        default_input_modes = ["text"]
        streaming = true
        [safety]
        blocked_commands = ["rm", "sudo"]
        [agent]
        max_iterations = 15
        """,
    )
    settings = read_terminal_settings({}, path, {})
    assert settings.evaluation.task_ids == ["hello-world"]
    assert settings.safety.blocked_commands == ["rm", "sudo"]
    assert settings.agent.max_iterations == 15


def test_the_files_that_are_shipped_fit_the_settings(tmp_path: Path) -> None:
    """``config.toml`` has the defaults, so that leaving a line out changes nothing; ``.env.example`` has no values."""
    shipped = (ROOT / "config.toml").read_text()
    settings = read_terminal_settings({}, write(tmp_path, shipped), {})
    assert settings.dataset.path == "scenarios/terminal_bench"
    assert (ROOT / settings.dataset.path).is_dir()
    assert settings.model_copy(update={"dataset": TerminalSettings().dataset}) == TerminalSettings()
    example = (ROOT / f"{SECRETS_FILE}.example").read_text()
    assert read_terminal_settings({}, write(tmp_path, shipped, example), {}) == settings
    assert [line for line in example.splitlines() if line and line[0] != "#"] == ["OPENAI_API_KEY="]


@pytest.mark.parametrize(
    "config",
    [
        "[evaluation]\nn_attempts = 0\n",
        "[evaluation]\nattempts = 2\n",
        "[evaluations]\nn_attempts = 2\n",
        "n_attempts = 2\n",
        "[evaluation\n",
    ],
)
def test_bad_files_are_told_by_file_and_key(tmp_path: Path, config: str) -> None:
    with pytest.raises(UsageError, match=r"config\.toml") as told:
        read_terminal_settings({}, write(tmp_path, config), {})
    assert says().within(str(told.value))


def test_bad_variables_and_flags_are_told_by_name(tmp_path: Path) -> None:
    path = write(tmp_path)
    with pytest.raises(UsageError, match="EVALUATION_N_TASKS is -1"):
        read_terminal_settings({}, path, {"EVALUATION_N_TASKS": "-1"})
    with pytest.raises(UsageError, match="--n-attempts is 0"):
        read_terminal_settings({("evaluation", "n_attempts"): 0}, path, {})
    with pytest.raises(UsageError, check=says()):
        read_terminal_settings({}, str(tmp_path / "other.toml"), {})


def test_secrets_go_into_the_environment_and_settings_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_TEST_API_KEY", raising=False)
    path = write(tmp_path, "", "SOME_TEST_API_KEY=abc\n")
    import os

    monkeypatch.setenv("SOME_TEST_API_KEY", "")
    monkeypatch.delenv("SOME_TEST_API_KEY")
    read_terminal_settings({}, path, {})
    assert os.environ["SOME_TEST_API_KEY"] == "abc"
    monkeypatch.delenv("SOME_TEST_API_KEY")
    (tmp_path / ".env").write_text("EVALUATION_N_ATTEMPTS=2\n")
    with pytest.raises(UsageError, check=says("EVALUATION_N_ATTEMPTS")):
        read_terminal_settings({}, path, {})
