"""The flags of ``--harness``: what doesn't fit together is a sentence, before anything is started."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from proctor.common.errors import UsageError
from proctor.local.harness_runs import (
    HarnessChoice,
    choose_harness,
    choose_harnesses,
    read_harness_settings,
    require_near,
    require_playable,
)
from tests.sentences import says


@pytest.mark.parametrize(
    "flags",
    [
        {"name": "codex", "has_agent": True},
        {"name": None, "has_agent": False},
        {"name": None, "has_agent": True, "model": "m"},
        {"name": None, "has_agent": True, "max_cost": 2.5},
        {"name": None, "has_agent": True, "max_tokens": 9},
    ],
)
def test_flags_that_do_not_fit_together_are_named(flags: dict[str, Any]) -> None:
    with pytest.raises(UsageError, check=says()):
        choose_harness(**{"model": None, "model_url": None, **flags})


def test_a_campaign_names_each_cli_agent_once() -> None:
    with pytest.raises(UsageError, check=says()):
        choose_harnesses(["codex", "codex"], "m", None, None, detach=False)
    with pytest.raises(UsageError, check=says("--detach", "--harness")):
        choose_harnesses(["codex"], "m", None, None, detach=True)


def test_the_limits_and_the_kind_of_tasks_reach_the_agent() -> None:
    choice = choose_harness("codex", "m", None, None, 100.0, 2.5, 9, has_agent=False)
    assert choice is not None
    assert choice.fields() == {"harness": "codex", "model": "m", "turn_seconds": 85.0, "max_cost": 2.5, "max_tokens": 9}


@pytest.mark.parametrize(
    "choice",
    [
        HarnessChoice("unknown", "m"),
        HarnessChoice("codex", None, "http://127.0.0.1:9", sys.executable),
        HarnessChoice("codex", "m", None, sys.executable),
        HarnessChoice("codex", "m", "http://127.0.0.1:9", sys.executable, max_cost=1),
        HarnessChoice("mini-swe-agent", "m", "http://127.0.0.1:9", sys.executable),
    ],
)
def test_a_cli_agent_that_can_not_play_is_named_first(choice: HarnessChoice, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "AGENTBEATS_PURPLE_MODEL"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(UsageError, check=says()):
        require_playable(choice)


def test_the_evaluators_own_folders_are_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTBEATS_GREEN_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("AGENTBEATS_GREEN_SCENARIOS_DIR", str(tmp_path / "mine"))
    hidden = read_harness_settings(harness="codex", hidden="/more").hidden
    assert hidden.split(os.pathsep) == ["/more", str(tmp_path / "state"), str(tmp_path / "mine")]


def test_mini_swe_agent_plays_terminal_tasks() -> None:
    require_playable(HarnessChoice("mini-swe-agent", "m", "http://127.0.0.1:9", sys.executable, is_terminal=True))


def test_a_cli_agent_is_started_near_its_evaluator_only() -> None:
    require_near("http://localhost:8000")
    with pytest.raises(UsageError, check=says("--host", "0.0.0.0")):
        require_near("https://proctor.example")
