"""``python -m purple_sdk.examples.terminal_agent``: serve the agent until SIGTERM or Ctrl-C."""

from purple_sdk.examples.terminal_agent.agent import TerminalAgentConfig
from purple_sdk.examples.terminal_agent.executor import serve_terminal_agent

if __name__ == "__main__":
    serve_terminal_agent(TerminalAgentConfig.from_cli_args())
