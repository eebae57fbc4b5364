"""Settings from the environment and the command line."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from proctor.settings.config import GreenAgentConfig, unknown_variables, validate_config
from purple_sdk.settings.config import AgentBeatsConfig, PurpleAgentConfig, merge_configs
from tests.sentences import says


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in list(os.environ):
        if name.startswith("AGENTBEATS_"):
            monkeypatch.delenv(name)


def test_defaults_are_those_of_the_seed() -> None:
    base, green, purple = AgentBeatsConfig(), GreenAgentConfig(), PurpleAgentConfig()
    assert (base.host, base.port, base.card_url, base.log_level) == ("0.0.0.0", 8000, None, "INFO")
    assert (green.port, green.ues_base_port, green.scenarios_dir, green.verbose_updates) == (
        8000,
        8100,
        "scenarios",
        True,
    )
    assert (green.default_max_turns, green.default_turn_timeout) == (100, 300.0)
    assert (green.response_generator_model, green.evaluation_model) == ("gpt-4o", "gpt-4o")
    assert (purple.port, purple.model, purple.max_actions_per_turn, purple.temperature) == (8001, "gpt-4o", 50, 0.7)
    assert (purple.enable_reflection, purple.action_delay) == (True, 0.0)


@pytest.mark.parametrize(
    ("kind", "prefix"),
    [
        (AgentBeatsConfig, "AGENTBEATS_"),
        (GreenAgentConfig, "AGENTBEATS_GREEN_"),
        (PurpleAgentConfig, "AGENTBEATS_PURPLE_"),
    ],
)
def test_the_command_line_wins_over_the_environment(
    monkeypatch: pytest.MonkeyPatch, kind: type[AgentBeatsConfig], prefix: str
) -> None:
    monkeypatch.setenv(f"{prefix}PORT", "9100")
    monkeypatch.setenv(f"{prefix}HOST", "10.0.0.1")
    config = kind.from_cli_args(["--port", "9200", "--card-url", "http://me/"])
    assert (config.host, config.port, config.effective_card_url) == ("10.0.0.1", 9200, "http://me/")


@pytest.mark.parametrize(
    ("kind", "prefix"), [(GreenAgentConfig, "AGENTBEATS_GREEN_"), (PurpleAgentConfig, "AGENTBEATS_PURPLE_")]
)
def test_common_variables_hold_beneath_the_specific_ones(
    monkeypatch: pytest.MonkeyPatch, kind: type[AgentBeatsConfig], prefix: str
) -> None:
    monkeypatch.setenv("AGENTBEATS_HOST", "10.0.0.1")
    monkeypatch.setenv("AGENTBEATS_PORT", "9100")
    monkeypatch.setenv("AGENTBEATS_LOG_LEVEL", "debug")
    monkeypatch.setenv(f"{prefix}PORT", "9300")
    config = kind()
    assert (config.host, config.port, config.log_level) == ("10.0.0.1", 9300, "DEBUG")
    assert kind.from_cli_args(["--port", "9400"]).port == 9400
    assert kind.find_variable("host") == "AGENTBEATS_HOST"
    assert kind.find_variable("port") == f"{prefix}PORT"


def test_what_only_the_evaluator_has_is_no_common_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTBEATS_STATE", "/elsewhere")
    monkeypatch.setenv("AGENTBEATS_MODEL", "other")
    assert GreenAgentConfig().state != "/elsewhere"
    assert PurpleAgentConfig().model == "gpt-4o"
    assert unknown_variables(["AGENTBEATS_STATE", "AGENTBEATS_HOST", "PATH"]) == {
        "AGENTBEATS_STATE": "AGENTBEATS_GREEN_STATE"
    }


def test_a_local_store_is_the_same_from_every_folder_and_a_url_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", "/var/lib")
    assert GreenAgentConfig().storage_url == "/var/lib/proctor/storage"
    assert GreenAgentConfig(storage_url="blobs").storage_url == str(tmp_path / "blobs")
    assert GreenAgentConfig(storage_url="s3://bucket/proctor").storage_url == "s3://bucket/proctor"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")  # which the specification has us ignore
    monkeypatch.setenv("HOME", "/home/somebody")
    assert GreenAgentConfig().state == "/home/somebody/.local/state/proctor"


def test_every_field_is_a_flag() -> None:
    assert GreenAgentConfig.from_cli_args(["--no-verbose-updates"]).verbose_updates is False
    assert PurpleAgentConfig.from_cli_args(["--max-actions-per-turn", "3"]).max_actions_per_turn == 3
    with pytest.raises(SystemExit):
        AgentBeatsConfig.from_cli_args(["--nonsense"])


def test_bad_values_name_the_field(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValidationError, match="port"):
        AgentBeatsConfig(port=70_000)
    monkeypatch.setenv("AGENTBEATS_LOG_LEVEL", "loud")
    with pytest.raises(ValidationError, match="log_level"):
        AgentBeatsConfig()


def test_the_card_s_address() -> None:
    assert AgentBeatsConfig(port=81).effective_card_url == "http://localhost:81/"
    assert AgentBeatsConfig(host="10.1.1.1").effective_card_url == "http://10.1.1.1:8000/"
    assert AgentBeatsConfig(host="::1").effective_card_url == "http://[::1]:8000/"


def test_merging_checks_and_leaves_the_base_alone() -> None:
    base = GreenAgentConfig()
    assert merge_configs(base, {"port": 1234}).port == 1234
    assert merge_configs(base, {"port": 1234}).secret == base.secret
    assert base.port == 8000
    with pytest.raises(ValueError, check=says()):
        merge_configs(base, {"prot": 1})
    with pytest.raises(ValidationError):
        merge_configs(base, {"port": -1})


def test_a_secret_does_not_show_itself() -> None:
    assert "hush" not in repr(GreenAgentConfig(secret="hush-hush-hush"))


def test_warnings_name_the_setting() -> None:
    assert validate_config(GreenAgentConfig(card_url="http://x/")) == []
    assert "port 80 " in validate_config(AgentBeatsConfig(port=80, card_url="http://x/"))[0]
    assert "ues_base_port" in validate_config(GreenAgentConfig(port=8100, card_url="http://x/"))[0]
    assert "temperature" in validate_config(PurpleAgentConfig(temperature=1.9, card_url="http://x/"))[0]
