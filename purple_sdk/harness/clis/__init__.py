"""The known CLI agents."""

from purple_sdk.harness.clis.acp import ACP
from purple_sdk.harness.clis.claude_code import CLAUDE_CODE
from purple_sdk.harness.clis.codex import CODEX
from purple_sdk.harness.clis.gemini_cli import GEMINI_CLI
from purple_sdk.harness.clis.hermes import HERMES
from purple_sdk.harness.clis.mini_swe_agent import MINI_SWE_AGENT
from purple_sdk.harness.clis.openclaw import OPENCLAW
from purple_sdk.harness.clis.opencode import OPENCODE
from purple_sdk.harness.declared import Harness, HarnessError

_ALL = (CLAUDE_CODE, CODEX, GEMINI_CLI, OPENCODE, OPENCLAW, HERMES, MINI_SWE_AGENT, ACP)

HARNESSES: dict[str, Harness] = {harness.name: harness for harness in _ALL}
"""The declarations of the CLI agents, by name."""


def find_harness(name: str) -> Harness:
    """Return the declaration of a CLI agent. Raises HarnessError if the name isn't known."""
    if name not in HARNESSES:
        raise HarnessError(f'the CLI agent "{name}" is not known: choose one of {", ".join(HARNESSES)}')
    return HARNESSES[name]
