"""``python -m purple_sdk.examples.assistant_agent``: serve the agent until SIGTERM or Ctrl-C."""

from purple_sdk.examples.assistant_agent.agent import AssistantAgent
from purple_sdk.server import serve
from purple_sdk.settings.config import PurpleAgentConfig

if __name__ == "__main__":
    serve(AssistantAgent, PurpleAgentConfig.from_cli_args())
