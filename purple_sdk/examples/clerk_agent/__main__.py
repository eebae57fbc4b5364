"""``python -m purple_sdk.examples.clerk_agent``: serve the agent until SIGTERM or Ctrl-C."""

from proctor_settings.config import PurpleAgentConfig
from purple_sdk.examples.clerk_agent.agent import ClerkAgent
from purple_sdk.server import serve

if __name__ == "__main__":
    serve(ClerkAgent, PurpleAgentConfig.from_cli_args())
