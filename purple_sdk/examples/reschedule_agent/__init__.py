"""A participant that clears a day by rules, with no model: it finds new times for meetings, and has people agree."""

from purple_sdk.examples.reschedule_agent.agent import RescheduleAgent

__all__ = ["RescheduleAgent"]
