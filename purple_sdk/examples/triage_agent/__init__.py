"""A baseline participant that sorts the user's mail by rules, with no model.

* ``agent``: what it does in a turn
* ``orders``: the user's wishes, as far as rules can read them
* ``rules``: what a mail is
"""

from purple_sdk.examples.triage_agent.agent import TriageAgent

__all__ = ["TriageAgent"]
