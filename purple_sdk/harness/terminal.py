"""CLI agents at terminal tasks.

The CLI agent runs on the participant's machine, confined as in an assessment. It reaches the task's container by one
tool, and its model by the relay. It gets a new home for each task.
"""

from purple_sdk.examples.terminal_agent.shell import shell_of
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
"""For a task that sets no time."""


class TerminalHarness:
    """Solves terminal tasks with one CLI agent; as many at once as are asked for. Raises HarnessError (its program
    isn't there, or the model's name, key, address or price is missing).
    """

    def __init__(self, config: HarnessConfig, harness: Harness) -> None:
        self._config = config
        self._starter = Starter(config, harness)
        Budget(config)

    async def solve(self, task: TerminalTaskMessage) -> Work:
        """Have the CLI agent work on a task until it ends. Raises HarnessError (it didn't come to its end; the sentence
        says why), ShellGoneError (the container can't be reached any more).
        """
        folders = Folders(self._config.homes.expanduser(), task.endpoint or task.container or "")
        shell = shell_of(task, _OUTPUT_BYTES)
        tools, budget = ShellTools(shell, task.workdir), Budget(self._config)
        prompt = task.instruction  # a CLI agent without MCP is made for such tasks, and knows its tool
        if self._starter.harness.has_mcp:
            prompt = terminal_prompt(TOOL, task.workdir, task.instruction)
        try:
            await to_the_end(folders.end_orphan)
            await to_the_end(folders.clear)
            await to_the_end(lambda: folders.go_to(1))
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
