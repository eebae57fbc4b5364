"""A participant that clears a day by rules, with no model: it finds new times for meetings, and has people agree.

* ``agent``: what it does in a turn
* ``orders``: the user's wishes, as far as rules can read them
* ``diary``: when the user has time
* ``times``: days and times in what people write
* ``letters``: what it writes itself
"""

from purple_sdk.examples.reschedule_agent.agent import RescheduleAgent

__all__ = ["RescheduleAgent"]
