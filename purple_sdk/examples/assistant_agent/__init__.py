"""A participant that a language model drives: it is given the simulator's actions as tools, and decides.

Needs ``pip install 'proctor-purple[assistant]'``, or proctor itself.
"""

from purple_sdk.examples.assistant_agent.agent import AssistantAgent

__all__ = ["AssistantAgent"]
