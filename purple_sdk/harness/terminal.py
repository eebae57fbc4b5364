"""CLI agents at terminal tasks.

The CLI agent runs on the participant's machine, confined as in an assessment. It reaches the task's container by one
tool, and its model by the relay. Each task gets a new home.
"""

from purple_sdk.examples.terminal_agent.shell import open_shell
from purple_sdk.examples.terminal_agent.work import Work
from purple_sdk.harness.budget import Budget
from purple_sdk.harness.declared import Harness
from purple_sdk.harness.folders import Folders
from purple_sdk.harness.prompts import terminal_prompt
from purple_sdk.harness.relay import Relay
from purple_sdk.harness.shell_tools import TOOL, ShellTools
from purple_sdk.harness.starting import Starter, to_the_end
from purple_sdk.protocol.terminal import TerminalTaskMessage
from purple_sdk.settings.config import HarnessConfig

_OUTPUT_BYTES = 20_000
_LONGEST_SUMMARY = 2_000
_LONGEST_SECONDS = 86_400.0
"""Seconds for a task without a time limit."""


class TerminalHarness:
    """Solves terminal tasks with one CLI agent, any number at once. Raises HarnessError if the program isn't there, or
    if the model's name, key, address or price is missing.
    """

    def __init__(self, config: HarnessConfig, harness: Harness) -> None:
        self._config = config
        self._starter = Starter(config, harness)
        Budget(config)

    async def solve(self, task: TerminalTaskMessage) -> Work:
        """Run the CLI agent on a task until it ends.

        Raises:
            HarnessError: the CLI agent didn't complete its work; the sentence has the reason.
            ShellGoneError: the container is no longer reachable.
        """
        folders = Folders(self._config.homes.expanduser(), task.endpoint or task.container or "")
        shell = open_shell(task, _OUTPUT_BYTES)
        tools, budget = ShellTools(shell, task.workdir), Budget(self._config)
        prompt = task.instruction  # a CLI agent without MCP is made for such tasks, so it needs no words about its tool
        if self._starter.harness.has_mcp:
            prompt = terminal_prompt(TOOL, task.workdir, task.instruction)
        try:
            await to_the_end(folders.end_orphan)
            await to_the_end(folders.clear)
            await to_the_end(lambda: folders.restore(1))
            async with Relay(self._starter.upstream, tools, budget) as relay:
                seconds = task.timeout_seconds or _LONGEST_SECONDS
                outcome = await self._starter.play(prompt, folders, relay, seconds)
        finally:
            await shell.aclose()
            if not self._config.keep_homes:
                await to_the_end(folders.remove)
        if tools.gone is not None:
            raise tools.gone
        return Work(
            summary=outcome.answer[:_LONGEST_SUMMARY],
            commands=len(relay.record.used_tools),
            iterations=len(relay.record.answers),
            usage=budget.uses(relay.record.answers),
        )
