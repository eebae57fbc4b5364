"""A CLI agent as an A2A server."""

import logging

from purple_sdk.harness.agent import HarnessAgent
from purple_sdk.harness.clis import find_harness
from purple_sdk.harness.declared import Harness
from purple_sdk.harness.installing import find_program, read_version
from purple_sdk.harness.launcher import find_missing_confinement
from purple_sdk.server import serve, serve_executor
from purple_sdk.settings.config import HarnessConfig, PurpleAgentConfig

_log = logging.getLogger(__name__)


def serve_harness(config: HarnessConfig, *, is_terminal: bool = False) -> None:
    """Serve a CLI agent until SIGTERM or Ctrl-C. With ``is_terminal`` it plays terminal tasks; otherwise, assessments.

    Raises:
        HarnessError: the CLI agent isn't installed, is too old, or has no model or key.
        OSError: the server can't listen at the address.
    """
    harness = find_harness(config.harness)
    version = read_version(harness, find_program(harness, config.program))
    require_playable(config, is_terminal=is_terminal)
    if missing := find_missing_confinement():
        _log.warning("%s is not confined: %s", harness.title, "; ".join(missing))

    def make(_: PurpleAgentConfig) -> HarnessAgent:
        return HarnessAgent(config, harness, version)

    if is_terminal:
        _serve_terminal(config, harness)
    else:
        serve(make, config, name=harness.name, description=f"{harness.title}, with the simulation's actions as tools.")


def require_playable(config: HarnessConfig, *, is_terminal: bool) -> None:
    """Check that a CLI agent can play, to report missing parts now, not in an assessment. Raises HarnessError if it
    can't; the sentence has the reason.
    """
    harness = find_harness(config.harness)
    if is_terminal:
        from purple_sdk.harness.terminal import TerminalHarness

        TerminalHarness(config, harness)
    else:
        HarnessAgent(config, harness)


def _serve_terminal(config: HarnessConfig, harness: Harness) -> None:
    """Import the packages of the terminal agent, and serve with the terminal agent's executor."""
    from purple_sdk.examples.terminal_agent.executor import TerminalAgentExecutor
    from purple_sdk.harness.terminal import TerminalHarness

    solver = TerminalHarness(config, harness)
    description = f"{harness.title}, for Terminal-Bench tasks: commands in the task's container are its tool."
    serve_executor(lambda _: TerminalAgentExecutor(solver), config, name=harness.name, description=description)
