"""Scenario packages for the tests: the tiny one, and copies of it with one thing changed each."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

TINY = Path(__file__).parent / "scenarios" / "tiny"

Change = Callable[[dict[str, Any]], Any]


def write_package(
    directory: Path, name: str, *, change: Change | None = None, files: dict[str, str] | None = None
) -> None:
    """Copy the tiny scenario.

    Args:
        directory: the folder of scenarios.
        name: the copy's id.
        change: changes the parsed ``scenario.json`` in place.
        files: other files of the copy, name to content.
    """
    package = directory / name
    shutil.copytree(TINY, package, ignore=shutil.ignore_patterns("__pycache__"))
    scenario = json.loads((package / "scenario.json").read_text())
    scenario["scenario_id"] = name
    if change:
        change(scenario)
    (package / "scenario.json").write_text(json.dumps(scenario))
    for file, content in (files or {}).items():
        (package / file).write_text(content)


def write_pair(directory: Path, name: str = "pair", *, change: Change | None = None) -> None:
    """Write the tiny scenario for two participants: Ana's and Ben's, who answer each other."""

    def two(scenario: dict[str, Any]) -> None:
        asked, told, _ = scenario.pop("criteria")
        del scenario["user_prompt"], scenario["user_character"], scenario["initial_state"]
        scenario["characters"]["ben"]["scripted_replies"] = [
            {"pattern": ".", "reply": "Ben is no scripted person here."}
        ]
        answered = {**asked, "criterion_id": "answered", "params": {"address": "ana@home.example"}, "max_score": 16}
        scenario["roles"] = {
            "ana_side": {
                "user_character": "ana",
                "user_prompt": "Ask Ben by email whether lunch on Thursday suits him, and tell me in the chat.",
                "initial_state": "initial_state.json",
                "criteria": [asked, told],
            },
            "ben_side": {
                "user_character": "ben",
                "user_prompt": "Answer Ana by email when she asks for lunch: half past twelve suits me.",
                "initial_state": "ben.json",
                "criteria": [answered],
            },
        }
        if change:
            change(scenario)

    def of_ben(state: dict[str, Any]) -> None:
        modalities = state["environment"]["modality_states"]
        modalities["email"]["user_email_address"] = "ben@work.example"
        modalities["sms"]["user_phone_number"] = "+34600000002"
        state["events"]["events"] = []

    write_package(directory, name, change=two, files={"ben.json": edited("initial_state.json", of_ben)})


def edited(file: str, change: Change) -> str:
    """A JSON file of the tiny scenario with a change."""
    data = json.loads((TINY / file).read_text())
    change(data)
    return json.dumps(data)
