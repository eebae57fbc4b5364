"""Webhooks: callers are notified of updates. ``activities`` sends them, ``plan`` has the payloads."""
