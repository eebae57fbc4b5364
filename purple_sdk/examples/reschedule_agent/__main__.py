"""``python -m purple_sdk.examples.reschedule_agent``: serve the agent until SIGTERM or Ctrl-C."""

from proctor_settings.config import PurpleAgentConfig
from purple_sdk.examples.reschedule_agent.agent import RescheduleAgent
from purple_sdk.server import serve

if __name__ == "__main__":
    serve(RescheduleAgent, PurpleAgentConfig.from_cli_args())
