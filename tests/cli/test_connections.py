"""Which Temporal a service connects to: flags, the SDK's own environment configuration, ours, in this order."""

from pathlib import Path

import pytest

from proctor.common.errors import UsageError
from proctor.common.settings import read_settings, with_connection
from proctor.settings.config import GreenAgentConfig
from proctor.storage.connections import read_profile
from tests.sentences import says

PROFILES = '[profile.default]\naddress = "profile:1"\n[profile.cloud]\napi_key = "k"\nnamespace = "of-cloud"\n'


def connected(flag: str | None = None) -> tuple[str, str]:
    config = with_connection(read_settings(GreenAgentConfig, temporal_address=flag), flag)
    return config.temporal_address, config.temporal_namespace


def test_flags_win_over_temporals_variables_these_over_its_file_and_all_over_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert connected() == ("127.0.0.1:7233", "default")
    monkeypatch.setenv("AGENTBEATS_GREEN_TEMPORAL_ADDRESS", "ours:1")
    monkeypatch.setenv("AGENTBEATS_GREEN_TEMPORAL_NAMESPACE", "of-ours")
    assert connected() == ("ours:1", "of-ours")
    (tmp_path / "temporal.toml").write_text(PROFILES)
    monkeypatch.setenv("TEMPORAL_CONFIG_FILE", str(tmp_path / "temporal.toml"))
    assert connected() == ("profile:1", "of-ours")
    monkeypatch.setenv("TEMPORAL_ADDRESS", "variable:1")
    monkeypatch.setenv("TEMPORAL_NAMESPACE", "of-variable")
    assert connected() == ("variable:1", "of-variable")
    assert connected("flag:1") == ("flag:1", "of-variable")
    monkeypatch.delenv("TEMPORAL_NAMESPACE")
    monkeypatch.setenv("TEMPORAL_PROFILE", "cloud")
    assert connected() == ("variable:1", "of-cloud")
    assert dict(read_profile().options) == {"api_key": "k", "tls": True}


@pytest.mark.parametrize(
    ("address", "ui"),
    [
        ("127.0.0.1:7233", "http://127.0.0.1:8233"),
        ("localhost:17233", "http://localhost:18233"),
        ("mine.a1b2.tmprl.cloud:7233", "https://cloud.temporal.io"),
        ("temporal.example:7233", None),
    ],
)
def test_the_ui_is_that_of_the_temporal_which_is_used(
    monkeypatch: pytest.MonkeyPatch, address: str, ui: str | None
) -> None:
    assert GreenAgentConfig(temporal_address=address).temporal_ui_url == ui
    monkeypatch.setenv("TEMPORAL_ADDRESS", address)
    assert with_connection(read_settings(GreenAgentConfig)).temporal_ui_url == ui
    monkeypatch.setenv("AGENTBEATS_GREEN_TEMPORAL_UI_URL", "http://ui.example")
    assert with_connection(read_settings(GreenAgentConfig)).temporal_ui_url == "http://ui.example"


@pytest.mark.parametrize("content", ["[profile", "[profile.other]\naddress = 'a:1'\n"])
def test_a_file_that_says_nothing_usable_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str
) -> None:
    (tmp_path / "temporal.toml").write_text(content)
    monkeypatch.setenv("TEMPORAL_CONFIG_FILE", str(tmp_path / "temporal.toml"))
    monkeypatch.setenv("TEMPORAL_PROFILE", "mine")
    with pytest.raises(UsageError, check=says("temporal.toml")):
        connected()
