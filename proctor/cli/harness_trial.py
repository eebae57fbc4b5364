"""``proctor harness try``: one turn of a miniature day, played with a CLI agent."""

import time

from rich.console import Console
from rich.text import Text

from proctor.common.errors import UsageError, ending_as
from proctor.common.phrases import counted
from proctor.common.settings import LOOPBACK, read_settings
from proctor.local.agent_check.playing import Play, Table
from proctor.local.agent_check.watch import Watch
from proctor.local.own_simulator import own_simulator
from proctor.settings.config import GreenAgentConfig
from purple_sdk.harness.agent import HarnessAgent
from purple_sdk.harness.clis import find_harness
from purple_sdk.harness.declared import Harness, HarnessError
from purple_sdk.harness.installing import find_program, read_version
from purple_sdk.harness.launcher import find_missing_confinement
from purple_sdk.protocol.messages import TurnStartMessage
from purple_sdk.settings.config import HarnessConfig

TRY_SECONDS = 120.0


async def try_one(harness: Harness, config: HarnessConfig, console: Console) -> None:
    where = find_program(harness, config.program)
    _say(console, "installed", f"{harness.title} {read_version(harness, where)}, {where}")
    missing = find_missing_confinement()
    kept = "it writes only in its home, and connects only to the relay"
    _say(console, "confined", f"no: {'; '.join(missing)}" if missing else kept)
    watch = Watch()
    agent = HarnessAgent(config, harness)
    _say(console, "model", f"{config.model} at {config.model_base_url or 'its provider'}")
    with own_simulator(read_settings(GreenAgentConfig), LOOPBACK, watch.wrap) as settings:
        await _play_one_turn(agent, settings, watch, console)


async def _play_one_turn(agent: HarnessAgent, settings: GreenAgentConfig, watch: Watch, console: Console) -> None:
    play = Play("http://127.0.0.1:9", settings, watch, TRY_SECONDS, 0.0)
    table = Table("first", play, None)
    await table.lay()
    access = table.simulation.make_access(table.issue)
    agent.initialize(access.address, access.secret, table.now, play.day.instructions)
    await agent.on_assessment_start(await table.start_message())
    agent.begin_turn(TurnStartMessage(turn_number=1, current_time=table.now, events_processed=0))
    began = time.monotonic()
    answer = await agent.execute_turn()
    await agent.aclose()
    tokens = [f"{use.calls} calls, {use.input_tokens} tokens in, {use.output_tokens} out" for use in answer.model_usage]
    _say(console, "model", f"answered: {'; '.join(tokens) or 'never'}")
    _say(console, "MCP", f"the tools were listed and offered; {counted(len(answer.actions), 'action')}")
    _say(console, "turn", f"ended in {time.monotonic() - began:.1f} s: {(answer.notes or '')[:200]}")


def _say(console: Console, what: str, sentence: str) -> None:
    console.print(Text(f"{what:<10} {sentence}"), soft_wrap=True)


def known_harness(name: str) -> Harness:
    with ending_as(UsageError, HarnessError):
        return find_harness(name)
