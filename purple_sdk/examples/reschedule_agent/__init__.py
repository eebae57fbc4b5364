"""A participant that clears a day by rules, without a model: it finds new times for meetings, and agrees them with
people.
"""

from purple_sdk.examples.reschedule_agent.agent import RescheduleAgent

__all__ = ["RescheduleAgent"]
