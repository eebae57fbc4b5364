"""What a participant installs.

* ``BasePurpleAgent``: what an agent is made of
* ``serve``, ``create_app``: an agent as an A2A server
* ``PurpleAgentExecutor``, ``Conversations``: the parts in between, for servers of one's own
* ``ues``: the simulator's client
* ``triage_agent``: a rule-based example
"""

from protocol.config import PurpleAgentConfig
from protocol.messages import EarlyCompletionMessage, TurnCompleteMessage
from purple_sdk.agent import AgentFactory, BasePurpleAgent
from purple_sdk.conversations import Conversations
from purple_sdk.executor import PurpleAgentExecutor
from purple_sdk.server import create_app, serve

__all__ = [
    "AgentFactory",
    "BasePurpleAgent",
    "Conversations",
    "EarlyCompletionMessage",
    "PurpleAgentConfig",
    "PurpleAgentExecutor",
    "TurnCompleteMessage",
    "create_app",
    "serve",
]
