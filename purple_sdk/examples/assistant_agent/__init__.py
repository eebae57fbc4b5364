"""A participant that a language model drives: it is given the simulator's actions as tools, and decides.

* ``agent``: what it does in a turn
* ``tools``: the simulator's actions and readings, made from the client's own declarations
* ``talk``: a model that calls tools, and one that only writes JSON, spoken to in one way
* ``models``: models by name
* ``memory``: what it remembers from turn to turn, within a budget

Needs ``pip install 'proctor-purple[assistant]'``, or proctor itself.
"""

from purple_sdk.examples.assistant_agent.agent import AssistantAgent

__all__ = ["AssistantAgent"]
