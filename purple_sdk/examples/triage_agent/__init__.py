"""A baseline participant that sorts the user's mail by rules, without a model."""

from purple_sdk.examples.triage_agent.agent import TriageAgent

__all__ = ["TriageAgent"]
