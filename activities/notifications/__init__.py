"""Webhooks: callers are notified of updates."""
