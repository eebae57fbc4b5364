"""A baseline participant that does what it can parse, on days of any family, with no model.

* ``agent``: what it does in a turn
* ``reading``: notes (mails and texts), the values in them, and what was said last
"""

from purple_sdk.examples.clerk_agent.agent import ClerkAgent

__all__ = ["ClerkAgent"]
