"""A real simulation, a scripted model and the CLI agent of ``fake_cli``, for tests of ``purple_sdk.harness``."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from proctor.activities.simulation.lifecycle import summarise
from proctor.local.agent_check.playing import Play, Table
from proctor.local.agent_check.watch import Watch
from proctor.local.own_simulator import own_simulator
from proctor.settings.config import GreenAgentConfig
from purple_sdk.harness.agent import HarnessAgent
from purple_sdk.harness.declared import Harness, Launch, Outcome, Printed, json_lines
from purple_sdk.protocol.messages import AssessmentStartMessage, TurnStartMessage
from purple_sdk.settings.config import HarnessConfig, merge_configs

KEY = "sk-the-callers-own-key"

_SCRIPT = Path(__file__).with_name("fake_cli.py")


def _command(launch: Launch) -> list[str]:
    session = launch.session or launch.new_session
    return [launch.program, str(launch.home / _SCRIPT.name), launch.model, launch.relay, session, launch.prompt]


def _read(printed: Printed, launch: Launch) -> Outcome:
    events = {event.get("type"): event for event in json_lines(printed.stdout)}
    session = events.get("turn", {}).get("session")
    if "end" not in events:
        return Outcome(session=session, problem=f"printed no end of its turn in JSON lines; {printed.ending()}")
    return Outcome(events["end"]["text"], session)


FAKE = Harness(
    name="fake",
    title="Fake",
    packages=("fake@1.0",),
    program="fake-agent",
    wire="chat",
    files=lambda launch: {_SCRIPT.name: _SCRIPT.read_text()},  # it may not read the checkout
    command=_command,
    environment=lambda launch: {"FAKE": "1"},
    read=_read,
    oldest=(1, 0),
    size="0 MB",
)


def fake_agent(homes: Path, model_url: str, model: str = "scripted-1", **settings: Any) -> HarnessAgent:
    """The fake CLI agent as a participant in the assessment "one"."""
    config = HarnessConfig(
        model=model, model_base_url=model_url, program=sys.executable, homes=homes, **{"turn_seconds": 60, **settings}
    )
    agent = HarnessAgent(config, FAKE)
    agent.context_id = "one"
    return agent


class Simulated:
    """A simulation, as the evaluator has it."""

    def __init__(self, table: Table, instructions: str) -> None:
        self.table = table
        self._instructions = instructions

    async def greet(self, agent: HarnessAgent, resumes_turn: int | None = None) -> None:
        """Start an assessment with the agent."""
        table = self.table
        access = table.simulation.make_access(table.issue)
        agent.initialize(access.address, access.secret, table.now, self._instructions)
        start = AssessmentStartMessage(
            ues_url=access.address,
            api_key=access.secret,
            mcp_url=access.mcp,
            assessment_instructions=self._instructions,
            current_time=table.now,
            initial_state_summary=await summarise(table.simulation.admin, table.now),
            resumes_turn=resumes_turn,
        )
        await agent.on_assessment_start(start)

    def begin(self, agent: HarnessAgent, turn: int, attempt: int = 1) -> None:
        """Begin a turn with the agent."""
        agent.begin_turn(
            TurnStartMessage(turn_number=turn, current_time=self.table.now, events_processed=0, attempt=attempt)
        )

    async def texts(self) -> list[str]:
        """The user's chat, as far as the agent wrote it."""
        answer = await self.table.simulation.admin.chat.query(role="assistant")
        return [str(message["content"]) for message in answer["messages"]]


@asynccontextmanager
async def simulated() -> AsyncIterator[Simulated]:
    """A simulation of the check's miniature day."""
    watch = Watch()
    with own_simulator(GreenAgentConfig(), "127.0.0.1", watch.wrap) as settings:
        port = urlsplit(settings.ues_url).port
        own = {"port": port, "temporal_address": f"127.0.0.1:{port}", "temporal_ui_url": None, "card_url": None}
        play = Play("http://127.0.0.1:9", merge_configs(settings, own), watch, 60, 0.0)
        table = Table("first", play, None)
        await table.lay()
        yield Simulated(table, play.day.instructions)


def speaks(*texts: str) -> list[tuple[str, dict[str, Any]]]:
    """Calls that write to the user's chat."""
    return [("chat_send", {"role": "assistant", "content": text}) for text in texts]
