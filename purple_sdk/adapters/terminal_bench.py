"""An adapter for the harness of the ``terminal-bench`` package (0.2.18): an A2A agent, as the seed has it.

    tb run --agent-import-path purple_sdk.adapters.terminal_bench:A2AWhiteAgent --agent-kwarg agent_url=http://HOST:8001

The agent uses ``docker exec`` on the container: it needs Docker's command and its socket on the harness's host.

The harness can't stop an agent whose time is over. It waits some five minutes for the agent before it tests, and
forever at its own end. So set the limit here, too, if agents may take long (``--agent-kwarg agent_timeout_sec=600``).
An agent is always stopped when its container is gone.
"""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from purple_sdk.adapters.asking import AgentReport, ask
from purple_sdk.harness import agents_files
from purple_sdk.protocol.terminal import FailureMode as Mode
from purple_sdk.protocol.terminal import TerminalTaskMessage

try:
    from terminal_bench.agents.base_agent import AgentResult, BaseAgent
    from terminal_bench.agents.failure_mode import FailureMode

    _IS_INSTALLED = True
except ImportError:  # users who only inspect this module need no harness
    BaseAgent, AgentResult, FailureMode, _IS_INSTALLED = object, None, None, False

_LOOK_SECONDS = 5.0
"""Seconds between two checks of the container."""


class A2AWhiteAgent(BaseAgent):
    """Hands each task to an A2A agent.

    Args:
        agent_timeout_sec: seconds after which the agent is stopped. The harness's own limit stops no agent.
    """

    def __init__(self, agent_url: str = "http://localhost:8001", agent_timeout_sec: Any = None, **kwargs: Any) -> None:
        if not _IS_INSTALLED:
            raise ImportError("terminal-bench is not installed: pip install terminal-bench (Python 3.12 or newer)")
        super().__init__(**kwargs)
        self._url = agent_url
        self._seconds = None if agent_timeout_sec is None else float(agent_timeout_sec)

    @staticmethod
    def name() -> str:
        """Return the agent's name in the harness."""
        return "a2a-white-agent"

    def perform_task(self, instruction: str, session: Any, logging_dir: Path | None = None) -> Any:
        """Run the agent on a task; returns the harness's ``AgentResult``."""
        container = session.container
        workdir = container.attrs.get("Config", {}).get("WorkingDir") or "/app"
        message = TerminalTaskMessage(
            task_id="",
            instruction=self._render_instruction(instruction),
            container=container.name,
            workdir=workdir,
        )
        began_at = datetime.now(UTC)
        report = asyncio.run(_ask_agent(self._url, message, container, self._seconds))
        if logging_dir is not None:
            _log(logging_dir, message, report, began_at)
        return AgentResult(
            total_input_tokens=report.input_tokens,
            total_output_tokens=report.output_tokens,
            failure_mode=FailureMode(str(report.failure_mode)),
        )


async def _ask_agent(url: str, message: TerminalTaskMessage, container: Any, seconds: float | None) -> AgentReport:
    """Return the agent's answer, within its time and while its container runs."""
    asking, watching = asyncio.create_task(ask(url, message)), asyncio.create_task(_while_it_exists(container))
    try:
        await asyncio.wait({asking, watching}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if asking.done():
            return asking.result()
        why = "its container is gone" if watching.done() else f"its {seconds:g} s are over"
        return AgentReport(failure_mode=Mode.AGENT_TIMEOUT, failure=f"The agent at {url} was stopped: {why}.")
    finally:
        for task in (asking, watching):
            task.cancel()
        await asyncio.gather(asking, watching, return_exceptions=True)


async def _while_it_exists(container: Any) -> None:
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        try:
            await asyncio.to_thread(container.reload)
        except Exception as error:  # of Docker's package, which may be missing
            if getattr(error, "status_code", None) == 404:
                return


def _log(folder: Path, message: TerminalTaskMessage, report: AgentReport, began_at: datetime) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        f"[{began_at.isoformat()}] to the agent:",
        message.as_text(),
        "",
        f"[{datetime.now(UTC).isoformat()}] from the agent:",
        report.text or "(nothing)",
        *([f"failure: {report.failure}"] if report.failure else []),
    ]
    # The harness mounts the folder in the container, so the agent may have left links there.
    agents_files.write(folder, "agent_interaction.log", "\n".join(lines) + "\n")
