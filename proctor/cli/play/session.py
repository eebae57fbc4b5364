"""``proctor play SCENARIO``: request an assessment from a real evaluator, and play its participant at this terminal."""

import asyncio
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType

import uvicorn
from rich.console import Console
from rich.text import Text

from proctor.activities.scenario_code.manager import ScenarioManager
from proctor.cli.assessments import AssessOptions, follow
from proctor.cli.play.participant import TurnQueue, person_agent
from proctor.cli.scenario_packages import load_scenario
from proctor.client.caller import AssessmentCall
from proctor.common.errors import CancelledError, UsageError
from proctor.common.interrupts import STOP_SIGNALS
from proctor.common.settings import LOOPBACK, read_settings, with_scenarios
from proctor.local.stack import throwaway_stack
from proctor.local.up import start_unless
from proctor.service.supervisor import Supervisor
from proctor.settings.config import GreenAgentConfig
from purple_sdk import create_app
from purple_sdk.processes.serving import get_address, listen
from purple_sdk.settings.config import PurpleAgentConfig

PATIENCE = 86_400.0  # seconds that a person has for a turn: the most that requests permit


def find_scenario(
    scenario: str, gateway_url: str | None, scenarios_dir: str | None, max_turns: int | None
) -> tuple[GreenAgentConfig, str, int | None]:
    """The evaluator's settings, the scenario's id, and its number of turns, if known."""
    folder = Path(scenario)
    if gateway_url:
        if "/" in scenario:
            raise UsageError("a scenario's folder is played by an evaluator of its own: leave --gateway out")
        return read_settings(GreenAgentConfig), scenario, None
    if "/" not in scenario and not (folder / "scenario.json").is_file():
        config = with_scenarios(read_settings(GreenAgentConfig, host=LOOPBACK, scenarios_dir=scenarios_dir))
        package = load_scenario(ScenarioManager(config.scenarios_dir), scenario)
    elif folder.is_dir():
        parent = str(folder.resolve().parent)
        config = with_scenarios(read_settings(GreenAgentConfig, host=LOOPBACK, scenarios_dir=parent))
        package = load_scenario(ScenarioManager(parent), folder.resolve().name)
    else:
        raise UsageError(f"{scenario} isn't a folder: name a scenario's folder or its id")
    turns = package.config.expected_turns
    return config, package.directory.name, min(turns, max_turns or turns)


async def assess_person(
    following: AssessOptions,
    make_request: Callable[[str], str],
    config: GreenAgentConfig,
    queue: TurnQueue,
    console: Console,
    interrupted: asyncio.Event,
) -> None:
    evaluator = _evaluator(following.gateway_url, config, console, interrupted)
    async with evaluator as gateway_url, _serving(queue) as agent_url:
        call = AssessmentCall(gateway_url, make_request(agent_url))
        await follow(replace(following, gateway_url=gateway_url), interrupted, call, console)


@asynccontextmanager
async def _evaluator(
    named: str, config: GreenAgentConfig, console: Console, interrupted: asyncio.Event
) -> AsyncIterator[str]:
    """The address of the named evaluator, or of an evaluator that is started for this play."""
    if named:
        yield named
        return
    with tempfile.TemporaryDirectory(prefix="proctor-play-", ignore_cleanup_errors=True) as folder:
        stack = throwaway_stack(config, Path(folder))
        supervisor = Supervisor(
            stack.list_services(), stack.logs, say=lambda line: console.print(Text(line)), temporary=stack.state
        )
        async with supervisor:
            console.print(Text("starting an evaluator for this play …", style="dim"))
            if not await start_unless(interrupted, supervisor):
                raise CancelledError("ended before the assessment began")
            yield stack.gateway_url


@asynccontextmanager
async def _serving(queue: TurnQueue) -> AsyncIterator[str]:
    listener = listen(LOOPBACK, 0, "the participant")
    url = get_address(listener)
    config = PurpleAgentConfig(host=LOOPBACK, port=listener.getsockname()[1])
    app = create_app(person_agent(queue), config)
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield url  # requests before the server answers wait in the listener's queue
    finally:
        server.should_exit = True
        await serving
        listener.close()


@contextmanager
def signals_interrupt() -> Iterator[Callable[[], None]]:
    """Let Ctrl-C, SIGTERM and SIGHUP interrupt the terminal's wait. The yielded function restores their handlers."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    numbers = [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt) for number in numbers}

    def set_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    try:
        yield set_back
    finally:
        set_back()
