"""Whole agents to learn from, and to run as they are: ``python -m purple_sdk.examples.NAME --port 8001``.

* ``triage_agent``: sorts mail by rules; plays ``email_triage_basic``
* ``reschedule_agent``: agrees new times with people by rules; plays ``reschedule_day``
* ``assistant_agent``: a language model with the simulator's actions as its tools; plays anything
"""
