"""``python -m purple_sdk.examples.reschedule_agent``: serve the agent until SIGTERM or Ctrl-C."""

from purple_sdk.examples.reschedule_agent.agent import RescheduleAgent
from purple_sdk.server import serve
from purple_sdk.settings.config import PurpleAgentConfig

if __name__ == "__main__":
    serve(RescheduleAgent, PurpleAgentConfig.from_cli_args())
