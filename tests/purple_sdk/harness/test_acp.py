"""A program that speaks ACP plays turns: its session, its permissions, its faults."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from purple_sdk.harness.acp_client import decide
from purple_sdk.harness.agent import HarnessAgent
from purple_sdk.harness.clis.acp import ACP
from purple_sdk.harness.declared import HarnessError
from purple_sdk.harness.installing import find_program
from purple_sdk.protocol.messages import TurnCompleteMessage
from purple_sdk.settings.config import HarnessConfig
from tests.purple_sdk.harness.playing import Simulated, simulated, speaks
from tests.scripted_model import ScriptedModel
from tests.sentences import says
from tests.work import NIGHTLY

_SCRIPT = Path(__file__).with_name("fake_acp.py")


async def _agent(day: Simulated, homes: Path, model_url: str, fault: str) -> HarnessAgent:
    harness = replace(ACP, files=lambda launch: {**ACP.files(launch), _SCRIPT.name: _SCRIPT.read_text()})
    program = shlex.join(["sh", "-c", f"exec {sys.executable} -S $HOME/{_SCRIPT.name} {fault}"])
    config = HarnessConfig(model="m", model_base_url=model_url, program=program, homes=homes, turn_seconds=60)
    agent = HarnessAgent(config, harness)
    agent.context_id = "one"
    await day.greet(agent)
    return agent


def _prompts(request: dict[str, Any]) -> list[str]:
    return [str(message["content"]) for message in request["messages"] if message["role"] == "user"]


@pytest.mark.parametrize("fault", ["", "loses", *(["can-not-load", "wants-a-key"] if NIGHTLY else [])])
async def test_it_plays_turns_with_the_tools_and_its_session(fault: str, tmp_path: Path) -> None:
    async with simulated() as day:
        with ScriptedModel({1: speaks("one"), 2: speaks("two")}) as model:
            agent = await _agent(day, tmp_path, model.url, fault)
            for turn in (1, 2):
                day.begin(agent, turn)
                played = await agent.play_turn()
            assert isinstance(played, TurnCompleteMessage)
            assert played.notes == "Done with turn 2."
            prompts = _prompts(model.requests[-1])
        assert await day.texts() == ["one", "two"]
        assert [entry.action for entry in played.actions] == ["chat.send_message"]
    assert says().within(prompts[0])
    assert "This is turn 2" in prompts[-1]
    if fault in ("can-not-load", "loses"):
        assert says().within(prompts[0])
    else:
        assert len(prompts) == 2


@pytest.mark.parametrize(
    "fault",
    [
        "refuses",
        "ends",
    ],
)
async def test_a_fault_is_a_sentence(fault: str, tmp_path: Path) -> None:
    async with simulated() as day:
        with ScriptedModel({}) as model:
            agent = await _agent(day, tmp_path, model.url, fault)
            day.begin(agent, 1)
            with pytest.raises(HarnessError, check=says()):
                await agent.play_turn()


@pytest.mark.parametrize(
    ("call", "chosen"),
    [
        ({"kind": "other", "title": "email_send"}, "allow_once"),
        ({"kind": "edit", "title": "email_send (proctor MCP server)"}, "allow_once"),
        ({"kind": "execute", "title": "rm -r ."}, "reject_once"),
    ],
)
def test_tools_of_the_simulation_are_permitted_and_built_in_ones_are_not(call: dict[str, str], chosen: str) -> None:
    options = [{"optionId": f"id-{kind}", "kind": kind} for kind in ("allow_once", "reject_once")]
    assert decide({"toolCall": call, "options": options}) == {"outcome": "selected", "optionId": f"id-{chosen}"}
    assert decide({"toolCall": call, "options": []}) == {"outcome": "cancelled"}


def test_its_program_is_a_command_line(tmp_path: Path) -> None:
    assert find_program(ACP, "sh -c 'a b'").endswith("sh -c 'a b'")
    with pytest.raises(HarnessError, check=says("--program", "COMMAND")):
        find_program(ACP)
    with pytest.raises(HarnessError, check=says()):
        find_program(ACP, "missing-program --acp")
    with pytest.raises(HarnessError, check=says()):
        find_program(ACP, "sh 'a")
