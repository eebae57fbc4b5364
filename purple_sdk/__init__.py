"""What a participant installs.

* ``BasePurpleAgent``: what an agent is made of
* ``serve``, ``create_app``: an agent as an A2A server
* ``PurpleAgentExecutor``, ``Conversations``: the parts in between, for servers of one's own
* ``PurpleUESClient``: the simulator by what an assistant does most; ``ues``: its client, route by route
* ``examples``: whole agents to learn from, and to run as they are
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from purple_sdk.agent import AgentFactory, BasePurpleAgent
    from purple_sdk.conversations import Conversations
    from purple_sdk.executor import PurpleAgentExecutor
    from purple_sdk.protocol.messages import EarlyCompletionMessage, TurnCompleteMessage
    from purple_sdk.server import create_app, serve
    from purple_sdk.settings.config import PurpleAgentConfig
    from purple_sdk.ues_wrapper import PurpleUESClient

__all__ = [
    "AgentFactory",
    "BasePurpleAgent",
    "Conversations",
    "EarlyCompletionMessage",
    "PurpleAgentConfig",
    "PurpleAgentExecutor",
    "PurpleUESClient",
    "TurnCompleteMessage",
    "create_app",
    "serve",
]

# Loaded when first asked for: who only wants the simulator's client needs no web server in memory, and no settings.
_HOMES = {
    "AgentFactory": "purple_sdk.agent",
    "BasePurpleAgent": "purple_sdk.agent",
    "Conversations": "purple_sdk.conversations",
    "EarlyCompletionMessage": "purple_sdk.protocol.messages",
    "PurpleAgentConfig": "proctor.settings.config",
    "PurpleAgentExecutor": "purple_sdk.executor",
    "PurpleUESClient": "purple_sdk.ues_wrapper",
    "TurnCompleteMessage": "purple_sdk.protocol.messages",
    "create_app": "purple_sdk.server",
    "serve": "purple_sdk.server",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
