"""What AgentBeats reads of ours: manifests, a leaderboard's run, a local run, the images' entry points."""

import json
import re
import runpy
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol.request import parse_request, unknown_settings
from purple_sdk.settings.config import PurpleAgentConfig

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "agentbeats"
DOCKERFILE = (ROOT / "Dockerfile").read_text()
MODEL_KEYS = {"OPENAI_API_KEY"}
GATEWAY = {"slots": {"green", *(f"purple{number}" for number in range(1, 6))}, "provides": {"proxy", "results"}}
"""The platform's own component, whose manifest the leaderboard's run names by its address."""


def read(name: str) -> dict[str, Any]:
    """A file in JSON5: ours are JSON with comments in lines of their own."""
    lines = (FOLDER / name).read_text().splitlines()
    found: dict[str, Any] = json.loads("\n".join(line for line in lines if not line.lstrip().startswith("//")))
    return found


def stage(name: str) -> str:
    (found,) = re.findall(rf"^FROM base AS {name}\n(.*?)(?=^FROM |\Z)", DOCKERFILE, re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.mark.parametrize("name", ["amber-manifest.json5", "purple-manifest.json5"])
def test_a_manifest_hangs_together(name: str) -> None:
    manifest = read(name)
    assert manifest["manifest_version"] == "0.1.0"
    endpoints = {endpoint["name"] for endpoint in manifest["program"]["network"]["endpoints"]}
    assert {offer["endpoint"] for offer in manifest["provides"].values()} == endpoints
    assert set(manifest["exports"].values()) <= set(manifest["provides"])
    wanted = set(re.findall(r"\$\{config\.(\w+)\}", json.dumps(manifest["program"])))
    assert wanted == set(manifest["config_schema"]["properties"])
    assert set(re.findall(r"\$\{slots\.(\w+)\.url\}", json.dumps(manifest["program"]))) <= set(manifest["slots"])
    for field, schema in manifest["config_schema"]["properties"].items():
        assert bool(schema.get("secret")) == field.endswith("api_key")


def test_manifests_set_only_what_exists() -> None:
    green = {f"AGENTBEATS_GREEN_{name}".upper() for name in GreenAgentConfig.model_fields}
    purple = {f"AGENTBEATS_PURPLE_{name}".upper() for name in PurpleAgentConfig.model_fields}
    assert set(read("amber-manifest.json5")["program"]["env"]) <= green | MODEL_KEYS
    assert set(read("purple-manifest.json5")["program"]["env"]) <= purple | MODEL_KEYS | {"AGENT"}


def test_the_evaluators_manifest_starts_what_its_image_does_at_the_ports_that_it_names() -> None:
    manifest = read("amber-manifest.json5")
    entry = manifest["program"]["entrypoint"]
    assert f"ENTRYPOINT {json.dumps(entry[:4])}" in stage("green")
    ports = {endpoint["name"]: endpoint["port"] for endpoint in manifest["program"]["network"]["endpoints"]}
    assert entry[entry.index("--port") + 1] == str(ports["a2a"])
    assert ports["simulator"] == GreenAgentConfig.model_fields["ues_base_port"].default


def test_a_participant_is_bound_to_the_simulator() -> None:
    run = read("leaderboard/scenario.json5")
    green, purple = read("amber-manifest.json5"), read("purple-manifest.json5")
    bindings = {binding["to"]: binding["from"] for binding in run["bindings"]}
    assert bindings["#personal_assistant.simulator"] == "#green.simulator"
    assert purple["program"]["env"]["AGENTBEATS_PURPLE_UES_URL"] == "${slots.simulator.url}"
    provided = {"green": green["provides"], "personal_assistant": purple["provides"], "gateway": GATEWAY["provides"]}
    slots = {"green": green["slots"], "personal_assistant": purple["slots"], "gateway": GATEWAY["slots"]}
    for to, origin in bindings.items():
        (component, slot), (other, offer) = to.lstrip("#").split("."), origin.lstrip("#").split(".")
        assert slot in slots[component], to
        assert offer in provided[other], origin
    roles = run["components"]["gateway"]["config"]["participant_roles"]
    assert {f"#gateway.{slot}" for slot in roles} == {to for to in bindings if to.startswith("#gateway.")}
    assert set(run["metadata"]["agentbeats_ids"]) == set(roles.values())
    assert set(roles.values()) - {"green"} == set(green["metadata"]["participant_roles"])


def test_components_that_need_each_other_are_bound_weakly_somewhere() -> None:
    run = read("leaderboard/scenario.json5")
    needs = [
        (binding["to"].lstrip("#").split(".")[0], binding["from"].lstrip("#").split(".")[0])
        for binding in run["bindings"]
        if not binding.get("weak")
    ]
    waiting = set(run["components"])
    while ready := {name for name in waiting if not any(who == name and whom in waiting for who, whom in needs)}:
        waiting -= ready
    assert not waiting, f"{waiting} wait for each other"


@pytest.mark.parametrize("source", ["manifest", "leaderboard", "local"])
def test_the_request_is_one_that_the_evaluator_takes(source: str) -> None:
    scenario = tomllib.loads((FOLDER / "scenario.toml").read_text())
    config = {
        "manifest": read("amber-manifest.json5")["metadata"]["assessment_config"],
        "leaderboard": read("leaderboard/scenario.json5")["components"]["gateway"]["config"]["assessment_config"],
        "local": scenario["config"],
    }[source]
    roles = {entry["role"]: entry["endpoint"] for entry in scenario["participants"]}
    request = json.dumps({"participants": roles, "config": config})
    assert parse_request(request).require_participant() == ("personal_assistant", "http://127.0.0.1:9019")
    assert not unknown_settings(request)


def test_the_local_runners_commands_exist() -> None:
    from typer.main import get_command

    from proctor.cli.main import app

    scenario = tomllib.loads((FOLDER / "scenario.toml").read_text())
    for entry in (scenario["green_agent"], *scenario["participants"]):
        words = shlex.split(entry["cmd"])
        assert words.pop(0) == "proctor"
        command: Any = get_command(app)
        while hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        assert {word for word in words if word.startswith("--")} <= {
            flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)
        }
        assert entry["endpoint"].endswith(":" + words[words.index("--port") + 1])


@pytest.mark.parametrize(
    ("words", "environment", "port"),
    [
        (["proctor", "up", "--port", "9010"], {"AGENTBEATS_PORT": "1"}, "9010"),
        (["proctor", "up", "--port=9011"], {}, "9011"),
        (["proctor", "up"], {"AGENTBEATS_GREEN_PORT": "9012", "AGENTBEATS_PORT": "1"}, "9012"),
        (["proctor", "up"], {}, "9009"),
    ],
)
def test_an_image_asks_for_its_health_where_it_listens(
    words: list[str], environment: dict[str, str], port: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AGENTBEATS_GREEN_PORT", "AGENTBEATS_PURPLE_PORT", "AGENTBEATS_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert runpy.run_path(str(ROOT / "packaging" / "healthy.py"))["find_port"](words) == port


@pytest.mark.parametrize("name", ["green", "purple"])
def test_an_agents_image_has_no_root_a_check_and_a_base_of_ones_choice(name: str) -> None:
    assert "USER proctor" in DOCKERFILE[: DOCKERFILE.index("FROM ${BASE_IMAGE} AS locked")]
    assert "USER" not in stage(name)
    assert "healthy.py" in stage(name)
    assert re.search(r"^ARG BASE_IMAGE=", DOCKERFILE, re.MULTILINE)
    assert not re.search(r"^FROM python", DOCKERFILE, re.MULTILINE)
