"""A participant driven by a language model: the model gets the simulator's actions as tools, and decides.

Needs ``pip install 'proctor-purple[assistant]'``, or proctor itself.
"""

from purple_sdk.examples.assistant_agent.agent import AssistantAgent

__all__ = ["AssistantAgent"]
