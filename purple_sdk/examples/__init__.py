"""Whole agents to learn from, and to run as they are: ``python -m purple_sdk.examples.NAME --port 8001``.

* ``triage_agent``: sorts mail by rules; plays ``email_triage_basic``
"""
