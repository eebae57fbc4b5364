"""``proctor harness``: which CLI agents there are, how each is started, and whether one works here."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from proctor.common.console import make_console, plain_table, show
from proctor.common.errors import CommandError, ExitCode, UsageError, ending_as
from proctor.common.phrases import counted
from proctor.common.settings import LOOPBACK, read_settings
from proctor.local.agent_check.playing import Play, Table
from proctor.local.agent_check.watch import Watch
from proctor.local.harness_runs import read_harness_settings
from proctor.local.own_simulator import own_simulator
from proctor.settings.config import GreenAgentConfig
from purple_sdk.harness import agents_files
from purple_sdk.harness.agent import HarnessAgent
from purple_sdk.harness.clis import HARNESSES, find_harness
from purple_sdk.harness.declared import TOKEN_VARIABLE, Harness, HarnessError, Launch
from purple_sdk.harness.installing import cache_folder, find_program, install, read_version
from purple_sdk.harness.launcher import find_missing_confinement
from purple_sdk.protocol.messages import TurnStartMessage
from purple_sdk.settings.config import HarnessConfig

_TRY_SECONDS = 120.0


def print_list() -> None:
    table = plain_table("name", "agent", "asks its model by", "installed")
    for harness in HARNESSES.values():
        try:
            where = find_program(harness)
        except HarnessError:
            where = f"no: `proctor harness install {harness.name}` ({harness.size})"
            where = where if harness.packages else "named by --program"
        table.add_row(harness.name, harness.title, harness.wire, where)
    show(make_console(), table)


def print_one(name: str) -> None:
    """Print the files, the commands and the environment of a CLI agent."""
    harness = _known(name)
    first = Launch("PROGRAM", "MODEL", "PROMPT", None, "SESSION", Path("HOME"), Path("WORK"), "http://RELAY")
    later = Launch("PROGRAM", "MODEL", "PROMPT", "SESSION", "SESSION", Path("HOME"), Path("WORK"), "http://RELAY")
    where = f"{', '.join(harness.packages)} ({harness.size}), in {cache_folder(harness)}"
    lines = [
        f"{harness.title}: {where if harness.packages else 'named by --program'}",
        f"asks its model by: {harness.wire}",
        f"first turn:  {' '.join(harness.command(first))}",
        f"later turns: {' '.join(harness.command(later))}",
        *(f"environment: {key}={value}" for key, value in harness.environment(first).items()),
        f"environment: {TOKEN_VARIABLE}: the turn's key for the relay, at which it finds its model and the simulation",
    ]
    for path, content in harness.files(first).items():
        lines += [f"\nHOME/{path}", content]
    print("\n".join(lines))


def install_all(names: Sequence[str]) -> None:
    """Install CLI agents one after the other."""
    chosen = list(HARNESSES.values()) if "all" in names else [_known(name) for name in names]
    for harness in chosen:
        if not harness.packages:
            print(f"{harness.title}: nothing to install, --program names it", flush=True)
            continue
        print(f"{harness.title}: installing {', '.join(harness.packages)} ({harness.size}) ...", flush=True)
        began = time.monotonic()
        with ending_as(CommandError, HarnessError):
            version = asyncio.run(install(harness))
        print(f"{harness.title}: {version}, in {time.monotonic() - began:.0f} s", flush=True)


def try_one(name: str, model: str | None, model_url: str | None, program: str | None) -> ExitCode:
    """Play one turn of a miniature day with a CLI agent, and say what works; 1 where something doesn't.

    Raises:
        UsageError: it isn't known.
    """
    harness = _known(name)
    console = make_console()
    flags = {"harness": name, "model": model, "model_base_url": model_url, "program": program}
    try:
        with agents_files.temporary_folder("proctor-try-") as folder:
            config = read_harness_settings(**flags, homes=folder, turn_seconds=_TRY_SECONDS)
            asyncio.run(_try(harness, config, console))
    except HarnessError as problem:
        console.print(Text(f"wrong      {problem}", style="bold red"), soft_wrap=True)
        return ExitCode.FAILED
    return ExitCode.DONE


async def _try(harness: Harness, config: HarnessConfig, console: Console) -> None:
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
    play = Play("http://127.0.0.1:9", settings, watch, _TRY_SECONDS, 0.0)
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


def _known(name: str) -> Harness:
    with ending_as(UsageError, HarnessError):
        return find_harness(name)
