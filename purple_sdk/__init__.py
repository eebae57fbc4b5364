"""The package that a participant installs.

* ``BasePurpleAgent``: the base class of an agent
* ``serve``, ``create_app``: an agent as an A2A server
* ``PurpleAgentExecutor``, ``Conversations``: the parts in between, for custom servers
* ``PurpleUESClient``: the most frequent actions of an assistant in the simulator
* ``ues``: the simulator's client, route by route
* ``examples``: complete agents to learn from, which also run unchanged
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

# Loaded when first used, so users of the simulator's client alone load no web server and no settings.
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
