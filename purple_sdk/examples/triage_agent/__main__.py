"""``python -m purple_sdk.examples.triage_agent``: serve the agent until SIGTERM or Ctrl-C."""

from purple_sdk.examples.triage_agent.agent import TriageAgent
from purple_sdk.server import serve
from purple_sdk.settings.config import PurpleAgentConfig

if __name__ == "__main__":
    serve(TriageAgent, PurpleAgentConfig.from_cli_args())
